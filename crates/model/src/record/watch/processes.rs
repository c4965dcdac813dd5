//! Which processes have the messages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WatchResult, WatchSocket, WatchedProcess};
use crate::plan::WatchTarget;

/// Names with sums of their own, for a bound on the memory of a long run.
const MOST_NAMES: usize = 255;

/// Processes that a command has room for.
const MOST_LISTED: usize = 8;

/// Beside a process with this part of the messages, the others do not matter.
const NEARLY_ALL: f64 = 0.9;

/// The processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchProcesses {
    /// Their name; `None` of all other processes, and of those that are not known.
    pub name: Option<String>,
    /// Their numbers, at most 255 of them; none without a name.
    pub pids: Vec<u32>,
    /// The sockets that they used first, together.
    pub sockets: WatchSocket,
}

impl WatchProcesses {
    /// More processes of one name are not counted.
    pub const MOST_PIDS: usize = 255;

    /// Adds a socket to those of its process's name. One without messages needs none.
    pub fn add(all: &mut Vec<Self>, socket: &WatchSocket) {
        if socket.messages() > 0 {
            Self::of(all, socket.process.as_ref()).sockets.add(socket);
        }
    }

    /// Those of this process's name. A new one comes last; beyond the most names it is among those without a name.
    pub fn of<'a>(all: &'a mut Vec<Self>, process: Option<&WatchedProcess>) -> &'a mut Self {
        let names = all.iter().filter(|of| of.name.is_some()).count();
        let has_place = |process: &&WatchedProcess| {
            names < MOST_NAMES || all.iter().any(|of| of.name.as_deref() == Some(process.name.as_str()))
        };
        let process = process.filter(has_place);
        let name = process.map(|process| process.name.as_str());
        let at = all.iter().position(|of| of.name.as_deref() == name).unwrap_or_else(|| {
            all.push(Self { name: name.map(str::to_owned), ..Self::default() });
            all.len() - 1
        });
        let of = &mut all[at];
        let is_new = |pid: &u32| of.pids.len() < Self::MOST_PIDS && !of.pids.contains(pid);
        let pid = process.map(|process| process.pid).filter(is_new);
        of.pids.extend(pid);
        of
    }

    /// Keeps the names with the most messages, and makes all others one without a name.
    pub fn keep(all: &mut Vec<Self>, most: usize) {
        all.sort_by_key(|of| (of.name.is_none(), Reverse(of.sockets.messages())));
        let rest = all.split_off(most.min(all.len()));
        rest.iter().for_each(|of| Self::of(all, None).sockets.add(&of.sockets));
    }
}

/// A process that was seen to use a watched socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchUser {
    /// Which.
    pub process: WatchedProcess,
    /// In how many looks, about one a second, it was the first.
    pub looks: u64,
}

impl WatchUser {
    /// More processes are not kept.
    pub const MOST: usize = 255;

    /// Adds what a look saw; those that were seen most often come first.
    pub fn add(all: &mut Vec<Self>, process: WatchedProcess) {
        match all.iter_mut().find(|of| of.process.pid == process.pid) {
            Some(of) => of.looks += 1,
            None => {
                all.truncate(Self::MOST - 1);
                all.push(Self { process, looks: 1 });
            }
        }
        all.sort_by_key(|of| Reverse(of.looks));
    }
}

impl WatchResult {
    /// The process that has nearly all of the messages, or the only one that is known; `None` of several.
    #[must_use]
    pub fn process(&self) -> Option<WatchedProcess> {
        let is_most = |part: u64, all: u64| all > 0 && part as f64 >= NEARLY_ALL * all as f64;
        let messages = self.processes.iter().map(|of| of.sockets.messages()).fold(0, u64::saturating_add);
        let looks = self.users.iter().map(|of| of.looks).fold(0, u64::saturating_add);
        let summed = || self.with_most_messages().filter(|of| is_most(of.1, messages)).map(|of| of.0);
        let seen = || self.users.first().filter(|of| is_most(of.looks, looks)).map(|of| of.process.clone());
        let most = if messages > 0 { summed() } else { seen() };
        most.or_else(|| self.reader.clone().filter(|_| !self.has_several()))
    }

    /// What a command such as `strace -p` gets: the process, or those that were seen most often to use a watched socket, as in
    /// `7,8`. `PID` of a whole host, or if none is known.
    #[must_use]
    pub fn pid_argument(&self) -> String {
        let seen = || self.users.iter().map(|of| of.process.pid).take(MOST_LISTED).collect();
        let pids: BTreeSet<u32> = self.process().map_or_else(seen, |of| BTreeSet::from([of.pid]));
        if pids.is_empty() || self.plan.target == WatchTarget::All {
            return "PID".to_owned();
        }
        pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// Whether the messages are of several processes, as far as these are known.
    #[must_use]
    pub fn has_several(&self) -> bool {
        let named = self.processes.iter().filter(|of| of.name.is_some());
        let summed: usize = named.map(|of| of.pids.len()).sum();
        let known = if summed > 0 { summed } else { self.users.len() };
        known > 1
    }

    /// Whether this process is known to use a watched socket.
    #[must_use]
    pub fn is_used_by(&self, pid: u32) -> bool {
        let is_it = |of: &WatchedProcess| of.pid == pid;
        self.reader.as_ref().is_some_and(is_it)
            || self.users.iter().any(|of| is_it(&of.process))
            || self.processes.iter().any(|of| of.pids.contains(&pid))
    }

    /// By the sums of sockets, as far as these are kept.
    fn with_most_messages(&self) -> Option<(WatchedProcess, u64)> {
        let mut summed = BTreeMap::new();
        for socket in &self.sockets {
            let Some(process) = &socket.process else { continue };
            let sum: &mut u64 = summed.entry(process.pid).or_default();
            *sum = sum.saturating_add(socket.messages());
        }
        for of in &self.processes {
            if let &[pid] = &of.pids[..] {
                summed.insert(pid, of.sockets.messages());
            }
        }
        let (pid, messages) = summed.into_iter().max_by_key(|of| of.1)?;
        let name = self.processes.iter().find(|of| of.pids.contains(&pid))?.name.clone()?;
        Some((WatchedProcess { pid, name }, messages))
    }
}

#[cfg(test)]
mod tests {
    use netfathom_stats::Histogram;

    use super::*;
    use crate::record::{SocketWay, WatchTimes};

    fn socket(process: Option<(&str, u32)>, n: u64) -> WatchSocket {
        let mut histogram = Histogram::new(3);
        histogram.add_many(100, n);
        let total = WatchTimes::new(&histogram, 100 * n as i64);
        let process = process.map(|(name, pid)| WatchedProcess { pid, name: name.into() });
        WatchSocket { process, receive: SocketWay { total, stages: Vec::new() }, ..WatchSocket::default() }
    }

    fn shown(all: &[WatchProcesses]) -> Vec<(Option<&str>, usize, u64)> {
        all.iter().map(|of| (of.name.as_deref(), of.pids.len(), of.sockets.messages())).collect()
    }

    #[test]
    fn sockets_are_summed_by_the_name_of_their_process() {
        let mut all = Vec::new();
        let (nginx, worker, redis) = (Some(("nginx", 7)), Some(("nginx", 8)), Some(("redis", 9)));
        for (process, n) in [(None, 50), (redis, 30), (nginx, 10), (worker, 10), (nginx, 20)] {
            WatchProcesses::add(&mut all, &socket(process, n));
        }
        assert_eq!(shown(&all), [(None, 0, 50), (Some("redis"), 1, 30), (Some("nginx"), 2, 40)]);
        WatchProcesses::keep(&mut all, 3);
        assert_eq!(shown(&all), [(Some("nginx"), 2, 40), (Some("redis"), 1, 30), (None, 0, 50)]);
        WatchProcesses::keep(&mut all, 1);
        assert_eq!(shown(&all), [(Some("nginx"), 2, 40), (None, 0, 80)]);
    }

    #[test]
    fn names_and_numbers_are_bounded_and_no_message_is_lost() {
        let mut all = Vec::new();
        for pid in 0..1000 {
            WatchProcesses::add(&mut all, &socket(Some(("fork", pid)), 1));
            let name = format!("p{pid}");
            WatchProcesses::add(&mut all, &socket(Some((name.as_str(), pid)), 1));
        }
        let [fork, .., beyond] = &shown(&all)[..] else { panic!("names") };
        assert_eq!((all.len(), *fork), (MOST_NAMES + 1, (Some("fork"), WatchProcesses::MOST_PIDS, 1000)));
        assert_eq!(*beyond, (None, 0, 1000 - (MOST_NAMES as u64 - 1)));
    }

    #[test]
    fn who_is_seen_most_often_comes_first_and_users_are_bounded() {
        let mut users = Vec::new();
        let see = |users: &mut Vec<WatchUser>, pid| {
            WatchUser::add(users, WatchedProcess { pid, name: "postgres".into() });
        };
        for pid in [7, 8, 8, 9, 8] {
            see(&mut users, pid);
        }
        let looks: Vec<(u32, u64)> = users.iter().map(|of| (of.process.pid, of.looks)).collect();
        assert_eq!(looks, [(8, 3), (7, 1), (9, 1)]);
        (1000..2000).for_each(|pid| see(&mut users, pid));
        assert_eq!((users.len(), users[0].process.pid), (WatchUser::MOST, 8));
        assert_eq!(users[WatchUser::MOST - 1].process.pid, 1999);
    }
}
