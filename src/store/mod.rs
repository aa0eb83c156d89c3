//! The indexed profile. Immutable once built.
