//! What is on disk: discovery, and one module per format that turns bytes into rows.
