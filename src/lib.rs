//! neuron-scope: a terminal explorer for AWS Neuron profiles.
//!
//! Data flows one way: a path is discovered as a [`source`], its rows are read into a
//! [`store`] (the indexed profile), [`query`] answers questions about it, [`ui`] draws the
//! answers, and [`app`] holds what a person is looking at. [`term`] owns the terminal itself.

pub mod app;
pub mod cli;
pub mod demo;
pub mod files;
pub mod guard;
pub mod model;
pub mod query;
pub mod source;
pub mod store;
pub mod term;
pub mod ui;
