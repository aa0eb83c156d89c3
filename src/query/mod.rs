//! One file per question; pure functions of a store and arguments.

pub mod emphasis;
pub mod rates;
#[cfg(test)]
pub(crate) mod sketch;
pub mod tracks;
pub mod viewport;
pub mod window;
