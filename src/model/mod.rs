//! The vocabulary: plain types with no I/O and no dependency on other rooms.
