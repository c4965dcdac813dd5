//! The plan of `netfathom stack`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load::MOST_WORKERS;
use super::{Family, MS, Place, PlanError, Transport, US, Until, conflict, range, size, span};
use crate::path::{Direction, Tap};
use crate::profile::Profile;

/// Which tap was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TapChoice {
    /// The best that works here; the report names what was left out.
    Auto,
    /// This one or none.
    Only(Tap),
    /// The best that works here, and all others beside it on the same load.
    All,
}

/// What the bpf tap takes times at: less takes less of the time itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageSet {
    /// The link layer alone.
    Total,
    /// All but what the reader's thread does meanwhile.
    Path,
    /// Every stage.
    #[default]
    All,
}

named! { StageSet: Total = "total", Path = "path", All = "all" }

impl StageSet {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// How the pcap tap captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcapPlan {
    /// By Debian's tcpdump instead of netfathom's own reader of the packet ring.
    pub tcpdump: bool,
    /// Whether captures and logs stay in the run's directory.
    pub keep: bool,
}

/// The plan of `netfathom stack`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackPlan {
    /// The directions to measure, in order.
    pub directions: Vec<Direction>,
    /// Where.
    pub place: Place,
    /// IPv4 or IPv6.
    pub family: Family,
    /// UDP or TCP.
    pub transport: Transport,
    /// The rate over one trial.
    pub profile: Profile,
    /// Whether the peak of the profile, a ramp, may be lowered to what leaves on schedule.
    pub fits: bool,
    /// Trials with the tap. With `until` this and the next two are the fewest of each kind, and its part of those that
    /// follow.
    pub trials: u32,
    /// Baseline trials, without any tap, interleaved: they measure its overhead.
    #[serde(rename = "controls")]
    pub baselines: u32,
    /// Trials with another tap, interleaved: the cross-check.
    #[serde(rename = "witnesses")]
    pub cross_checks: u32,
    /// When the run ends; `None`: after a fixed number of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The tap asked for.
    pub tap: TapChoice,
    /// The stages of the bpf tap.
    #[serde(default, skip_serializing_if = "StageSet::is_all")]
    pub stages: StageSet,
    /// How the pcap tap captures.
    pub pcap: PcapPlan,
    /// Payload of a datagram, or bytes in the stream.
    pub size_bytes: usize,
    /// Messages to keep raw, all trials together; 0 for none.
    pub samples: u32,
    /// Seeds the poisson profile and the choice of samples.
    pub seed: u64,
    /// Senders at the same time; they share the profile message by message.
    pub workers: u32,
    /// Whether each sender is a process of its own: only a capture sees its messages. Else they are threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub processes: bool,
    /// The CPU of the sender and of the reader; `None` leaves the choice to netfathom.
    pub cpus: Option<(usize, usize)>,
    /// UDP port of the reader; 0 takes a free one.
    pub port: u16,
    /// Whether the reader polls its socket without pause instead of sleeping in its receive
    /// call: no wake-ups, at the price of a CPU.
    pub reader_polls: bool,
    /// What the reader idles after each message: a known delay, to prove the stages.
    pub reader_delay_ns: u64,
    /// What a kernel program idles on each message, to prove the stages.
    pub inserted_delay: Option<InsertedDelay>,
    /// Addresses and ranges (`ADDR/LEN`) that load may go to beside private and test networks.
    pub allow: Vec<String>,
}

/// A delay that a tc program inserts on the path, to prove that it is found where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InsertedDelay {
    /// Out: on the egress of the sender's device. In: on the ingress of the reader's.
    pub direction: Direction,
    /// How long, per message.
    pub delay_ns: u32,
}

impl StackPlan {
    /// The smallest plan: one trial in the lab, both ways, with the bpf tap. Others are
    /// made from it by changing what is to be different.
    pub fn one_trial(profile: Profile) -> Self {
        Self {
            directions: vec![Direction::Tx, Direction::Rx],
            place: Place::Lab,
            family: Family::Ipv4,
            transport: Transport::Udp,
            profile,
            fits: false,
            trials: 1,
            baselines: 0,
            cross_checks: 0,
            until: None,
            tap: TapChoice::Only(Tap::Bpf),
            stages: StageSet::All,
            pcap: PcapPlan::default(),
            size_bytes: 64,
            samples: 0,
            seed: 1,
            workers: 1,
            processes: false,
            cpus: None,
            port: 0,
            reader_polls: false,
            reader_delay_ns: 0,
            inserted_delay: None,
            allow: Vec::new(),
        }
    }

    /// Checks what the types do not; every other method may rely on it.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        size(self.size_bytes, self.place, self.family, self.transport)?;
        range("workers", self.workers.into(), 1, MOST_WORKERS.into())?;
        range("trials", self.trials.into(), 1, 1000)?;
        range("baselines", self.baselines.into(), 0, 1000)?;
        range("cross-checks", self.cross_checks.into(), 0, 1000)?;
        range("samples", self.samples.into(), 0, 10_000_000)?;
        self.until.map_or(Ok(()), Until::validated)?;
        span("reader-delay", self.reader_delay_ns, (0, 100 * MS))?;
        if self.pcap != PcapPlan::default()
            && !matches!(self.tap, TapChoice::Only(Tap::Pcap) | TapChoice::All)
        {
            return conflict(
                "--tcpdump and --keep-captures are for the pcap tap: add --tap pcap, or --tap all",
            );
        }
        if self.stages != StageSet::All && !matches!(self.tap, TapChoice::Auto | TapChoice::Only(Tap::Bpf)) {
            return conflict("--stages chooses the hooks of the bpf tap: leave --tap out, or use --tap bpf");
        }
        if self.stages != StageSet::All && self.transport == Transport::Tcp {
            return conflict("--stages is for UDP: leave it out, or use --transport udp");
        }
        if self.samples > 0 && matches!(self.tap, TapChoice::Only(Tap::Timestamping | Tap::Pcap)) {
            return conflict(
                "--samples keeps the times of single messages, which only the bpf tap has: leave --tap out",
            );
        }
        if let Some(delay) = self.inserted_delay {
            span("insert-delay", delay.delay_ns.into(), (US, MS))?;
            if self.place != Place::Lab {
                return conflict(
                    "--insert-delay puts a program on a network device, which only the lab's own devices allow: add --lab",
                );
            }
        }
        self.fits_its_place()?;
        self.fits_its_transport()?;
        Ok(self)
    }

    /// Of two hosts only one is this one: nothing can be asked of the other.
    fn fits_its_place(&self) -> Result<(), PlanError> {
        if self.until.is_some() && matches!(self.place, Place::Listen(_)) {
            return conflict(
                "--listen names the number of trials to the sender's host: use --trials, not --precision or --time-limit",
            );
        }
        let captured = self.tap == TapChoice::Only(Tap::Pcap) && self.cross_checks == 0;
        if self.processes && !(captured && matches!(self.place, Place::Lab | Place::Loopback)) {
            return conflict(
                "senders that are processes need the pcap tap alone, and the reader on this host",
            );
        }
        let (address, sees) = match self.place {
            Place::Lab | Place::Loopback => return Ok(()),
            Place::To(address) => (address, Direction::Tx),
            Place::Listen(address) => (address, Direction::Rx),
        };
        if self.directions != [sees] {
            return conflict(match sees {
                Direction::Tx => {
                    "--to measures the way out of this host alone: use `netfathom stack tx --to ADDR:PORT`, and \
                     `netfathom stack rx --listen ADDR:PORT` for the way in"
                }
                Direction::Rx => {
                    "--listen measures the way into this host alone: use `netfathom stack rx --listen ADDR:PORT`, \
                     and `netfathom stack tx --to ADDR:PORT` for the way out"
                }
            });
        }
        if address.is_ipv6() != (self.family == Family::Ipv6) {
            return conflict(match self.family {
                Family::Ipv4 => "the address is one of IPv6: add --ipv6",
                Family::Ipv6 => "--ipv6 needs an address of IPv6, such as [fd00::1]:7000",
            });
        }
        if sees == Direction::Tx && (self.reader_polls || self.reader_delay_ns > 0) {
            return conflict(
                "--poll and --reader-delay are for a reader on this host: leave them out with --to",
            );
        }
        Ok(())
    }

    /// What is of datagrams alone.
    fn fits_its_transport(&self) -> Result<(), PlanError> {
        if self.transport == Transport::Udp {
            return Ok(());
        }
        if !matches!(self.place, Place::Lab | Place::Loopback) {
            return conflict("--transport tcp has both ends on this host: leave out --to and --listen");
        }
        if self.workers > 1 {
            return conflict("--transport tcp times the connection of one sender: leave out --workers");
        }
        if self.reader_polls {
            return conflict("--poll takes whole datagrams: leave it out with --transport tcp");
        }
        if let TapChoice::Only(tap @ (Tap::Pcap | Tap::Fentry)) = self.tap {
            let text = format!(
                "--tap {}: it knows datagrams alone; with --transport tcp use --tap bpf or --tap timestamping",
                tap.name()
            );
            return conflict(text);
        }
        Ok(())
    }

    /// The most measured trials that there can be.
    pub fn most_trials(&self) -> u32 {
        let within = |until: Until| (until.time_limit_ns / self.profile.duration_ns().max(1)) as u32;
        self.until.map_or(self.trials, within).max(self.trials)
    }

    /// Whether a direction is to be measured.
    pub fn measures(&self, direction: Direction) -> bool {
        self.directions.contains(&direction)
    }
}

#[cfg(test)]
mod tests {
    use super::super::S;
    use super::*;

    fn plan() -> StackPlan {
        StackPlan::one_trial("ramp:1k..2k/1s".parse().unwrap())
    }

    fn refusal(change: impl Fn(&mut StackPlan)) -> String {
        let mut p = plan();
        change(&mut p);
        p.validated().unwrap_err().to_string()
    }

    #[test]
    fn a_sane_plan_stands() {
        assert_eq!(plan().validated(), Ok(plan()));
    }

    #[test]
    fn sizes_are_bounded_by_header_and_mtu() {
        assert!(refusal(|p| p.size_bytes = 31).contains("at least 32"));
        assert!(refusal(|p| p.size_bytes = 1473).contains("1472"));
        assert!(
            refusal(|p| {
                p.family = Family::Ipv6;
                p.size_bytes = 1453;
            })
            .contains("1452")
        );
    }

    #[test]
    fn processes_are_followed_by_a_capture_alone() {
        let mut sane = plan();
        (sane.processes, sane.tap) = (true, TapChoice::Only(Tap::Pcap));
        assert!(sane.clone().validated().is_ok());
        assert!(refusal(|p| p.processes = true).contains("pcap tap alone"));
        assert!(refusal(|p| *p = StackPlan { cross_checks: 1, ..sane.clone() }).contains("pcap tap alone"));
    }

    #[test]
    fn counts_are_bounded() {
        assert!(refusal(|p| p.trials = 0).contains("1 to 1000"));
        assert!(
            refusal(|p| {
                p.place = Place::Loopback;
                p.inserted_delay = Some(InsertedDelay { direction: Direction::Tx, delay_ns: 20_000 });
            })
            .contains("--lab")
        );
    }

    #[test]
    fn a_precision_is_one_that_intervals_can_keep() {
        let until = |precision, time_limit_ns| Some(Until { precision, time_limit_ns });
        let of_another_tap =
            |p: &mut StackPlan| (p.stages, p.tap) = (StageSet::Path, TapChoice::Only(Tap::Pcap));
        assert!(refusal(of_another_tap).contains("--tap bpf"));
        let over_tcp = |p: &mut StackPlan| (p.stages, p.transport) = (StageSet::Path, Transport::Tcp);
        assert!(refusal(over_tcp).contains("--transport udp"));
        assert!(refusal(|p| p.until = until(0.3, S)).contains("0.1% to 20%"));
        assert!(refusal(|p| p.until = until(f64::NAN, S)).contains("--precision"));
        assert!(refusal(|p| p.until = until(0.05, S / 2)).contains("--time-limit 500ms"));
        let listening = |p: &mut StackPlan| {
            p.place = Place::Listen("10.0.0.1:7000".parse().unwrap());
            p.directions = vec![Direction::Rx];
            p.until = until(0.05, S);
        };
        assert!(refusal(listening).contains("--trials"));
        let lasting = StackPlan { until: until(0.05, 30 * S), ..plan() };
        assert_eq!((lasting.validated().unwrap().most_trials(), plan().most_trials()), (30, 1));
    }

    #[test]
    fn of_two_hosts_only_this_one_is_measured() {
        let address = "10.0.0.1:7000".parse().unwrap();
        for (place, way, flag) in [
            (Place::To(address), Direction::Tx, "stack tx --to"),
            (Place::Listen(address), Direction::Rx, "stack rx --listen"),
        ] {
            let at = |p: &mut StackPlan| p.place = place;
            assert!(refusal(at).contains(flag));
            let one_way = |p: &mut StackPlan| {
                at(p);
                p.directions = vec![way];
            };
            let mut sane = plan();
            one_way(&mut sane);
            assert!(sane.validated().is_ok());
            let ipv6 = |p: &mut StackPlan| {
                one_way(p);
                p.family = Family::Ipv6;
            };
            assert!(refusal(ipv6).contains("--ipv6"));
        }
        let idles = |p: &mut StackPlan| {
            p.place = Place::To(address);
            p.directions = vec![Direction::Tx];
            p.reader_delay_ns = 1000;
        };
        assert!(refusal(idles).contains("--reader-delay"));
    }
}
