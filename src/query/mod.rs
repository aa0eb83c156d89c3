//! One file per question; pure functions of a store and arguments.

pub mod details;
pub mod emphasis;
pub mod place;
pub mod queue_name;
pub mod rates;
pub mod related;
pub mod tracks;
pub mod units;
pub mod viewport;
pub mod window;

#[cfg(test)]
pub(crate) mod sketch;
