//! One file per subcommand; each prints text, JSON or CSV.
