//! One file per question; pure functions of a store and arguments.
