//! Answers about whole profiles against independently computed ones.
#![allow(clippy::unwrap_used)]

#[path = "../readers/corpus.rs"]
mod corpus;
mod export;
mod marks;
mod search;
