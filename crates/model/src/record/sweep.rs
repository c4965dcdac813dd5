//! What `netfathom ttcp sweep` found: how fast a transfer is with each buffer, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallTimes, Cause, Explanation, TcpState, TransferEnd};
use crate::plan::SweepPlan;

/// What `netfathom ttcp sweep` found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SweepResult {
    /// What was asked for.
    pub plan: SweepPlan,
    /// One a combination that has a trial, in the order of the plan's combinations.
    pub points: Vec<SweepPoint>,
}

/// One send buffer with one size of a write.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// Send buffer that was asked for; `None` where it was left to the kernel.
    pub socket_buffer_bytes: Option<u32>,
    /// What the kernel granted of it, in the same measure.
    pub granted_buffer_bytes: Option<u32>,
    /// Bytes of a write.
    pub write_bytes: u64,
    /// TCP_NODELAY
    pub no_delay: bool,
    /// The trials, in the order in which they ran.
    pub trials: Vec<SweepTrial>,
    /// Over the trials that came to their end; `None` where none did.
    pub rate: Option<SweepRate>,
    /// What limited most of the trials, with its mean share in these; `None` if there is no
    /// explanation.
    pub cause: Option<(Cause, f64)>,
}

/// How fast the trials of a point were. Bytes a second, until the receiver had them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRate {
    /// The median of the trials.
    pub median_bytes_per_s: f64,
    /// The slowest trial.
    pub lowest_bytes_per_s: f64,
    /// The fastest trial.
    pub highest_bytes_per_s: f64,
    /// An interval of at least 95 % for the median, by the sign test; `None` below six trials,
    /// which are too few for one.
    pub interval_bytes_per_s: Option<(f64, f64)>,
    /// Trials behind it.
    pub n: u32,
}

/// One transfer of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SweepTrial {
    /// Its place among all trials of the sweep, from 0.
    pub index: u32,
    /// Bytes that were handed to the kernel.
    pub bytes: u64,
    /// Calls that did.
    pub calls: u64,
    /// Until the last call; what waited in the send buffer then was still to go.
    pub duration_ns: u64,
    /// Until the receiver had closed, and so had everything.
    pub closed_ns: Option<u64>,
    /// How it came to its end.
    pub end: TransferEnd,
    /// The kernel's account of the connection.
    pub tcp: Option<TcpState>,
    /// Where the time of its thread went.
    pub calls_took: Option<CallTimes>,
    /// What held it up.
    pub explanation: Option<Explanation>,
}

impl SweepTrial {
    /// Bytes a second until the receiver had them all; `None` where it did not come to that.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let whole = matches!(self.end, TransferEnd::Whole | TransferEnd::Acknowledged);
        let ns = self.closed_ns.unwrap_or(self.duration_ns);
        (whole && ns > 0).then(|| self.bytes as f64 / (ns as f64 / 1e9))
    }
}
