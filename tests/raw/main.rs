//! Reading raw captures: NEFF and NTFF.

mod corpus;
mod fixtures;
mod oracle;
mod sample;
mod writer;
