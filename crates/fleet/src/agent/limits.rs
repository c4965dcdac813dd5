//! What an agent does at most, whatever it is asked for.

use std::net::IpAddr;
use std::ops::Add;
use std::time::Duration;

use netfathom_measure::load::allow::{Allowed, Prefix};
use netfathom_model::message::HEADER_BYTES;
use netfathom_model::plan::FleetTest;
use netfathom_model::print;
use netfathom_model::units::format_duration;

use super::work::TRIALS;
use crate::wire::{Alone, Service, Task};

/// Controllers give starts by the agent's own clock, as they have read it: none is further ahead.
const MOST_AHEAD_NS: u64 = 30_000_000_000;
pub const CLOCK_WAS_SET: &str = "a clock was set since the controller read it; measure again";
/// A start that was is missed; a little is how late a busy host reads its orders.
const MOST_LATE_NS: u64 = 50_000_000;
const MOST_STREAMS: u16 = 64;
/// Of each connection: what a transfer can be paced to at least.
const LEAST_BITS_PER_S: u64 = 8_000;
/// For orders to all hosts and connecting before the time of a task, and for what is under way after it.
const AROUND: Duration = Duration::from_secs(40);

#[derive(Clone, Debug)]
pub struct Limits {
    /// Networks that may be loaded besides private ones.
    pub allow: Vec<Prefix>,
    pub most_time_ns: u64,
    pub most_rate_per_s: f64,
    /// Bits a second of a transfer.
    pub most_bits_per_s: Option<u64>,
    /// What it takes part in; empty is everything.
    pub takes: Vec<FleetTest>,
}

/// What an agent sends at a time, by its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sends {
    pub rate_per_s: f64,
    pub transfers: u32,
    /// Comparisons of clocks, and answers to them.
    pub clocks: u32,
}

impl Sends {
    pub fn of(task: &Task) -> Self {
        match task {
            Task::Load { rate_per_s, .. }
            | Task::Alone { what: Alone::Stack, rate_per_s, .. }
            | Task::Serve { what: Service::Load { test: FleetTest::Latency, rate_per_s, .. }, .. } => {
                Self { rate_per_s: *rate_per_s, ..Self::default() }
            }
            Task::Transfer { .. } => Self { transfers: 1, ..Self::default() },
            Task::Compare { .. } | Task::Serve { what: Service::Clock, .. } => {
                Self { clocks: 1, ..Self::default() }
            }
            Task::Alone { .. } | Task::Serve { .. } | Task::Rest => Self::default(),
        }
    }
}

impl Add for Sends {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            rate_per_s: self.rate_per_s + other.rate_per_s,
            transfers: self.transfers + other.transfers,
            clocks: self.clocks + other.clocks,
        }
    }
}

impl Limits {
    /// What it does not take part in, and why.
    pub fn lacks(&self) -> Vec<(String, String)> {
        let not = FleetTest::ALL.into_iter().filter(|test| !self.takes(*test));
        not.map(|test| (test.name().into(), "its --take does not name it".into())).collect()
    }

    fn takes(&self, test: FleetTest) -> bool {
        self.takes.is_empty() || self.takes.contains(&test)
    }

    /// How long a task may go on.
    pub fn time_of(&self, task: &Task) -> Duration {
        let ns = match task {
            // The controller's time includes what is around, and it waits as long.
            Task::Serve { most_ns, .. } => {
                return Duration::from_nanos(*most_ns).min(Duration::from_nanos(self.most_time_ns) + AROUND);
            }
            // Trials, searches and what is between them.
            Task::Alone { time_ns, .. } => time_ns.saturating_mul(100).min(600_000_000_000),
            Task::Transfer { time_ns, .. } | Task::Load { time_ns, .. } => *time_ns,
            Task::Compare { .. } | Task::Rest => 0,
        };
        Duration::from_nanos(ns) + AROUND
    }

    /// Whether a task is within them beside what it sends already, messages a second and transfers; why not.
    pub fn admit(&self, task: &Task, sends: &Sends, now_utc_ns: u64) -> Result<(), String> {
        if let Some(test) = measured(task)?.filter(|test| !self.takes(*test)) {
            return Err(format!("it does not take part in {}: its --take does not name it", test.name()));
        }
        if Sends::of(task).clocks > 0 && sends.clocks > 0 {
            return Err("it compares clocks already".into());
        }
        let (to, start_utc_ns, time_ns): (Option<IpAddr>, Option<u64>, u64) = match task {
            Task::Rest | Task::Serve { what: Service::Clock, .. } => return Ok(()),
            Task::Serve { what: Service::Transfer { streams, .. }, .. } => {
                self.streams(*streams)?;
                (None, None, 0)
            }
            Task::Serve { what: Service::Load { test, rate_per_s, .. }, .. } => {
                if *test == FleetTest::Latency {
                    self.rate(*rate_per_s, sends.rate_per_s)?;
                }
                (None, None, 0)
            }
            Task::Compare { with } => return self.to(with.ip()),
            Task::Transfer { to, start_utc_ns, time_ns, streams, .. } => {
                self.streams(*streams)?;
                if sends.transfers > 0 {
                    return Err("it sends another transfer".into());
                }
                self.bits(*streams)?;
                (Some(to.ip()), Some(*start_utc_ns), *time_ns)
            }
            Task::Load { to, start_utc_ns, time_ns, rate_per_s, size_bytes, .. } => {
                self.rate(*rate_per_s, sends.rate_per_s)?;
                is_size(*size_bytes)?;
                (Some(to.ip()), Some(*start_utc_ns), *time_ns)
            }
            Task::Alone { what: Alone::Stack, time_ns, rate_per_s, size_bytes, .. } => {
                self.rate(*rate_per_s, sends.rate_per_s)?;
                is_size(*size_bytes)?;
                (None, None, time_ns.saturating_mul(TRIALS.into()))
            }
            // It searches between namespaces of its own, in steps of that time.
            Task::Alone { what: Alone::Capacity, time_ns, size_bytes, .. } => {
                is_size(*size_bytes)?;
                (None, None, *time_ns)
            }
        };
        if time_ns > self.most_time_ns {
            // Three digits could hide by how much.
            let [asked, most] = [time_ns, self.most_time_ns].map(format_duration);
            return Err(format!("{asked} is longer than its --max-time {most}"));
        }
        start_utc_ns.map_or(Ok(()), |start| in_time(start, now_utc_ns))?;
        to.map_or(Ok(()), |to| self.to(to))
    }

    fn to(&self, to: IpAddr) -> Result<(), String> {
        Allowed::new(&self.allow).check(to).map_err(|refusal| refusal.to_string())
    }

    fn streams(&self, streams: u16) -> Result<(), String> {
        if (1..=MOST_STREAMS).contains(&streams) {
            return Ok(());
        }
        Err(format!("it takes 1 to {MOST_STREAMS} connections, not {streams}"))
    }

    /// What a transfer may send is divided among its connections.
    fn bits(&self, streams: u16) -> Result<(), String> {
        match self.most_bits_per_s {
            Some(bits) if bits / u64::from(streams) < LEAST_BITS_PER_S => {
                Err(format!("its --max-bits {bits} is too little for {streams} connections"))
            }
            _ => Ok(()),
        }
    }

    fn rate(&self, rate_per_s: f64, others_per_s: f64) -> Result<(), String> {
        // A NaN is within nothing.
        if !(1.0..=self.most_rate_per_s - others_per_s).contains(&rate_per_s) {
            let (asked, most) = (print::rate(rate_per_s), print::rate(self.most_rate_per_s));
            let beside = if others_per_s > 0.0 {
                format!(" beside the {} that it sends", print::rate(others_per_s))
            } else {
                String::new()
            };
            return Err(format!("{asked}{beside} is not within its --max-rate {most}"));
        }
        Ok(())
    }
}

/// What a task is part of; an error if no measurement has such a one.
fn measured(task: &Task) -> Result<Option<FleetTest>, String> {
    match task {
        Task::Rest | Task::Compare { .. } | Task::Serve { what: Service::Clock, .. } => Ok(None),
        Task::Transfer { .. } | Task::Serve { what: Service::Transfer { .. }, .. } => {
            Ok(Some(FleetTest::Throughput))
        }
        Task::Alone { what: Alone::Stack, .. } => Ok(Some(FleetTest::Stack)),
        Task::Alone { what: Alone::Capacity, .. } => Ok(Some(FleetTest::Capacity)),
        Task::Load { test, .. } | Task::Serve { what: Service::Load { test, .. }, .. } => match test {
            FleetTest::Latency | FleetTest::Loss | FleetTest::Load => Ok(Some(*test)),
            other => Err(format!("{} is not measured by messages", other.name())),
        },
    }
}

fn is_size(bytes: usize) -> Result<(), String> {
    let is_one = (HEADER_BYTES..=65_507).contains(&bytes);
    is_one.then_some(()).ok_or_else(|| format!("no message has {bytes} bytes"))
}

fn in_time(start_utc_ns: u64, now_utc_ns: u64) -> Result<(), String> {
    let apart_ns = start_utc_ns.abs_diff(now_utc_ns);
    let (is_ahead, apart) = (start_utc_ns > now_utc_ns, print::time(apart_ns as f64));
    match apart_ns {
        MOST_AHEAD_NS.. if is_ahead => {
            Err(format!("its start is from the future, {apart} ahead: {CLOCK_WAS_SET}"))
        }
        MOST_LATE_NS.. if !is_ahead => Err(format!("the order came {apart} after its start")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000_000;

    fn limits() -> Limits {
        Limits {
            allow: Vec::new(),
            most_time_ns: 2_000_000_000,
            most_rate_per_s: 1e4,
            most_bits_per_s: None,
            takes: vec![FleetTest::Load, FleetTest::Throughput],
        }
    }

    fn load(to: &str, rate_per_s: f64, time_ns: u64, ahead_ns: i64) -> Task {
        let start_utc_ns = NOW.saturating_add_signed(ahead_ns);
        let (test, to) = (FleetTest::Load, to.parse().unwrap());
        Task::Load { test, to, start_utc_ns, time_ns, rate_per_s, size_bytes: 64 }
    }

    #[test]
    fn no_order_leads_beyond_them() {
        let cases: [(Task, &str); 10] = [
            (load("203.0.113.7:9", 1e3, 1, 0), "not an address of a private"),
            (load("224.0.0.1:9", 1e3, 1, 0), "multicast"),
            (load("10.0.0.1:9", 1e5, 1, 0), "--max-rate"),
            (load("10.0.0.1:9", f64::NAN, 1, 0), "--max-rate"),
            (load("10.0.0.1:9", 1e3, 2_001_000_000, 0), "2.001s is longer than its --max-time 2s"),
            (load("10.0.0.1:9", 1e3, 1, i64::MAX), "future"),
            (load("10.0.0.1:9", 1e3, u64::MAX, 0), "us is longer than its --max-time 2s"),
            (load("10.0.0.1:9", 1e3, 1, -60_000_000), "came 60.0 ms after its start"),
            (load("10.0.0.1:9", 1e3, 1, i64::MIN), "came 1,000 s after its start"),
            (
                Task::Alone { what: Alone::Stack, time_ns: 1, rate_per_s: 1e3, size_bytes: 64 },
                "does not take part in stack",
            ),
        ];
        for (task, reason) in cases {
            let why = limits().admit(&task, &Sends::default(), NOW).unwrap_err();
            assert!(why.contains(reason), "{why}");
        }
        // Ten of them are all that it sends at a time.
        let task = load("10.0.0.1:9", 1e3, 1_000_000_000, 1_000_000);
        let beside = |rate_per_s| limits().admit(&task, &Sends { rate_per_s, ..Sends::default() }, NOW);
        assert_eq!([beside(0.0), beside(9e3)], [Ok(()), Ok(())]);
        assert!(
            beside(9.5e3).unwrap_err().contains("beside the 9.50k/s that it sends"),
            "{:?}",
            beside(9.5e3)
        );
        let transfer = Task::Transfer {
            to: "10.0.0.1:9".parse().unwrap(),
            start_utc_ns: NOW,
            time_ns: 1_000_000_000,
            streams: 1,
            explain: false,
        };
        let beside = |transfers| limits().admit(&transfer, &Sends { transfers, ..Sends::default() }, NOW);
        assert!(beside(0).is_ok() && beside(1).is_err());
        let slow = Limits { most_bits_per_s: Some(1000), ..limits() };
        assert!(slow.admit(&transfer, &Sends::default(), NOW).unwrap_err().contains("--max-bits"));
    }

    #[test]
    fn what_it_sends_back_and_all_trials_count() {
        let serve = |test, rate_per_s| Task::Serve {
            what: Service::Load { test, rate_per_s, stages: false },
            most_ns: 1,
        };
        let latency = Limits { takes: vec![FleetTest::Latency], ..limits() };
        let why = |task: &Task| latency.admit(task, &Sends::default(), NOW).unwrap_err();
        assert!(why(&serve(FleetTest::Latency, 1e5)).contains("--max-rate"));
        assert!(why(&serve(FleetTest::Loss, 1e5)).contains("does not take part in loss"));
        assert!(why(&serve(FleetTest::Stack, 1e3)).contains("is not measured by messages"));
        let echo = serve(FleetTest::Latency, 6e3);
        assert_eq!(latency.admit(&echo, &Sends::default(), NOW), Ok(()));
        assert!(latency.admit(&echo, &Sends::of(&echo), NOW).unwrap_err().contains("beside the 6.00k/s"));
        // A search has no rate that could take from those of others.
        let search =
            |rate_per_s| Task::Alone { what: Alone::Capacity, time_ns: 1, rate_per_s, size_bytes: 64 };
        assert_eq!(Sends::of(&search(-1e300)), Sends::default());
        let compare = Task::Compare { with: "10.0.0.1:9".parse().unwrap() };
        assert_eq!(limits().admit(&compare, &Sends::default(), NOW), Ok(()));
        assert!(limits().admit(&compare, &Sends::of(&compare), NOW).unwrap_err().contains("already"));
        let stack = Limits { takes: vec![FleetTest::Stack], ..limits() };
        let trials = |time_ns| Task::Alone { what: Alone::Stack, time_ns, rate_per_s: 1e3, size_bytes: 64 };
        assert_eq!(stack.admit(&trials(400_000_000), &Sends::default(), NOW), Ok(()));
        assert!(
            stack.admit(&trials(500_000_000), &Sends::default(), NOW).unwrap_err().contains("--max-time")
        );
    }
}
