//! What is to be measured, validated: nothing in a plan can still be wrong by form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::HEADER_BYTES;
use crate::path::{Direction, Tap};
use crate::profile::Profile;

/// Where the two ends of a measurement stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Two network namespaces of our own, joined by a veth pair.
    Lab,
    /// The loopback device of this host.
    Loopback,
}

impl Place {
    /// As it is written in tables and flags.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Loopback => "loopback",
        }
    }

    /// The largest packet that is never split, headers of IP included.
    #[must_use]
    pub fn mtu(self) -> usize {
        match self {
            Self::Lab => 1500,
            // The loopback device has 65536, but above 15 KiB the kernel puts a message
            // into pages where the hooks cannot read who it is.
            Self::Loopback => 15_000,
        }
    }
}

/// The version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// IP version 4.
    Ipv4,
    /// IP version 6.
    Ipv6,
}

impl Family {
    /// Bytes of the IP and UDP headers.
    #[must_use]
    pub fn header_bytes(self) -> usize {
        match self {
            Self::Ipv4 => 20 + 8,
            Self::Ipv6 => 40 + 8,
        }
    }
}

/// Which tap was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TapChoice {
    /// The best that works here; what was left out is said.
    Auto,
    /// This one or none.
    Only(Tap),
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
    /// The rate over one trial.
    pub profile: Profile,
    /// Trials with the tap.
    pub trials: u32,
    /// Trials without any tap, interleaved: the ruler's own cost.
    pub controls: u32,
    /// Trials with the other tap, interleaved: the second witness.
    pub witnesses: u32,
    /// The tap asked for.
    pub tap: TapChoice,
    /// UDP payload.
    pub size_bytes: usize,
    /// Messages to keep raw, all trials together; 0 for none.
    pub samples: u32,
    /// Seeds the flow numbers and the choice of samples.
    pub seed: u64,
    /// The processor of the sender and of the reader; `None` leaves the choice to netfathom.
    pub cpus: Option<(usize, usize)>,
    /// UDP port of the reader; 0 takes a free one.
    pub port: u16,
    /// Whether the reader polls its socket without pause instead of sleeping in its receive
    /// call: no wake-ups, at the price of a processor.
    #[serde(default)]
    pub reader_polls: bool,
    /// What the reader idles after each message: a known delay, to prove the stages.
    pub reader_delay_ns: u64,
    /// What a kernel program idles on each message, to prove the stages.
    pub inserted_delay: Option<InsertedDelay>,
}

/// A delay that a tc program inserts on the path, to prove that it is found where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InsertedDelay {
    /// Out: on the egress of the sender's device. In: on the ingress of the reader's.
    pub direction: Direction,
    /// How long, per message.
    pub delay_ns: u32,
}

/// Why something cannot be a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Smaller than what a message must carry.
    #[error(
        "--size {size}: a message carries {HEADER_BYTES} bytes of its own; choose at least {HEADER_BYTES}"
    )]
    SizeBelowHeader {
        /// As asked for.
        size: usize,
    },
    /// Would be split into fragments.
    #[error("--size {size}: beyond the MTU of the {place}, where at most {most} bytes of payload fit into one packet", place = .place.name())]
    SizeBeyondMtu {
        /// As asked for.
        size: usize,
        /// The most that fits.
        most: usize,
        /// Where.
        place: Place,
    },
    /// A number out of its range.
    #[error("--{flag} {value}: choose from {least} to {most}")]
    Range {
        /// The flag.
        flag: &'static str,
        /// As asked for.
        value: u64,
        /// Smallest that can be.
        least: u64,
        /// Largest that can be.
        most: u64,
    },
    /// Only the lab's devices are ours to put programs on.
    #[error(
        "--insert-delay puts a program on a network device, which only the lab's own devices allow: add --lab"
    )]
    DelayOutsideLab,
}

impl StackPlan {
    /// Checks what the types do not; every other method may rely on it.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        let most = self.place.mtu() - self.family.header_bytes();
        let size = self.size_bytes;
        if size < HEADER_BYTES {
            return Err(PlanError::SizeBelowHeader { size });
        }
        if size > most {
            return Err(PlanError::SizeBeyondMtu { size, most, place: self.place });
        }
        range("trials", self.trials.into(), 1, 1000)?;
        range("controls", self.controls.into(), 0, 1000)?;
        range("witnesses", self.witnesses.into(), 0, 1000)?;
        range("samples", self.samples.into(), 0, 10_000_000)?;
        range("reader-delay (ns)", self.reader_delay_ns, 0, 100_000_000)?;
        if let Some(delay) = self.inserted_delay {
            range("insert-delay (ns)", delay.delay_ns.into(), 1_000, 1_000_000)?;
            if self.place != Place::Lab {
                return Err(PlanError::DelayOutsideLab);
            }
        }
        Ok(self)
    }

    /// Whether a direction is to be measured.
    #[must_use]
    pub fn measures(&self, direction: Direction) -> bool {
        self.directions.contains(&direction)
    }
}

fn range(flag: &'static str, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(PlanError::Range { flag, value, least, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> StackPlan {
        StackPlan {
            directions: vec![Direction::Tx],
            place: Place::Lab,
            family: Family::Ipv4,
            profile: "ramp:1k..2k/1s".parse().unwrap(),
            trials: 1,
            controls: 0,
            witnesses: 0,
            tap: TapChoice::Auto,
            size_bytes: 64,
            samples: 0,
            seed: 0,
            cpus: None,
            port: 0,
            reader_polls: false,
            reader_delay_ns: 0,
            inserted_delay: None,
        }
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
}
