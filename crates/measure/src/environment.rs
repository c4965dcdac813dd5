//! The machine a record is taken on.
