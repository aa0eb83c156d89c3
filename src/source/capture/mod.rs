//! Capture output directories: which files are there, which program each device trace is of, and the tree of processes,
//! cores and executions that they form. Only names and headers are read here.

pub mod cached;
mod check;
mod framework;
pub mod kind;
pub mod names;
mod pair;
mod tree;

pub use kind::FileKind;
pub use pair::{Neff, Program, Rule, Trace};
pub use tree::{Capture, CaptureFile, Process};
