//! Who had a CPU, as it is shown: all processes of a name together.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;

use super::{Held, Holder};
use crate::print;

/// Processes that a command has room for.
const MOST_LISTED: usize = 8;
/// Processes that a sentence has room for.
const MOST_NAMED: usize = 3;

/// Beside processes that had this part of a name's time, its others do not matter.
const NEARLY_ALL: f64 = 0.9;

/// One that had a CPU, or all processes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holders<'a> {
    /// The only one, or one of these processes.
    pub first: &'a Holder,
    /// How many they are, at least.
    pub count: u64,
}

/// What is equal here is one in what is shown.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Shown<'a> {
    Name(&'a str),
    Alone(&'a Holder),
}

impl Holder {
    /// The first process may be neither stopped nor moved: others of its name are not counted to it.
    pub(super) fn shown(&self) -> Shown<'_> {
        match self {
            Self::Process { name, pid: 0 | 2.., .. } => Shown::Name(name),
            by => Shown::Alone(by),
        }
    }

    fn are_several(&self) -> bool {
        matches!(self, Self::Process { pid: 0, .. })
    }
}

impl<'a> From<&'a Holder> for Holders<'a> {
    fn from(first: &'a Holder) -> Self {
        Self { first, count: if first.are_several() { 2 } else { 1 } }
    }
}

impl<'a> Holders<'a> {
    /// Each with its time, the longest first.
    pub fn of(held: impl IntoIterator<Item = &'a Held>) -> Vec<(Self, u64)> {
        summed(each(held), Holder::shown)
    }

    /// The fewest that had nearly all of the time of this name among `held`: all of it, if these are many.
    #[must_use]
    pub fn most<'b>(&self, held: &'b [Held]) -> Holders<'b>
    where
        'a: 'b,
    {
        let longest = self.longest(held).unwrap_or_default();
        summed(longest, Holder::shown).into_iter().next().map_or(*self, |(most, _)| most)
    }

    /// All of them, and who had nearly all of their time, if these are fewer: `sh (7 processes, mostly pid 4711)`.
    pub fn named(&self, held: &[Held]) -> String {
        let (all, pids) = (self.to_string(), numbers(&self.longest(held).unwrap_or_default()));
        let is_fewer = (1..=MOST_NAMED).contains(&pids.len()) && (pids.len() as u64) < self.count;
        let what = if pids.len() == 1 { "pid" } else { "pids" };
        match all.strip_suffix(')').filter(|_| is_fewer) {
            Some(all) => format!("{all}, mostly {what} {})", print::listed(pids)),
            None => all,
        }
    }

    /// The fewest that had nearly all of the time of this name among `held`, by their numbers: `sh (pids 7, 9)`. `None` of
    /// more than a sentence has room for.
    pub fn numbered(&self, held: &[Held]) -> Option<String> {
        let pids = self.pids(held).unwrap_or_default();
        match (self.first, pids.len()) {
            (Holder::Process { .. }, 1) => Some(self.most(held).to_string()),
            (Holder::Process { name, .. }, 2..=MOST_NAMED) => {
                Some(format!("{name} (pids {})", print::listed(pids)))
            }
            _ => None,
        }
    }

    /// How to move `them`, a process or those of its name that had nearly all of its time among `held`, so that `waiting` has
    /// other CPUs. Many may be short-lived: a command that has their numbers would come too late.
    pub fn moving(&self, them: &str, held: &[Held], waiting: &str) -> String {
        let cpus = format!("a list such as 0, the rest for {waiting}");
        let pids = self.pids(held).map(|pids| pids.iter().map(ToString::to_string).collect::<Vec<_>>());
        match pids.as_deref() {
            None => format!("start what runs {them} with taskset -c CPUS ({cpus})"),
            Some([pid]) => format!("move {them} to other CPUs (`taskset -acp CPUS {pid}`; CPUS: {cpus})"),
            Some(pids) => format!(
                "move {them} to other CPUs (`echo {} | xargs -n1 taskset -acp CPUS`; CPUS: {cpus}; new ones have the CPUs of their parent)",
                pids.join(" ")
            ),
        }
    }

    /// The numbers of those that had nearly all of the time, where all are known and few.
    fn pids(&self, held: &[Held]) -> Option<BTreeSet<u32>> {
        let mut longest = self.longest(held)?;
        // What is not among them, as in what /proc shows, stands for itself.
        if longest.is_empty() {
            longest.push((self.first, 0));
        }
        Some(numbers(&longest)).filter(|pids| !pids.is_empty() && !pids.contains(&0))
    }

    /// The fewest that had nearly all of the time of this name, the longest first; `None` of many, or without all numbers.
    fn longest<'b>(&self, held: &'b [Held]) -> Option<Vec<(&'b Holder, u64)>> {
        let all = each(held.iter().filter(|held| held.by.shown() == self.first.shown()));
        let enough = NEARLY_ALL * all.iter().map(|of| of.1 as f64).sum::<f64>();
        let mut sum = 0.0;
        let is_needed = |of: &(&Holder, u64)| {
            let before = sum;
            sum += of.1 as f64;
            before < enough
        };
        let longest: Vec<_> = all.into_iter().take_while(is_needed).collect();
        let are_numbered = !longest.iter().any(|of| of.0.are_several());
        (are_numbered && longest.len() <= MOST_LISTED).then_some(longest)
    }
}

fn numbers(held: &[(&Holder, u64)]) -> BTreeSet<u32> {
    let pid = |(by, _): &(&Holder, u64)| match by {
        Holder::Process { pid, .. } => Some(*pid),
        _ => None,
    };
    held.iter().filter_map(pid).collect()
}

impl fmt::Display for Holders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            Holder::Process { name, .. } if self.count > 1 => {
                let more = if self.first.are_several() { "+" } else { "" };
                write!(f, "{name} ({}{more} processes)", print::count(self.count))
            }
            by => write!(f, "{by}"),
        }
    }
}

/// Equal ones together, the longest first.
pub(super) fn each<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<(&'a Holder, u64)> {
    let all = summed(held.into_iter().map(|held| (&held.by, held.ns)), |by| by);
    all.into_iter().map(|(by, ns)| (by.first, ns)).collect()
}

/// Those of one key together, the longest first.
pub(super) fn summed<'a, K: Eq + Hash>(
    held: impl IntoIterator<Item = (&'a Holder, u64)>,
    key: impl Fn(&'a Holder) -> K,
) -> Vec<(Holders<'a>, u64)> {
    let mut places = HashMap::new();
    let mut all: Vec<(Holders<'a>, u64)> = Vec::new();
    for (by, ns) in held {
        let place = *places.entry(key(by)).or_insert(all.len());
        match all.get_mut(place) {
            Some((same, sum_ns)) => {
                same.count += Holders::from(by).count;
                if by.are_several() {
                    same.first = by;
                }
                *sum_ns = sum_ns.saturating_add(ns);
            }
            None => all.push((by.into(), ns)),
        }
    }
    all.sort_by_key(|(_, ns)| Reverse(*ns));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, pid: u32) -> Holder {
        Holder::Process { name: name.into(), pid, cgroup: None }
    }

    fn shown(held: &[(Holder, u64)]) -> Vec<(String, u64)> {
        let held: Vec<Held> = held.iter().map(|(by, ns)| Held { by: by.clone(), ns: *ns }).collect();
        Holders::of(&held).into_iter().map(|(by, ns)| (by.to_string(), ns)).collect()
    }

    fn rows(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
        rows.iter().map(|(by, ns)| ((*by).into(), *ns)).collect()
    }

    #[test]
    fn processes_of_a_name_are_one_and_all_else_is_itself() {
        let kworker = || Holder::Kernel { name: "kworker/0:1".into() };
        let held = [
            (process("tar", 7), 9),
            (process("cc1", 4711), 6),
            (process("cc1", 4712), 5),
            (Holder::Others, 5),
            (Holder::Netfathom, 4),
            (process("netfathom", 5), 3),
            (kworker(), 1),
            (kworker(), 1),
        ];
        let expected = [
            ("cc1 (2 processes)", 11),
            ("tar (pid 7)", 9),
            ("other processes", 5),
            ("netfathom itself", 4),
            ("netfathom (pid 5)", 3),
            ("the kernel's kworker/0:1", 2),
        ];
        assert_eq!(shown(&held), rows(&expected));
    }

    #[test]
    fn several_without_numbers_are_two_or_more() {
        let held = [(process("cc1", 4711), 20), (process("cc1", 0), 9), (process("tar", 0), 1)];
        assert_eq!(shown(&held), rows(&[("cc1 (3+ processes)", 29), ("tar (2+ processes)", 1)]));
        assert_eq!(process("tar", 0).to_string(), "tar (2+ processes)");
    }

    #[test]
    fn a_process_that_several_threads_waited_for_is_one() {
        let held = [(process("perl", 7), 2), (process("perl", 7), 3)];
        assert_eq!(shown(&held), rows(&[("perl (pid 7)", 5)]));
        assert_eq!(shown(&[(process("sh", 7), u64::MAX), (process("sh", 8), 1)])[0].1, u64::MAX);
    }

    #[test]
    fn only_those_that_had_the_cpu_are_moved() {
        let moving = |held: &[(Holder, u64)]| {
            let held: Vec<Held> = held.iter().map(|(by, ns)| Held { by: by.clone(), ns: *ns }).collect();
            Holders::of(&held)[0].0.moving("it", &held, "this end")
        };
        let sh = |pid| process("sh", pid);
        let few = [(sh(7), 9), (process("init", 1), 3), (sh(5), 2), (sh(7), 1)];
        let pids =
            "move it to other CPUs (`echo 5 7 | xargs -n1 taskset -acp CPUS`; CPUS: a list such as 0, ";
        assert!(moving(&few).starts_with(pids), "{}", moving(&few));
        let pid =
            "move it to other CPUs (`taskset -acp CPUS 7`; CPUS: a list such as 0, the rest for this end)";
        assert_eq!(moving(&few[..2]), pid);
    }

    #[test]
    fn many_of_a_name_are_moved_by_what_starts_them() {
        let moving = |pids: &[u32]| {
            let held: Vec<Held> = pids.iter().map(|&pid| Held { by: process("gzip", pid), ns: 1 }).collect();
            Holders::of(&held)[0].0.moving("gzip", &held, "this end")
        };
        let start = "start what runs gzip with taskset -c CPUS (a list such as 0, the rest for this end)";
        assert_eq!(moving(&[2, 3, 4, 5, 6, 7, 8, 9, 10]), start);
        assert!(moving(&[2, 3, 4, 5, 6, 7, 8, 9]).contains("(`echo 2 3 4 5 6 7 8 9 | "));
        // Not all have a number.
        assert_eq!(moving(&[7, 0]), start);
    }

    #[test]
    fn those_that_had_nearly_all_of_the_time_of_a_name_are_named_and_moved_alone() {
        let words = |times: &[u64]| {
            let held: Vec<Held> =
                times.iter().zip(4711..).map(|(&ns, pid)| Held { by: process("sh", pid), ns }).collect();
            let all = Holders::of(&held)[0].0;
            let most = all.most(&held);
            (all.named(&held), most.to_string(), most.moving("it", &held, "this end"))
        };
        let (all, most, moving) = words(&[1, 1, 60, 1, 1, 1, 1]);
        assert_eq!([all.as_str(), &most], ["sh (7 processes, mostly pid 4713)", "sh (pid 4713)"]);
        assert!(moving.contains("(`taskset -acp CPUS 4713`;"), "{moving}");
        let (all, most, moving) = words(&[1, 40, 1, 50]);
        assert_eq!([all.as_str(), &most], ["sh (4 processes, mostly pids 4712, 4714)", "sh (2 processes)"]);
        assert!(moving.contains("(`echo 4712 4714 | xargs"), "{moving}");
        let numbered = |times: &[u64]| {
            let held: Vec<Held> =
                times.iter().zip(4711..).map(|(&ns, pid)| Held { by: process("sh", pid), ns }).collect();
            Holders::of(&held)[0].0.numbered(&held)
        };
        assert_eq!(numbered(&[1, 1, 60, 1]).as_deref(), Some("sh (pid 4713)"));
        assert_eq!(numbered(&[1, 40, 1, 50]).as_deref(), Some("sh (pids 4712, 4714)"));
        assert_eq!(numbered(&[1; 7]), None);
        let equal = words(&[1; 7]);
        assert_eq!([equal.0.as_str(), &equal.1], ["sh (7 processes)"; 2]);
        assert_eq!(words(&[0, 0]).0, "sh (2 processes)");
        let alone = words(&[1]);
        assert_eq!([alone.0.as_str(), &alone.1], ["sh (pid 4711)"; 2]);
    }

    #[test]
    fn the_first_process_is_not_among_others_of_its_name() {
        let held = [(process("systemd", 1), 2), (process("systemd", 800), 1)];
        assert_eq!(shown(&held), rows(&[("systemd (pid 1)", 2), ("systemd (pid 800)", 1)]));
    }
}
