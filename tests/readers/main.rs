//! Readers against independently computed answers, and against damaged and odd input.

mod cache;
mod corpus;
mod hostile;
mod truth;
