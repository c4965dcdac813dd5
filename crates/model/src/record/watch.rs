//! What `netfathom watch` produces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod processes;
mod programs;
mod slow;
mod socket;
mod unread;

pub use processes::{WatchProcesses, WatchUser};
pub use programs::{WatchPrograms, WatchSpread};
pub use slow::{CpuStay, SlowMessage, WatchSlow};
pub use socket::{SocketWay, WatchSocket, WatchTimes, WatchedSum, end_named};
pub use unread::WatchUnread;

use super::{CpuWaits, Distribution};
use crate::accounting::is_zero;
use crate::path::Direction;
use crate::plan::WatchPlan;

/// What `netfathom watch` produced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WatchResult {
    /// What was asked for.
    pub plan: WatchPlan,
    /// The process that was seen most often to use a watched socket, or the one that was asked for.
    pub reader: Option<WatchedProcess>,
    /// Those that were seen to, those seen most often first: one a look, as sums of all of them cost more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<WatchUser>,
    /// How long it was watched.
    pub watched_ns: u64,
    /// Of what comes in, from the link layer to the end of the copy to the application.
    pub total: Distribution,
    /// Every stage, in the order in which a message passes them; they add up to the total.
    pub stages: Vec<WatchedStage>,
    /// Beside the total: from the last byte read to the first byte sent on the same socket, of TCP and Unix at the end that
    /// accepted the connection; `None` where the kernel does not show it.
    pub application: Option<Distribution>,
    /// Beside the total, of clients: from the first byte sent to the end of the copy of what comes next; `None` where the
    /// kernel does not show it.
    pub answer: Option<Distribution>,
    /// What its threads waited for a CPU.
    pub waits: CpuWaits,
    /// What became of every message that came in.
    pub account: WatchAccount,
    /// What was sent; `None` if that was not asked for.
    pub send: Option<WatchSend>,
    /// What came by UDP was watched too.
    pub datagrams: bool,
    /// Single sockets, those with the most messages; empty if they were not summed.
    pub sockets: Vec<WatchSocket>,
    /// All other sockets together: with the above, all messages that are timed.
    pub other_sockets: Option<WatchSocket>,
    /// The same messages by the names of processes, those with the most messages first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<WatchProcesses>,
    /// Single messages that took long; `None` if that was not asked for.
    pub slow: Option<WatchSlow>,
    /// How far CLOCK_REALTIME, which packets are stamped with, moved against CLOCK_MONOTONIC, at most from one second to
    /// the next.
    pub clock_moved_ns: u64,
    /// What netfathom's own programs took, sampled; `None` where the kernel does not count it (it takes CAP_SYS_ADMIN).
    pub programs: Option<WatchPrograms>,
    /// For how much of the time messages were followed; `None`: for all of it.
    pub sampling: Option<WatchSampling>,
    /// Sockets of the process that could not be watched.
    pub unmarked: u64,
    /// Sockets of UDP that were opened during the run, and that no program found: what came or was sent until they were looked up,
    /// within a second, was not seen.
    pub late: u64,
    /// Looks, a second apart, that found some of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_looks: u64,
    /// The processes of the target at the last look; `None` of a target that is no processes.
    pub found: Option<WatchFound>,
    /// All connections that its processes opened go to this host, as far as they were looked at; false if none was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_host: bool,
    /// Packets of watched sockets that the kernel dropped, the most frequent reason first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<WatchDrop>,
    /// Sockets with messages that no thread reads, those with the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<WatchUnread>,
}

/// The processes of a target, which are looked for each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchFound {
    /// Those that live.
    pub processes: u64,
    /// What they have open, of any kind.
    pub sockets: u64,
    /// Those that were found after the first look, so far: what came before, within a second, was not seen.
    pub late_processes: u64,
}

/// Packets that the kernel dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchDrop {
    /// Whether they came or were sent.
    pub direction: Direction,
    /// As the kernel calls it: of `enum skb_drop_reason`, without its prefix.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

impl WatchDrop {
    /// The queue of new connections was full. One packet is enough: its client waits for a second or longer until it
    /// tries again.
    pub const LISTEN_OVERFLOW: &'static str = "TCP_LISTEN_OVERFLOW";

    /// Whether so much was dropped beside such a number of messages that it is worth a word: ten packets, and one for each
    /// thousand messages. Ours.
    #[must_use]
    pub fn is_much(packets: u64, messages: u64) -> bool {
        packets >= 10 && packets as f64 >= 0.001 * messages as f64
    }
}

impl WatchResult {
    /// What a finding about major page faults has seen.
    pub const WAITS_FOR_PAGES: &'static str = "threads of the application wait for pages read from disk";

    /// Messages that came or were sent.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.account.seen.saturating_add(self.send.as_ref().map_or(0, |send| send.account.seen))
    }

    /// How long messages were followed that came or were sent.
    #[must_use]
    pub fn followed_ns(&self) -> u64 {
        self.sampling.map_or(self.watched_ns, |sampling| sampling.followed_ns)
    }

    /// Keeps the sockets, and the names of processes, with the most messages, and adds the rest to the others.
    pub fn keep_most(&mut self, most: usize) {
        WatchProcesses::keep(&mut self.processes, most);
        self.sockets.sort_by_key(|socket| std::cmp::Reverse(socket.messages()));
        let Some(others) = self.other_sockets.as_mut() else { return };
        let rest = self.sockets.split_off(most.min(self.sockets.len()));
        rest.iter().for_each(|socket| others.add(socket));
    }
}

/// A run within a budget of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSampling {
    /// How often messages began to be followed.
    pub samples: u64,
    /// How long messages that began were followed, all samples together.
    pub followed_ns: u64,
    /// How long programs were attached: also until those messages had ended.
    pub attached_ns: u64,
    /// What it took of the CPUs since the programs were loaded: netfathom's own process, and 1.5 times what the kernel counts
    /// in its programs.
    pub spent_ns: u64,
}

/// The messages that were sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WatchSend {
    /// From the call that sends to the device that gets the last byte.
    pub total: Distribution,
    /// Every stage, in the order in which a message passes them; they add up to the total.
    pub stages: Vec<WatchedStage>,
    /// Beside the total: from the device to the acknowledgment of the last byte.
    pub acknowledged: Distribution,
    /// What became of every message.
    pub account: WatchSendAccount,
    /// There are sockets of UDP: whether their messages begin with the call, or else at the queue of the device, without the
    /// stage `socket`. `None`: there are none.
    pub datagram_calls: Option<bool>,
}

/// A process that uses a watched socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// The times of one stage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WatchedStage {
    /// Which.
    pub stage: WatchStage,
    /// Of the messages that passed it.
    pub times: Distribution,
}

/// A part of the time of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchStage {
    /// The link layer's stamp to `tcp_probe`; of UDP to `sk_data_ready`.
    Protocol,
    /// The same, of what came while a system call had the socket.
    Lock,
    /// Until the bytes before it had come.
    Hole,
    /// What the reader slept after it was woken, or until its wake-up where that followed at once.
    Wakeup,
    /// What the reader waited for a CPU.
    Runqueue,
    /// What the reader slept on something else.
    Blocked,
    /// What the reader ran before it began to copy.
    Sockqueue,
    /// The copy, `skb_copy_datagram_iovec` to `tcp_rcv_space_adjust`; of UDP, large datagrams alone have it.
    Read,
    /// The call that sends: the copy, and what TCP and IP do at once.
    Socket,
    /// In that call, or until the next one: the send buffer was full.
    Sndbuf,
    /// In the send queue, held by TCP_CORK.
    Cork,
    /// In the send queue, held by Nagle's algorithm.
    Nagle,
    /// In the send queue, held by the congestion window.
    Cwnd,
    /// In the send queue, held by the window of the receiver.
    Rwnd,
    /// In the send queue, held by pacing.
    Pacing,
    /// In the send queue, held by TCP small queues: the device had enough of this socket.
    Tsq,
    /// In the send queue, held by something else.
    Sendq,
    /// `net_dev_queue` to `net_dev_start_xmit`.
    Qdisc,
}

named! { WatchStage:
    Protocol = "protocol", Lock = "lock", Hole = "hole", Wakeup = "wakeup", Runqueue = "runqueue",
    Blocked = "blocked", Sockqueue = "sockqueue", Read = "read",
    Socket = "socket", Sndbuf = "sndbuf", Cork = "cork", Nagle = "nagle", Cwnd = "cwnd", Rwnd = "rwnd",
    Pacing = "pacing", Tsq = "tsq", Sendq = "sendq", Qdisc = "qdisc"
}

impl WatchStage {
    /// Those of one direction, in the order in which a message passes them.
    pub fn of(direction: Direction) -> &'static [Self] {
        const ALL: &[WatchStage] = &WatchStage::ALL;
        let (received, sent) = ALL.split_at(Self::Socket as usize);
        match direction {
            Direction::Rx => received,
            Direction::Tx => sent,
        }
    }

    /// What happens there, for a reader who does not know the kernel by heart.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Protocol => "IP and TCP or UDP, up to the socket",
            Self::Lock => "IP and TCP, and the wait for a call that held the socket's lock",
            Self::Hole => "waiting for earlier bytes that were lost or late",
            Self::Wakeup => "waking the sleeping reader",
            Self::Runqueue => "waiting for a CPU",
            Self::Blocked => "the reader slept on something else (timer, lock), or was stopped",
            Self::Sockqueue => "waiting in the socket while the reader was busy",
            Self::Read => "copying the message to the application",
            Self::Socket => "the send call: copying, TCP and IP",
            Self::Sndbuf => "waiting for room in the send buffer",
            Self::Cork => "held by TCP_CORK",
            Self::Nagle => "held by Nagle's algorithm until an acknowledgment comes",
            Self::Cwnd => "held by the congestion window",
            Self::Rwnd => "held by the receiver's window",
            Self::Pacing => "held by pacing",
            Self::Tsq => "held by TCP small queues: the device had enough of this socket",
            Self::Sendq => "waiting in the send queue, for no reason that was seen",
            Self::Qdisc => "from IP to the device: queueing discipline, GSO in software",
        }
    }
}

/// What became of the messages: those that were seen are the sum of the next six and of those that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchAccount {
    /// As TCP or UDP got them.
    pub seen: u64,
    /// With all their stages.
    pub timed: u64,
    /// Merged into the message before them, as many waited in one socket: their bytes have its times.
    pub merged: u64,
    /// The socket had no room for them. TCP's come again, UDP's are lost.
    pub refused: u64,
    /// Without a stamp of the link layer.
    pub unstamped: u64,
    /// Read by a thread that was not followed yet as they came, or with a switch that was not seen.
    pub unfollowed: u64,
    /// Not followed, as too many waited in one socket.
    pub crowded: u64,
    /// Of those timed: their reader was switched so often that a part of `blocked` and `runqueue` is in `sockqueue`.
    pub long: u64,
    /// Bytes that applications read.
    pub bytes_read: u64,
    /// Of these, those of timed messages.
    pub bytes_timed: u64,
    /// Of those read, what came to connections that were open in one direction alone: no hook sees it come.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_outside: u64,
    /// Threads that read.
    pub threads: u64,
    /// Context switches of followed threads that no BPF program saw. Threads that read are followed, and those that they make.
    pub unseen_switches: u64,
    /// Connections that are a part of one of MPTCP: their messages are not followed, nor seen.
    pub mptcp: u64,
    /// Sockets that the kernel encrypts (kTLS): a message may be a part of a record.
    pub encrypted: u64,
    /// Datagrams of UDP among those seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub udp: u64,
    /// The part of `blocked`, of all messages together, in which a signal or a debugger stopped the reader.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stopped_ns: u64,
    /// Events of both directions that a BPF program did not see, as it was still running on that CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_events: u64,
}

impl WatchAccount {
    /// What messages became, by name.
    #[must_use]
    pub fn outcomes(&self) -> [(&'static str, u64); 6] {
        [
            ("timed", self.timed),
            ("merged", self.merged),
            ("refused", self.refused),
            ("unstamped", self.unstamped),
            ("unfollowed", self.unfollowed),
            ("crowded", self.crowded),
        ]
    }

    /// More than one of a hundred found no room: a fault of the application, before all that takes time.
    pub fn refuses_many(&self) -> bool {
        self.refused as f64 > 0.01 * self.seen as f64
    }

    /// Those that became something.
    pub fn ended(&self) -> u64 {
        sum(&self.outcomes())
    }

    /// Those that waited in the end, or were not read before their connection was closed. It is below zero only if the
    /// counts contradict each other.
    pub fn unread(&self) -> i64 {
        (self.seen as i64).saturating_sub(self.ended() as i64)
    }

    /// The part of what was seen that has times, its own or those of the message that it was merged into.
    pub fn share_timed(&self) -> f64 {
        if self.seen == 0 { 0.0 } else { (self.timed as f64 + self.merged as f64) / self.seen as f64 }
    }
}

/// The counts of a forged record may be too large to add.
fn sum(outcomes: &[(&str, u64)]) -> u64 {
    outcomes.iter().fold(0, |sum, outcome| sum.saturating_add(outcome.1))
}

/// What became of the messages that were sent: those seen are the sum of the next five and of those that wait in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSendAccount {
    /// As calls sent them.
    pub seen: u64,
    /// With all their stages.
    pub timed: u64,
    /// Merged into the message before them, as many waited in one socket: they have its times.
    pub merged: u64,
    /// Not followed, as too many waited in one socket.
    pub crowded: u64,
    /// Acknowledged, at the device or gone, without having been seen on the way there.
    pub missed: u64,
    /// Datagrams that were dropped between the device's queue and the device; `None`: they were not followed.
    pub dropped: Option<u64>,
    /// Bytes of timed messages.
    pub bytes_timed: u64,
    /// Segments that TCP sent again; a message has the times of the first.
    pub retransmitted: u64,
    /// Datagrams of UDP among those seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub udp: u64,
    /// The widest window that a receiver ever had, of those that held messages, bytes; 0: none held any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub receiver_window: u64,
    /// Beside all these, which have no times: what calls sent over Unix sockets; `None`: they were not followed.
    pub unix: Option<WatchSent>,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSent {
    /// The calls that sent it.
    pub messages: u64,
    /// Its size.
    pub bytes: u64,
}

impl WatchSendAccount {
    /// What messages became, by name.
    #[must_use]
    pub fn outcomes(&self) -> [(&'static str, u64); 5] {
        [
            ("timed", self.timed),
            ("merged", self.merged),
            ("crowded", self.crowded),
            ("missed", self.missed),
            ("dropped", self.dropped.unwrap_or(0)),
        ]
    }

    /// Those that waited in the end, or when their connection was closed. It is below zero only if the counts contradict
    /// each other.
    pub fn unsent(&self) -> i64 {
        (self.seen as i64).saturating_sub(sum(&self.outcomes()) as i64)
    }

    /// The part of what was seen that has times, its own or those of the message that it was merged into.
    pub fn share_timed(&self) -> f64 {
        if self.seen == 0 { 0.0 } else { (self.timed as f64 + self.merged as f64) / self.seen as f64 }
    }
}
