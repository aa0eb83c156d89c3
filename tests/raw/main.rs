//! Reading raw captures: NEFF and NTFF.

#![allow(clippy::unwrap_used)]

mod cli;
mod corpus;
mod derived;
mod fixtures;
mod oracle;
mod sample;
mod store;
mod writer;
