//! What the looks at a stream say, as shares of its time.

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{CallTimes, TransferSample, TransferStream};

use super::queue::{QueueState, standing, unread, waiting};
use super::text::percent;
use crate::kind::transfer::median;

/// A pause of this length is a delayed ACK, not a round trip: Linux delays for 40 ms (TCP_DELACK_MIN),
/// other systems for up to 200 ms. A shorter pause may come from a busy machine.
const DELAYED_ACK_NS: std::ops::RangeInclusive<u64> = 30_000_000..=260_000_000;
/// A typical delay, for estimates from calls alone.
const DELAYED_ACK_CALL_NS: u64 = 40_000_000;
/// Looks this far apart see too little of 40 ms.
const FAR_APART_NS: u64 = 10_000_000;
/// A wait must exceed this many round trips.
const ROUND_TRIPS: u64 = 3;
/// What comes in a round trip is the window, less what the kernel keeps back.
const FILLS_WINDOW: f64 = 0.6;
/// A rate that grows does so by more than this from one third of the time to the next.
const GROWS: f64 = 1.2;

/// Shares of the time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Facts {
    pub watched_ns: u64,
    pub looks: usize,
    /// Between one look and the next, as a rule.
    pub period_ns: u64,
    /// The sender takes its data from a file: waiting for the disk is part of its calls on the
    /// socket.
    pub of_file: bool,
    /// Nothing was in the socket's queue; of a file, also where all was sent and there was room.
    pub empty: f64,
    /// All that was in the queue was under way.
    pub all_sent: f64,
    /// Of that, the time in which nothing moved for as long as an ACK is delayed.
    pub delayed_ack: f64,
    /// Less than a segment was held back while another was under way, and the program gave nothing
    /// more until it went.
    pub held: f64,
    /// The peer's window was full, and as large as ever.
    pub window_full: f64,
    /// The peer's window was full, and had been larger: its program does not read.
    pub window_closed: f64,
    /// There was room in the peer's window, which did not move: its program does not read.
    pub unread: f64,
    pub congested: f64,
    /// Something was lost and being made good.
    pub recovering: f64,
    /// Something could have gone, and was held back by pacing or the device.
    pub paced: f64,
    /// In calls on the socket, and not running.
    pub blocked: f64,
    /// Waiting for standard input or output.
    pub standard: f64,
    /// Running, or waiting for a processor.
    pub processor: f64,
    /// The median of the round trips.
    pub rtt_us: u32,
    pub min_rtt_us: u32,
    /// The largest window that the peer offered; of a receiver, that this end did.
    pub window_bytes: u32,
    /// The median of what was under way.
    pub in_flight_bytes: u64,
    pub retransmits: u32,
    /// Of the segments that went, how many went again.
    pub lost: f64,
    pub bytes_per_s: f64,
    /// The rate still grew; or a buffer was asked for, which may have kept it from doing so.
    pub may_grow: bool,
}

impl Facts {
    pub fn of(plan: &TransferPlan, stream: &TransferStream) -> Self {
        let looks = while_it_ran(&stream.samples);
        let mut facts = Self { looks: looks.len(), ..Self::default() };
        facts.threads(stream);
        if let (Some(first), Some(last)) = (looks.first(), looks.last()) {
            facts.watched_ns = last.at_ns - first.at_ns;
        }
        facts.period_ns = median(looks.windows(2).map(|two| two[1].at_ns - two[0].at_ns)).unwrap_or(0);
        facts.of_file = of_file(plan, stream);
        facts.path(plan, stream, looks);
        facts.may_grow = plan.socket_buffer_bytes.is_some() || grew(looks);
        match plan.role {
            Role::Transmit => facts.sender(plan, stream, looks),
            Role::Receive => {
                let empty = looks.windows(2).filter(|two| two[1].queued_bytes == 0);
                let ns: u64 = empty.map(|two| two[1].at_ns - two[0].at_ns).sum();
                facts.empty = ns as f64 / facts.watched_ns.max(1) as f64;
            }
        }
        facts
    }

    /// Whether so large a window is what comes in the shortest round trip, and not much more.
    pub fn fills(&self, window_bytes: u32) -> bool {
        let a_round_trip = self.bytes_per_s * f64::from(self.min_rtt_us) / 1e6;
        a_round_trip >= FILLS_WINDOW * f64::from(window_bytes)
    }

    /// How much of the time its thread ran, and could have run.
    pub fn processor_words(&self, stream: &TransferStream) -> String {
        let ran = (stream.user_ns + stream.system_ns) as f64 / stream.duration_ns.max(1) as f64;
        format!(
            "{} of the time this end ran, {} it waited for a CPU",
            percent(ran),
            percent(self.processor - ran)
        )
    }

    fn threads(&mut self, stream: &TransferStream) {
        let took = stream.calls_took.unwrap_or_default();
        let CallTimes { socket_ns, standard_ns, runqueue_ns, .. } = took;
        let running_ns = stream.user_ns + stream.system_ns + runqueue_ns;
        let of_all = |ns: u64| (ns as f64 / stream.duration_ns.max(1) as f64).min(1.0);
        self.processor = of_all(running_ns);
        self.blocked = of_all(socket_ns.saturating_sub(running_ns));
        self.standard = of_all(standard_ns);
    }

    fn path(&mut self, plan: &TransferPlan, stream: &TransferStream, looks: &[TransferSample]) {
        self.rtt_us = median(looks.iter().map(|look| look.rtt_us)).unwrap_or(0);
        self.min_rtt_us = stream.tcp.and_then(|tcp| tcp.min_rtt_us).unwrap_or(self.rtt_us);
        let window = |look: &TransferSample| match plan.role {
            Role::Transmit => look.peer_window_bytes,
            Role::Receive => look.window_bytes,
        };
        self.window_bytes = looks.iter().map(window).max().unwrap_or(0);
        self.in_flight_bytes = median(looks.iter().map(under_way)).unwrap_or(0);
        self.retransmits = looks.last().map_or(0, |look| look.retransmits);
        let mss = stream.tcp.map_or(1, |tcp| tcp.mss_bytes.max(1));
        let segments = (stream.bytes / u64::from(mss)).max(1);
        self.lost = f64::from(self.retransmits) / segments as f64;
        let [first, last] = [looks.first(), looks.last()].map(|look| look.map_or(0, acknowledged));
        let moved = last.saturating_sub(first);
        let ns = self.watched_ns.max(1);
        self.bytes_per_s = match plan.role {
            // What the peer has, and not what lies in the send buffer.
            Role::Transmit => moved as f64 / (ns as f64 / 1e9),
            Role::Receive => stream.bytes as f64 / (stream.duration_ns.max(1) as f64 / 1e9),
        };
    }

    fn sender(&mut self, plan: &TransferPlan, stream: &TransferStream, looks: &[TransferSample]) {
        let mss = stream.tcp.map_or(1, |tcp| tcp.mss_bytes.max(1));
        let mut widest = 0;
        let states: Vec<QueueState> = looks
            .iter()
            .map(|look| {
                widest = widest.max(look.peer_window_bytes);
                QueueState::of(look, mss, widest)
            })
            .collect();
        let held = if self.sees_pieces(plan) { waiting(looks, &states) } else { Vec::new() };
        let delayed_ack_ns = u64::from(self.min_rtt_us) * 1000 * ROUND_TRIPS;
        let stands = standing(looks, &states);
        let least_ns = (*DELAYED_ACK_NS.start()).max(u64::from(self.min_rtt_us) * 1000);
        let unread = unread(looks, plan.buffer_bytes.max(mss.into()), least_ns);
        let filled = looks.iter().map(|look| look.queued_bytes).max().unwrap_or(0);
        for at in 1..looks.len() {
            let share = (looks[at].at_ns - looks[at - 1].at_ns) as f64 / self.watched_ns.max(1) as f64;
            if looks[at].recovering {
                self.recovering += share;
            }
            if held.get(at).is_some_and(|&held| held) {
                self.held += share;
                continue;
            }
            match states[at] {
                QueueState::Empty => self.empty += share,
                // The buffer had held twice as much: who waits here waits for the disk.
                QueueState::AllSent if self.of_file && looks[at].queued_bytes < filled / 2 => {
                    self.empty += share
                }
                QueueState::AllSent => {
                    self.all_sent += share;
                    if DELAYED_ACK_NS.contains(&stands[at]) && stands[at] > delayed_ack_ns {
                        self.delayed_ack += share;
                    }
                }
                // The kernel's own buffers grow; one of a fixed size is what there is.
                QueueState::MostSent if plan.socket_buffer_bytes.is_some() => self.all_sent += share,
                QueueState::WindowFull => self.window_full += share,
                QueueState::WindowClosed => self.window_closed += share,
                _ if unread[at] => self.unread += share,
                QueueState::Congested => self.congested += share,
                QueueState::MostSent | QueueState::Remainder | QueueState::Ready => self.paced += share,
            }
        }
        if self.far_apart() {
            self.delayed_ack_by_calls(stream);
        }
        // A program that waits for the socket waits for its buffer, whatever lies in it.
        self.held = self.held.min(self.standard);
        // And while it has nothing to give, nothing else holds it up.
        self.paced = self.paced.min(1.0 - self.standard);
    }

    /// How much of the time the program at the peer did not read.
    pub fn not_read(&self) -> f64 {
        self.window_closed + self.unread
    }

    /// Whether looks are too far apart to see a delayed ACK.
    pub fn far_apart(&self) -> bool {
        self.period_ns >= FAR_APART_NS
    }

    /// Whether they are close enough to see a piece wait for a round trip, where one may.
    pub fn sees_pieces(&self, plan: &TransferPlan) -> bool {
        !plan.no_delay && self.period_ns * 2 <= u64::from(self.rtt_us) * 1000
    }

    /// The share of the time with delayed ACKs, estimated from the durations of calls.
    fn delayed_ack_by_calls(&mut self, stream: &TransferStream) {
        let calls = stream.calls_took.unwrap_or_default().delayed_calls;
        let far = u64::from(self.min_rtt_us) * 1000 * ROUND_TRIPS >= DELAYED_ACK_CALL_NS;
        let ns = if far { 0 } else { calls.saturating_mul(DELAYED_ACK_CALL_NS) };
        self.delayed_ack = (ns as f64 / stream.duration_ns.max(1) as f64).min(self.all_sent);
    }
}

/// What comes neither out of nothing nor through calls on standard input is sent from a file
/// (sendfile).
fn of_file(plan: &TransferPlan, stream: &TransferStream) -> bool {
    let read = stream.calls_took.is_none_or(|took| took.standard_ns > 0);
    plan.role == Role::Transmit && !plan.generated && !read
}

/// Where the last byte that was sent stands in the stream.
pub(super) fn sent(look: &TransferSample) -> u64 {
    look.bytes.saturating_sub(look.unsent_bytes.into())
}

/// Where the last byte that was acknowledged stands in the stream.
pub(super) fn acknowledged(look: &TransferSample) -> u64 {
    look.bytes.saturating_sub(look.queued_bytes.into())
}

/// Without the looks at the end at which all was acknowledged, and only the peer's end was missing.
fn while_it_ran(looks: &[TransferSample]) -> &[TransferSample] {
    let last = looks.last().map_or(0, |look| look.bytes);
    let after = |look: &&TransferSample| look.bytes == last && look.queued_bytes == 0;
    let idle = looks.iter().rev().take_while(after).count();
    // The first of them is the end.
    &looks[..looks.len() - idle.saturating_sub(1)]
}

/// Whether the last third of the time carried more than the second. A congestion window that has
/// found the path's limit does not grow; neither loss nor a longer round trip need to tell of it,
/// for bbr keeps the queue short.
fn grew(looks: &[TransferSample]) -> bool {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else { return false };
    let after = |thirds: u64| {
        let at_ns = first.at_ns + (last.at_ns - first.at_ns) / 3 * thirds;
        looks.iter().find(|look| look.at_ns >= at_ns).unwrap_or(last)
    };
    let (second, third) = (after(1), after(2));
    let rate = |from: &TransferSample, to: &TransferSample| {
        let ns = to.at_ns.saturating_sub(from.at_ns).max(1);
        acknowledged(to).saturating_sub(acknowledged(from)) as f64 / ns as f64
    };
    rate(third, last) > GROWS * rate(second, third)
}

pub(super) fn under_way(look: &TransferSample) -> u64 {
    u64::from(look.queued_bytes.saturating_sub(look.unsent_bytes))
}
