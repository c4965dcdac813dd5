//! Beginning too early, and ending in all ways.

use super::*;
