//! Quantities of runs, and what comparisons of them say.

#[path = "compare/quantities.rs"]
mod quantities;
