//! Reading raw captures: NEFF and NTFF.

mod corpus;
mod oracle;
