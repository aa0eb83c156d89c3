//! One file per subcommand; each prints text, JSON or CSV.

pub mod index;
pub mod info;
