//! The plan of `netfathom reproduce`.

use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// What make builds instead of generated projects, the smallest first.
    pub projects: Option<Vec<Project>>,
    /// Makes a run repeat its choices.
    pub seed: u64,
    /// Other hosts, each with the counterpart of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<SocketAddr>>,
    /// Addresses that load may go to besides private ones, as `ADDR/LEN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

/// The sources of a program, with a Makefile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    /// Where they are.
    #[serde(serialize_with = "super::path_text::as_text")]
    pub directory: PathBuf,
    /// Of all its files.
    pub size_bytes: u64,
}
