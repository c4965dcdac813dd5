//! The plan of `netfathom message`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MS, Place, PlanError, S, Until, Wire, conflict, range, span};
use crate::layer::{Form, Layer, SocketOption};

/// The longest message of the library, and of what it is compared with.
const MOST_BYTES: u64 = 16 << 20;
/// The largest payload of a UDP datagram (IPv4), less the header of bare messages.
const MOST_DATAGRAM_BYTES: u64 = 65_507 - 4;
/// Each is a connection of its own, in each trial.
const MOST_CELLS: u64 = 2000;

/// What the two ends do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageTest {
    /// The client sends, the server reads.
    Oneway,
    /// The server sends each message back; the next one leaves when it is there.
    Pingpong,
    /// The server answers each small request with a bulk reply, to where the client wants it.
    Post,
}

named! { MessageTest: Oneway = "oneway", Pingpong = "pingpong", Post = "post" }

/// What is under the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// TCP.
    Tcp,
    /// UDP: a datagram a message.
    Udp,
    /// Unix stream sockets.
    Unix,
}

named! { Carrier: Tcp = "tcp", Udp = "udp", Unix = "unix" }

/// Which end runs in user space and which in the kernel, the client first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Placement {
    /// Both in user space.
    UU,
    /// The client in the kernel.
    KU,
    /// The server in the kernel.
    UK,
    /// Both in the kernel.
    KK,
}

named! { Placement: UU = "UU", KU = "KU", UK = "UK", KK = "KK" }

/// On which CPUs the ends run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessorChoice {
    /// Both on one.
    Same,
    /// Each on one of its own.
    Cross,
    /// Every kind of pair that this machine has: the same, siblings of a core, neighbors that
    /// share a cache, and those that share nothing.
    Sweep,
}

/// The plan of `netfathom message`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagePlan {
    /// What the ends do.
    pub test: MessageTest,
    /// Where they stand: the lab, loopback, or two hosts.
    pub place: Place,
    /// The path between the ends, in the lab; `None` where nothing but this machine limits it.
    pub path: Option<Wire>,
    /// What is under the messages.
    pub carrier: Carrier,
    /// Bytes of a message's body; of the reply, where the test is `post`.
    pub sizes_bytes: Vec<u64>,
    /// What carries the messages; the first one is what the others are compared with.
    pub layers: Vec<Layer>,
    /// Which ends are in the kernel.
    pub placements: Vec<Placement>,
    /// On which CPUs the ends run.
    pub processors: ProcessorChoice,
    /// CPUs to choose the pairs from; all that may be used if empty.
    pub cpus: Vec<usize>,
    /// Messages, round trips or replies of a trial, at least.
    pub messages: u64,
    /// A trial takes at least as long,
    pub least_ns: u64,
    /// and at most, even if it has not come to its messages.
    pub most_ns: u64,
    /// Open loop: messages leave at this rate, whatever becomes of those before; `None` for as fast
    /// as they go.
    pub rate_per_s: Option<f64>,
    /// Trials of each cell; with `until` the fewest.
    pub trials: u32,
    /// When the run ends; `None`: after a fixed number of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Decides the order of the cells.
    pub seed: u64,
    /// Whether remedies are measured where a stall is recognized.
    pub remedies: bool,
}

impl MessageTest {
    /// What is counted.
    pub fn counts(self) -> &'static str {
        match self {
            Self::Oneway => "messages",
            Self::Pingpong => "round trips",
            Self::Post => "replies",
        }
    }

    /// The paper's number of them (Lichota 2002, chapter 7).
    pub fn messages(self) -> u64 {
        match self {
            Self::Oneway => 50_000,
            Self::Pingpong => 5_000,
            Self::Post => 1_000,
        }
    }

    /// The paper's sizes in bytes (Lichota 2002, chapter 7).
    pub fn sizes_bytes(self) -> Vec<u64> {
        match self {
            Self::Oneway | Self::Pingpong => (2..=10).map(|n| 1 << n).collect(),
            Self::Post => (10..=16).map(|n| 1 << n).collect(),
        }
    }
}

impl Placement {
    /// Whether the client is in the kernel.
    pub fn kernel_client(self) -> bool {
        matches!(self, Self::KU | Self::KK)
    }

    /// Whether the server is in the kernel.
    pub fn kernel_server(self) -> bool {
        matches!(self, Self::UK | Self::KK)
    }
}

impl MessagePlan {
    /// The paper's test over TCP, both ends in user space, on every kind of pair of CPUs.
    pub fn paper(test: MessageTest, place: Place) -> Self {
        Self {
            test,
            place,
            path: None,
            carrier: Carrier::Tcp,
            sizes_bytes: test.sizes_bytes(),
            layers: Self::usual_layers(Carrier::Tcp, place, &[Placement::UU]),
            placements: vec![Placement::UU],
            processors: ProcessorChoice::Sweep,
            cpus: Vec::new(),
            messages: test.messages(),
            least_ns: 100_000_000,
            most_ns: 2_000_000_000,
            rate_per_s: None,
            trials: 5,
            until: None,
            seed: 0,
            remedies: true,
        }
    }

    /// Bare sockets in their three forms, and the library, as far as the carrier has them; in the
    /// lab both ways into the kernel, as far as ends are there.
    pub fn usual_layers(carrier: Carrier, place: Place, placements: &[Placement]) -> Vec<Layer> {
        let bare = |form, no_delay: bool| {
            let options = if no_delay { vec![(SocketOption::NoDelay, None)] } else { Vec::new() };
            Layer::Bare { form, options }
        };
        if carrier == Carrier::Udp {
            let in_driver = place == Place::Lab && placements.iter().any(|&p| p != Placement::UU);
            let xdp = in_driver.then(|| bare(Form::Xdp, false));
            return [bare(Form::Write, false), bare(Form::Writev, false)].into_iter().chain(xdp).collect();
        }
        let tcp = carrier == Carrier::Tcp;
        let mut layers: Vec<Layer> =
            [Form::Write, Form::Writev, Form::Two].into_iter().map(|form| bare(form, tcp)).collect();
        use crate::layer::Strategy::{Adaptive, Inline, Thread};
        layers.extend([Adaptive, Inline, Thread].map(|strategy| Layer::Library { strategy }));
        layers
    }

    /// Whether times are the result: rates say nothing of round trips, or where they were given.
    pub fn is_of_times(&self) -> bool {
        match self.test {
            MessageTest::Pingpong => true,
            MessageTest::Oneway => self.rate_per_s.is_some(),
            MessageTest::Post => false,
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        self.goes_together()?;
        let most = if self.carrier == Carrier::Udp { MOST_DATAGRAM_BYTES } else { MOST_BYTES };
        self.sizes_bytes.iter().try_for_each(|&bytes| range("sizes", bytes, 1, most))?;
        once("sizes", &self.sizes_bytes, u64::to_string)?;
        once("placement", &self.placements, |p| p.name().into())?;
        range("messages", self.messages, 1, 1_000_000_000)?;
        range("trials", self.trials.into(), 1, 100)?;
        self.until.map_or(Ok(()), Until::validated)?;
        span("min-time", self.least_ns, (0, 600 * S))?;
        span("max-time", self.most_ns, (10 * MS, 600 * S))?;
        if self.most_ns < self.least_ns {
            return conflict("--max-time is shorter than --min-time: a trial cannot take both");
        }
        if let Some(rate) = self.rate_per_s
            && !(1.0..=100e6).contains(&rate)
        {
            return conflict("--rate: choose from 1 to 100m messages a second");
        }
        let cells = self.sizes_bytes.len() * self.layers.len() * self.placements.len();
        range("sizes: times --layers and --placement,", cells as u64, 1, MOST_CELLS)?;
        Ok(self)
    }

    fn goes_together(&self) -> Result<(), PlanError> {
        match self.place {
            Place::Lab | Place::Loopback => {}
            Place::To(_) => self.between_hosts()?,
            Place::Listen(_) => return conflict("a server for messages is `netfathom message serve`"),
        }
        if let Some(path) = &self.path {
            if self.place != Place::Lab || self.carrier == Carrier::Unix {
                return conflict(
                    "--bandwidth and --delay are of a path between two hosts: choose --lab, and --over tcp or udp",
                );
            }
            path.clone().validated()?;
        }
        if self.test == MessageTest::Post && self.carrier == Carrier::Udp {
            return conflict("--over udp: a bulk reply is longer than a datagram; choose tcp or unix");
        }
        if self.test == MessageTest::Post && self.rate_per_s.is_some() {
            return conflict(
                "--rate: a reply is asked for when the last one is there; open loop is for oneway and pingpong",
            );
        }
        if self.carrier == Carrier::Unix && !self.is_all_user_space() {
            return conflict("--placement: an end in the kernel needs --over tcp or udp");
        }
        if self.rate_per_s.is_some() && self.placements.iter().any(|p| p.kernel_client()) {
            return conflict("--rate: a client in the kernel keeps no rate; choose --placement UU or UK");
        }
        if self.polls() && self.processors == ProcessorChoice::Same {
            return conflict("--cpu-pairs same: an end that polls needs a CPU of its own; choose cross");
        }
        once("layers", &self.layers, ToString::to_string)?;
        self.layers.iter().try_for_each(|layer| self.carries(layer))?;
        Ok(())
    }

    /// The same with ends that poll.
    ///
    /// # Errors
    /// The first layer that cannot: one of the library.
    pub fn polling(mut self) -> Result<Self, PlanError> {
        for layer in &mut self.layers {
            let Layer::Bare { options, .. } = layer else {
                return conflict(format!(
                    "--poll: {layer} sleeps until a message comes; leave it out of --layers"
                ));
            };
            options.retain(|(option, _)| *option != SocketOption::Poll);
            options.push((SocketOption::Poll, None));
        }
        Ok(self)
    }

    /// Whether an end of a layer polls.
    pub fn polls(&self) -> bool {
        self.layers.iter().any(Layer::polls)
    }

    fn between_hosts(&self) -> Result<(), PlanError> {
        let refused =
            |what, instead| conflict(format!("--to: {what} is for two ends on one host; {instead}"));
        if self.test == MessageTest::Oneway && self.rate_per_s.is_some() {
            return refused(
                "a rate one way, which needs one clock for its times,",
                "choose pingpong, or leave --rate out",
            );
        }
        if self.carrier == Carrier::Unix {
            return refused("a Unix socket", "choose --over tcp or udp");
        }
        if !self.is_all_user_space() {
            return refused(
                "an end in the kernel",
                "leave --placement out, or choose --lab in place of --to",
            );
        }
        if self.processors != ProcessorChoice::Sweep || self.cpus.len() > 1 {
            return refused(
                "a pair of CPUs",
                "leave --cpu-pairs out, name this end's CPU with --cpu, and the server's with \
                 `netfathom message serve --cpu`",
            );
        }
        Ok(())
    }

    fn is_all_user_space(&self) -> bool {
        self.placements.iter().all(|&placement| placement == Placement::UU)
    }

    fn carries(&self, layer: &Layer) -> Result<(), PlanError> {
        let tcp = self.carrier == Carrier::Tcp;
        match layer {
            Layer::Bare { form: Form::Two | Form::Sendmsg, .. } if self.carrier == Carrier::Udp => {
                conflict(format!(
                    "--layers {layer}: a datagram is written whole; choose write or writev, or --over tcp"
                ))
            }
            Layer::Bare { form: Form::Headerless, .. }
                if self.test == MessageTest::Post
                    || self.carrier == Carrier::Udp
                    || !self.is_all_user_space() =>
            {
                conflict(format!(
                    "--layers {layer}: for oneway and pingpong over tcp or unix, with both ends in user space"
                ))
            }
            Layer::Bare { form: Form::Sendfile, .. } if self.test != MessageTest::Oneway || !tcp => {
                conflict("--layers sendfile: many messages leave at once, which is for oneway over tcp only")
            }
            Layer::Bare { form: Form::Xdp, .. }
                if self.carrier != Carrier::Udp
                    || self.place != Place::Lab
                    || self.path.is_some()
                    || self.is_all_user_space() =>
            {
                conflict(
                    "--layers xdp: ends in the driver take datagrams, in the lab; choose --over udp --lab, and a \
                     --placement with an end in the kernel (KU, UK, KK), without --bandwidth and --delay",
                )
            }
            layer if layer.polls() && !(self.test == MessageTest::Pingpong && self.is_all_user_space()) => {
                conflict(format!("--layers {layer}: +poll is for pingpong, with both ends in user space"))
            }
            Layer::Bare { options, .. }
                if !tcp && options.iter().any(|(option, _)| *option != SocketOption::Poll) =>
            {
                conflict(format!(
                    "--layers {layer}: these are options of TCP; leave them out, or choose --over tcp"
                ))
            }
            Layer::Library { .. } if self.carrier == Carrier::Udp => {
                conflict(format!("--layers {layer}: the library needs a stream; choose --over tcp or unix"))
            }
            _ => Ok(()),
        }
    }
}

/// Two of the same would be one cell with twice the trials.
fn once<T: PartialEq>(flag: &str, all: &[T], name: impl Fn(&T) -> String) -> Result<(), PlanError> {
    let twice = all.iter().enumerate().find(|(index, value)| all[..*index].contains(value));
    twice.map_or(Ok(()), |(_, value)| {
        conflict(format!("--{flag}: {} is there twice: leave one out", name(value)))
    })
}

#[cfg(test)]
mod tests;
