//! The plan of `netfathom join`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, conflict, range};

/// Where the number of a message lies in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// In the header that netfathom's own messages begin with ([`crate::message`]).
    Netfathom,
    /// An unsigned number at a fixed place.
    Field {
        /// Bytes from the start of the UDP payload.
        offset: u32,
        /// Its length in bytes: 1, 2, 4 or 8.
        width: u32,
        /// Whether the least significant byte comes first.
        little_endian: bool,
    },
}

/// How the clock of a log is put on the clock of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockChoice {
    /// As the log states it; a log that states nothing has the clock of the capture.
    Stated,
    /// Fitted, so that the shortest delay is zero: for clocks of two hosts. Then only delays
    /// relative to the shortest are known.
    Fitted,
}

/// The plan of `netfathom join`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JoinPlan {
    /// The captures, in the order in which a message passes them; `-` is standard input.
    pub captures: Vec<String>,
    /// The logs; `-` is standard input.
    pub logs: Vec<String>,
    /// Where the number of a message lies.
    pub numbering: Numbering,
    /// Only packets from or to this UDP port; `None` takes all.
    pub port: Option<u16>,
    /// How the clocks are put together.
    pub clock: ClockChoice,
    /// Messages that log and capture may be apart, or out of order, and still be joined.
    pub window: u32,
}

impl JoinPlan {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        range("window", self.window.into(), 64, 1 << 24)?;
        if self.captures.is_empty() || self.logs.is_empty() {
            return conflict("name a capture and a log: netfathom join CAPTURE LOG");
        }
        if self.captures.iter().chain(&self.logs).filter(|name| *name == "-").count() > 1 {
            return conflict("standard input (-) can be read only once: put one of the two into a file");
        }
        if let Numbering::Field { width, offset, .. } = self.numbering {
            if ![1, 2, 4, 8].contains(&width) {
                return conflict("a message's number is 1, 2, 4 or 8 bytes wide");
            }
            range("number's offset", offset.into(), 0, 65_535)?;
        }
        Ok(self)
    }
}
