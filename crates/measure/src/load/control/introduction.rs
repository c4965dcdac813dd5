//! Who a host is that serves others.

use std::fs;

use netfathom_model::record::ServerHost;
use serde::{Deserialize, Serialize};

use super::TOOL;
use super::line::printable;
use super::protocol::Why;
use crate::ground::environment;

/// Longer names of hosts and kernels are cut.
const MOST_NAME_CHARS: usize = 200;
/// The same of a report.
const MOST_REPORT_CHARS: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    pub tool: String,
    pub host: Option<String>,
    pub kernel: String,
    /// The processor of its end.
    pub cpu: usize,
    pub identity: Identity,
}

/// Which host it is, for who may be on the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub boot: String,
    /// The network namespace, which has the counters of TCP.
    pub network: String,
}

impl Introduction {
    pub fn own(cpu: usize) -> Self {
        Self {
            tool: TOOL.into(),
            host: environment::host(),
            kernel: environment::kernel(),
            cpu,
            identity: Identity::read(),
        }
    }

    /// Fit for a terminal and for a record.
    pub fn harmless(self) -> Self {
        Self {
            tool: short(&self.tool),
            host: self.host.as_deref().map(short),
            kernel: short(&self.kernel),
            ..self
        }
    }

    /// As records have it.
    pub fn recorded(&self) -> ServerHost {
        let Self { tool, host, kernel, identity, .. } = self.clone();
        ServerHost { host, kernel, tool, same_host: identity.boot == Identity::read().boot }
    }
}

impl Identity {
    pub fn read() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
        Self { boot, network: network.display().to_string() }
    }
}

pub fn report(text: &str) -> String {
    cut(text, MOST_REPORT_CHARS)
}

/// Why one who serves a single peer at a time does not serve this one.
pub fn refusal(why: Why, version: u32, serves: &str) -> String {
    match why {
        Why::Busy => format!("it serves another {serves}; try again when that one has ended"),
        Why::Version { speaks } => format!(
            "it speaks version {speaks} of the conversation and this netfathom version {version}; use the same \
             netfathom on both hosts"
        ),
        why => report(&why.to_string()),
    }
}

/// A name that a peer has for something.
pub fn short(text: &str) -> String {
    cut(text, MOST_NAME_CHARS)
}

pub(super) fn cut(text: &str, most: usize) -> String {
    printable(text).chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_names_cannot_steer_a_terminal() {
        let identity = Identity { boot: String::new(), network: String::new() };
        let (tool, host) = ("x\u{1b}[2J".repeat(99), Some("h\n\u{7}".into()));
        let named = Introduction { tool, host, kernel: "6.1".into(), cpu: 0, identity }.harmless();
        assert_eq!((named.tool.len(), named.host.as_deref()), (MOST_NAME_CHARS, Some("h")));
        assert!(!named.tool.contains('\u{1b}'));
    }
}
