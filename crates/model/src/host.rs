//! What can be measured on a machine, and what is missing for the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `netfathom host` found out by trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// Kernel release and build.
    pub kernel: String,
    /// CPU model; empty if the kernel does not show it.
    pub cpu_model: String,
    /// What `netfathom stack` does here by default, in one sentence.
    pub stack: String,
    /// What was tried, by topic.
    pub groups: Vec<HostGroup>,
}

impl HostReport {
    /// A row by its name; `None` if it was not tried.
    pub fn row(&self, topic: Topic, name: &str) -> Option<&HostRow> {
        let group = self.groups.iter().find(|g| g.topic == topic)?;
        group.rows.iter().find(|r| r.name == name)
    }
}

/// Rows of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostGroup {
    /// Which.
    pub topic: Topic,
    /// What was tried, in the order of reading.
    pub rows: Vec<HostRow>,
}

/// What a group of rows is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// How a link-layer time can be taken.
    Taps,
    /// Where the two ends of a measurement can stand.
    Places,
    /// What this process is allowed to do.
    Privileges,
    /// What the kernel offers.
    Kernel,
    /// The one clock of a measurement.
    Clock,
    /// Where the threads can run.
    Processors,
}

named! { Topic:
    Taps = "taps", Places = "places", Privileges = "privileges", Kernel = "kernel features", Clock = "clock",
    Processors = "CPUs"
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRow {
    /// What was tried, such as `bpf` or `AF_XDP socket`.
    pub name: String,
    /// How it went.
    #[serde(flatten)]
    pub status: HostStatus,
    /// What it is for, or what was seen.
    pub detail: String,
}

/// How a try went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum HostStatus {
    /// It works.
    Works,
    /// It works, with a drawback.
    Limited {
        /// The drawback.
        reason: String,
        /// What to install, run or enable.
        remedy: String,
    },
    /// It does not work.
    Missing {
        /// Why, in words.
        reason: String,
        /// What to install, run or enable.
        remedy: String,
    },
}

impl HostStatus {
    /// As it is written in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Limited { .. } => "limited",
            Self::Missing { .. } => "missing",
        }
    }

    /// Reason and remedy, where there is something to remedy.
    pub fn shortcoming(&self) -> Option<(&str, &str)> {
        match self {
            Self::Works => None,
            Self::Limited { reason, remedy } | Self::Missing { reason, remedy } => Some((reason, remedy)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_flat_in_json() {
        let status = HostStatus::Missing { reason: "no".into(), remedy: "yes".into() };
        let row = HostRow { name: "fentry".into(), status, detail: "more hooks".into() };
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "name": "fentry", "status": "missing", "reason": "no", "remedy": "yes", "detail": "more hooks"
            })
        );
        assert_eq!(serde_json::from_value::<HostRow>(json).unwrap(), row);
    }
}
