//! The plan of `netfathom watch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MS, PlanError, S, span};
use crate::path::Direction;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchTarget {
    /// Those of a process, by its number, and those that they accept.
    Process(u32),
    /// Those with this local port.
    Port(u16),
}

/// The plan of `netfathom watch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchPlan {
    /// What is watched.
    pub target: WatchTarget,
    /// Which way the messages go.
    #[serde(default = "received")]
    pub directions: Vec<Direction>,
    /// For how long; `None` until it is ended, or the process ends.
    pub time_ns: Option<u64>,
}

/// What records have that name no direction.
fn received() -> Vec<Direction> {
    vec![Direction::Rx]
}

impl WatchPlan {
    /// Whether it watches what goes this way.
    pub fn watches(&self, direction: Direction) -> bool {
        self.directions.contains(&direction)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        if let Some(time_ns) = self.time_ns {
            span("time", time_ns, (100 * MS, 86_400 * S))?;
        }
        if matches!(self.target, WatchTarget::Port(0) | WatchTarget::Process(0)) {
            return Err(PlanError::Conflict("0 is no port and no process: name one that is there".into()));
        }
        Ok(self)
    }
}
