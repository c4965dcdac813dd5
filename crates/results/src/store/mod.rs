//! Runs on disk.
