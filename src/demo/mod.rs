//! The built-in demo profile: small, complete, and the same each time.
