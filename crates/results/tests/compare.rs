//! Quantities of runs, and what comparisons of them say.

#[path = "compare/beside.rs"]
mod beside;
#[path = "browser/pictures.rs"]
mod blocks;
#[path = "results/fixtures.rs"]
mod fixtures;
#[path = "compare/gates.rs"]
mod gates;
#[path = "compare/obstacles.rs"]
mod obstacles;
#[path = "compare/pictures.rs"]
mod pictures;
#[path = "compare/quantities.rs"]
mod quantities;
#[path = "compare/simulated.rs"]
mod simulated;
