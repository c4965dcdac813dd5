//! The measurements there are: the only list of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CapacityResult, CostResult, FleetResult, JoinResult, LoadResult, MessageResult, ReproduceResult,
    ReverseResult, StackResult, SweepResult, TransferResult, WatchResult,
};
use crate::plan::{Carrier, FleetTest, MessageTest, Transport};

/// What is known of a measurement before any is made.
#[derive(Debug)]
pub struct Entry {
    /// As it stands in the names of records.
    pub name: &'static str,
    /// The command that makes it, as it is typed.
    pub command: &'static str,
    /// Whether it sends messages of its own and measures nothing of other programs.
    pub own_messages: bool,
    /// What of its plan only says which quantities there are, or how long they are looked at: runs that differ in this
    /// can be compared.
    pub free: &'static [&'static str],
    /// What formats of others can hold of it, and the command that keeps it.
    pub exports: &'static [(Export, &'static str)],
}

/// What a record may have for a format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// Distributions of times, by bucket.
    Histograms,
    /// Values over the time of a trial.
    Series,
    /// The times of single messages.
    Samples,
    /// The stages of single messages, each from when to when.
    Traces,
    /// Bytes, calls and TCP's own account of each stream.
    Streams,
}

impl Export {
    /// The commands with runs that have it: `netfathom stack, load send and join`.
    #[must_use]
    pub fn commands(self) -> String {
        let has = |entry: &&Entry| {
            entry.exports.iter().find(|(export, _)| *export == self).map(|(_, typed)| *typed)
        };
        format!("netfathom {}", CATALOGUE.iter().filter_map(has).collect::<Vec<_>>().join(", "))
    }
}

/// The result of a measurement that has an entry.
pub trait Measured: Into<Measurement> {
    /// The entry.
    const ENTRY: &'static Entry;

    /// The result, if the measurement is of this kind.
    fn of(measurement: &Measurement) -> Option<&Self>;
}

macro_rules! measurements {
    ($($(#[$doc:meta])* $variant:ident($result:ty): $entry:expr,)*) => {
        /// The measurements there are; each brings its own plan and result.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case", tag = "kind")]
        pub enum Measurement {
            $($(#[$doc])* $variant(Box<$result>),)*
        }

        /// All of them, in the order in which they are listed.
        pub const CATALOGUE: &[&Entry] = &[$(<$result>::ENTRY),*];

        impl Measurement {
            /// What is known of all runs of its kind.
            pub fn entry(&self) -> &'static Entry {
                match self {
                    $(Self::$variant(_) => <$result>::ENTRY,)*
                }
            }
        }

        /// As a measurement stands in the names of records, by the `kind` that is in a record.
        #[must_use]
        pub fn name_of_kind(kind: &str) -> Option<&'static str> {
            let names = [$((stringify!($variant), <$result>::ENTRY.name)),*];
            names.into_iter().find(|(variant, _)| variant.eq_ignore_ascii_case(kind)).map(|(_, name)| name)
        }

        $(impl Measured for $result {
            const ENTRY: &'static Entry = &$entry;

            fn of(measurement: &Measurement) -> Option<&Self> {
                match measurement {
                    Measurement::$variant(result) => Some(result),
                    _ => None,
                }
            }
        }

        impl From<$result> for Measurement {
            fn from(result: $result) -> Self {
                Self::$variant(Box::new(result))
            }
        })*
    };
}

/// Sends messages of its own, and measures nothing of other programs.
const fn own(name: &'static str) -> Entry {
    Entry { own_messages: true, ..other(name) }
}

const fn other(name: &'static str) -> Entry {
    Entry { name, command: name, own_messages: false, free: &[], exports: &[] }
}

measurements! {
    /// `netfathom stack`
    Stack(StackResult): Entry {
        free: &["fits"],
        exports: &[(Export::Histograms, "stack"), (Export::Series, "stack"), (Export::Samples, "stack with --samples N"), (Export::Traces, "stack with --samples N")],
        ..own("stack")
    },
    /// `netfathom load send`
    Load(LoadResult): Entry {
        exports: &[(Export::Histograms, "load send"), (Export::Series, "load send")],
        ..own("load")
    },
    /// `netfathom capacity`
    Capacity(CapacityResult): Entry { free: &["engines", "workers"], ..own("capacity") },
    /// `netfathom reverse`
    Reverse(ReverseResult): Entry {
        free: &["variants"],
        exports: &[(Export::Series, "reverse")],
        ..own("reverse")
    },
    /// `netfathom join`
    Join(JoinResult): Entry {
        free: &["captures", "logs", "window"],
        exports: &[(Export::Histograms, "join"), (Export::Series, "join")],
        ..other("join")
    },
    /// `netfathom reproduce`
    Reproduce(ReproduceResult): Entry {
        free: &["tap"],
        exports: &[(Export::Histograms, "reproduce"), (Export::Series, "reproduce")],
        ..other("reproduce")
    },
    /// `netfathom ttcp`
    Transfer(TransferResult): Entry {
        free: &["interval_ns", "explain", "cost"],
        exports: &[(Export::Streams, "ttcp"), (Export::Series, "ttcp with --explain")],
        ..other("ttcp")
    },
    /// `netfathom ttcp sweep`
    Sweep(SweepResult): Entry {
        command: "ttcp sweep",
        free: &["socket_buffers_bytes", "writes_bytes", "no_delay"],
        ..other("sweep")
    },
    /// `netfathom message`
    Message(MessageResult): Entry {
        free: &["sizes_bytes", "layers", "placements", "processors", "messages", "least_ns", "most_ns", "remedies"],
        exports: &[(Export::Histograms, "message")],
        ..own("message")
    },
    /// `netfathom cost`
    Cost(CostResult): Entry {
        free: &["subject", "levels", "precision", "least_blocks", "most_blocks", "most_ns", "grace_ns", "controls"],
        ..other("cost")
    },
    /// `netfathom watch`
    Watch(WatchResult): Entry {
        free: &["target", "time_ns"],
        exports: &[(Export::Histograms, "watch"), (Export::Traces, "watch with --slow TIME")],
        ..other("watch")
    },
    /// `netfathom fleet`
    Fleet(FleetResult): Entry { free: &["hosts", "parallel", "peers", "explain"], ..own("fleet") },
}

impl Measurement {
    /// Whether its messages, or those of a program that it watches, may be of this protocol.
    pub fn may_be_over(&self, transport: Transport) -> bool {
        match self {
            Self::Stack(stack) => stack.plan.transport == transport,
            Self::Capacity(capacity) => capacity.plan.transport == transport,
            Self::Load(_) | Self::Reverse(_) | Self::Join(_) => transport == Transport::Udp,
            Self::Transfer(transfer) => transfer.plan.protocol == transport,
            Self::Sweep(_) => transport == Transport::Tcp,
            Self::Message(message) => match message.plan.carrier {
                Carrier::Tcp => transport == Transport::Tcp,
                Carrier::Udp => transport == Transport::Udp,
                Carrier::Unix => false,
            },
            Self::Fleet(fleet) => (fleet.plan.test == FleetTest::Throughput) == (transport == Transport::Tcp),
            Self::Reproduce(_) | Self::Cost(_) | Self::Watch(_) => true,
        }
    }

    /// Its name, as it stands in the names of records.
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// The command that made it, as it is typed.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Message(message) => match message.plan.test {
                MessageTest::Oneway => "message oneway",
                MessageTest::Pingpong => "message pingpong",
                MessageTest::Post => "message post",
            },
            Self::Fleet(fleet) => match fleet.plan.test {
                FleetTest::Throughput => "fleet mesh throughput",
                FleetTest::Latency => "fleet mesh latency",
                FleetTest::Loss => "fleet mesh loss",
                FleetTest::Load => "fleet load",
                FleetTest::Stack => "fleet stack",
                FleetTest::Capacity => "fleet capacity",
            },
            _ => self.entry().command,
        }
    }
}
