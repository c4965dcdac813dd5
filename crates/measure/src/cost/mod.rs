//! What a program takes from all others: benchmarks with marks, and a burner of known intensity
//! that the ruler is proved with.

pub mod benchmark;
pub mod burn;
pub mod light;

pub mod workplace;
