//! Tables for a terminal.
