//! Sockets with messages that no thread reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WatchedProcess;

/// A socket of UDP with messages that waited in the end, and that no thread had read for a second or longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchUnread {
    /// Its address and port.
    pub local: Option<String>,
    /// A process that has it.
    pub process: WatchedProcess,
    /// Messages that were seen, and waited.
    pub messages: u64,
    /// How long messages waited and no thread read.
    pub for_ns: u64,
    /// A signal or a debugger had stopped the process.
    pub stopped: bool,
}
