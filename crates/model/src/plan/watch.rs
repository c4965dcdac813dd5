//! The plan of `netfathom watch`.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MS, PlanError, S, conflict, span, span_with};
use crate::path::Direction;

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchTarget {
    /// Those of TCP and UDP of the whole host.
    All,
    /// Those of a process, by its number, and those that they accept.
    Process(u32),
    /// Those with this local port.
    Port(u16),
    /// Those of the processes with this name.
    Name(String),
    /// Those of the processes of a cgroup and of the cgroups below it, by its path in the hierarchy.
    Cgroup(String),
    /// Those of the processes of a container, by its name or the start of its id.
    Container(String),
    /// One connection.
    Flow {
        /// The end that is watched.
        local: SocketAddr,
        /// The other one.
        peer: SocketAddr,
    },
}

impl WatchTarget {
    /// Whether processes join and leave it.
    #[must_use]
    pub fn is_group(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Cgroup(_) | Self::Container(_))
    }

    /// How it is named to `netfathom watch`, as a shell takes it.
    #[must_use]
    pub fn arguments(&self) -> String {
        let quoted = |name: &str| shlex::try_quote(name).map_or_else(|_| name.to_owned(), Into::into);
        match self {
            Self::All => "--all".to_owned(),
            Self::Process(pid) => format!("--pid {pid}"),
            Self::Port(port) => format!("--port {port}"),
            Self::Name(name) => quoted(name),
            Self::Cgroup(path) => format!("--cgroup {}", quoted(path)),
            Self::Container(name) => format!("--container {}", quoted(name)),
            Self::Flow { local, peer } => format!("--flow {local}:{peer}"),
        }
    }
}

/// From when on a message is slow, and kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlowBound {
    /// From this time on, ns.
    Time(u64),
    /// From this quantile on, 0 to 1, of the messages before it that went the same way.
    Quantile(f64),
}

impl SlowBound {
    /// Messages before the first that can be slow: ten of them beyond the quantile, and at least a thousand in all.
    #[must_use]
    pub fn known_after(self) -> u64 {
        match self {
            Self::Time(_) => 0,
            Self::Quantile(q) => 1000_u64.max((10.0 / (1.0 - q)).round() as u64),
        }
    }
}

/// The plan of `netfathom watch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchPlan {
    /// What is watched.
    pub target: WatchTarget,
    /// Which way the messages go.
    pub directions: Vec<Direction>,
    /// For how long; `None` until it is ended, or the process ends.
    pub time_ns: Option<u64>,
    /// Single sockets are asked for.
    pub by_socket: bool,
    /// Single messages are kept from there on.
    pub slow: Option<SlowBound>,
    /// The run ends after this many of them.
    pub stop_after: Option<u64>,
    /// Messages are followed for as much of the time as takes this part of a CPU, 0 to 1; `None`: all the time.
    pub budget: Option<f64>,
    /// `true` if Unix sockets of the processes are followed too; `None` if not.
    pub unix: Option<bool>,
    /// `true` if the run waits for the first process of the target, and goes on after the last; `None` if not.
    pub awaits: Option<bool>,
}

impl WatchPlan {
    /// Sums of all messages that go these ways, until it is ended.
    #[must_use]
    pub fn new(target: WatchTarget, directions: Vec<Direction>) -> Self {
        Self {
            target,
            directions,
            time_ns: None,
            by_socket: false,
            slow: None,
            stop_after: None,
            budget: None,
            unix: None,
            awaits: None,
        }
    }

    /// Whether it watches what goes this way.
    pub fn watches(&self, direction: Direction) -> bool {
        self.directions.contains(&direction)
    }

    /// Whether Unix sockets are followed.
    pub fn follows_unix(&self) -> bool {
        self.unix == Some(true)
    }

    /// Whether the run waits for processes, and goes on without any.
    pub fn awaits(&self) -> bool {
        self.awaits == Some(true)
    }

    /// Whether messages are summed by socket, and so by process: of a whole host, which program they are of is asked first.
    pub fn sums_sockets(&self) -> bool {
        self.by_socket || self.target == WatchTarget::All
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        let time = |condition, least_ns| {
            self.time_ns.map_or(Ok(()), |ns| span_with("time", condition, ns, (least_ns, 86_400 * S)))
        };
        time("", 100 * MS)?;
        if let Some(budget) = self.budget {
            if !(0.001..=1.0).contains(&budget) {
                return conflict("--budget: a part of one CPU, from 0.1% to 100%");
            }
            time(" with --budget", S)?;
        }
        if let Some(SlowBound::Time(bound_ns)) = self.slow {
            span("slow", bound_ns, (1, 3600 * S))?;
        }
        if matches!(self.slow, Some(SlowBound::Quantile(q)) if !(0.5..1.0).contains(&q)) {
            return conflict("--slow: a percentile is from p50 to p99.999, or write a time");
        }
        if self.stop_after == Some(0) || self.stop_after.is_some() && self.slow.is_none() {
            return conflict("--stop-after: name how many, with --slow, as in --slow 10ms --stop-after 1");
        }
        let wrong = match &self.target {
            target if self.awaits() && !target.is_group() => {
                "--serve: a run awaits the processes of NAME, --cgroup or --container alone"
            }
            WatchTarget::All | WatchTarget::Port(_) | WatchTarget::Flow { .. } if self.follows_unix() => {
                "--unix: these sockets are found by their process; name it, --pid or by its name"
            }
            _ if self.follows_unix() && !self.watches(Direction::Rx) => {
                "--unix: what is sent over Unix sockets has no times; watch rx or both"
            }
            WatchTarget::Port(0) => "--port: 0 is no port; `ss -tulpn` lists those that programs listen on",
            WatchTarget::Process(0) => "--pid: 0 is no process; `ps -eo pid,comm` lists processes",
            WatchTarget::Flow { local, peer } if local.is_ipv4() != peer.is_ipv4() => {
                "--flow: one address is of IPv4, the other of IPv6; `ss -tn` lists connections"
            }
            WatchTarget::Flow { local, peer } if local.port() == 0 || peer.port() == 0 => {
                "--flow: a port is 0; `ss -tn` lists connections"
            }
            WatchTarget::Name(name) if name.is_empty() => {
                "NAME: it is empty; name a program, or --pid, --port or --all"
            }
            WatchTarget::Container(name) if name.is_empty() => {
                "--container: it is empty; write its name, or at least four digits of its id"
            }
            WatchTarget::Cgroup(path) if path.trim_matches('/').is_empty() => {
                "--cgroup: the root has all processes; name one below it, as in `systemd-cgls`, or --all"
            }
            _ => return Ok(self),
        };
        conflict(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_as_a_shell_takes_it() {
        assert_eq!(WatchTarget::Name("Web Content".into()).arguments(), "'Web Content'");
        let cgroup = WatchTarget::Cgroup("/a.slice/b.service".into());
        assert_eq!(cgroup.arguments(), "--cgroup /a.slice/b.service");
    }

    #[test]
    fn only_processes_that_join_and_leave_are_awaited() {
        let is_valid = |target, awaits| {
            WatchPlan { awaits, ..WatchPlan::new(target, vec![Direction::Rx]) }.validated().is_ok()
        };
        assert!(is_valid(WatchTarget::Name("nginx".into()), Some(true)));
        assert!(is_valid(WatchTarget::Port(80), None));
        assert!(!is_valid(WatchTarget::Process(7), Some(true)) && !is_valid(WatchTarget::All, Some(true)));
    }
}
