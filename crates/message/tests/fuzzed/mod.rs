//! What is done with any bytes, by the fuzz targets (`fuzz/`) and by tests of every build.

pub mod incoming;
pub mod pair;
