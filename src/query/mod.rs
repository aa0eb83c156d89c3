//! One file per question; pure functions of a store and arguments.

pub mod banks;
mod barriers;
pub mod blame;
pub mod causes;
pub mod chain;
pub mod check;
pub mod collectives;
pub mod dependencies;
pub mod details;
pub mod effects;
pub mod emphasis;
pub mod event;
pub mod export;
pub mod follow;
pub mod gaps;
pub mod index;
pub mod life;
pub mod locate;
pub mod marks;
pub mod operands;
pub mod packets;
mod pairs;
pub mod place;
pub mod rates;
pub mod reach;
pub mod related;
pub mod residual;
mod saved;
pub mod search;
pub mod semaphores;
pub mod sync;
pub mod tracks;
pub mod transfers;
pub mod units;
pub mod viewport;
pub mod whatif;
pub mod window;
pub mod words;

#[cfg(test)]
pub(crate) mod sketch;
