//! The plan of `netfathom reproduce`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TapChoice;

/// The plan of `netfathom reproduce`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproducePlan {
    /// The experiment's name in the catalogue, such as `borodin-tx`.
    pub name: String,
    /// Smaller than the paper's, and done within two minutes.
    pub quick: bool,
    /// How link-layer times are taken.
    pub tap: TapChoice,
    /// Makes a run repeat its choices.
    pub seed: u64,
}
