//! Readers against independently computed answers, and against damaged and odd input.
#![allow(clippy::unwrap_used)]

mod cache;
mod corpus;
mod hostile;
mod legacy_json;
mod truth;
