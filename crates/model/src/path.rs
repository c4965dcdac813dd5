//! The way of a message through the stack: hooks, and the stages between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Transport;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sending: application to link layer.
    Tx,
    /// Receiving: link layer to application.
    Rx,
}

named! { Direction: Tx = "tx", Rx = "rx" }

impl Direction {
    /// What is done with a message that goes this way.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Tx => "send",
            Self::Rx => "receive",
        }
    }

    /// The stages of this direction, in the order in which a message passes them.
    pub fn stages(self) -> &'static [Stage] {
        // All are in this order, those of sending first.
        const ALL: &[Stage] = &Stage::ALL;
        let (sent, received) = ALL.split_at(Stage::Backlog as usize);
        match self {
            Self::Tx => sent,
            Self::Rx => received,
        }
    }
}

/// The span between two neighboring hooks of a path.
///
/// The stages that are [inside](Stage::is_inside) add up to the stack time of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Sending: the application's stamp to `net_dev_queue`.
    Socket,
    /// Sending, the first part of `Socket`: until `ip_send_skb`.
    Send,
    /// Sending, the rest of `Socket`.
    Output,
    /// Sending, over TCP: from the end of the send call to `net_dev_queue`, of a message that the call did not send.
    Sendq,
    /// Sending: `qdisc_enqueue` to `qdisc_dequeue`.
    Qdisc,
    /// Sending: the rest from `net_dev_queue` to `net_dev_start_xmit`.
    Device,
    /// Sending, below the link layer: `net_dev_start_xmit` to `net_dev_xmit`.
    Driver,
    /// Receiving, below the link layer: `netif_rx` or `napi_gro_receive_entry` to `netif_receive_skb`.
    Backlog,
    /// Receiving: `netif_receive_skb` to `sk_data_ready`.
    Protocol,
    /// Receiving, the first part of `Protocol`: until `__udp_enqueue_schedule_skb`.
    Input,
    /// Receiving, the rest of `Protocol`.
    Enqueue,
    /// Receiving: what the reader slept after `sk_data_ready`, by the kernel's account of its thread.
    Wakeup,
    /// Receiving: what the reader waited for a CPU after `sk_data_ready`, by the same account.
    Runqueue,
    /// Receiving: what the reader ran for earlier messages after `sk_data_ready`, until its receive call.
    Sockqueue,
    /// Receiving: the receive call itself, until `sock_recv_length`.
    Read,
    /// Receiving, a part of `Read`, of a message that is in the socket by then: the call until `udp_recvmsg`.
    Entry,
    /// Receiving, a part of `Read`: from there on, until `__skb_recv_udp` returns.
    Dequeue,
    /// Receiving, the rest of `Read`.
    Copy,
    /// Receiving: `sock_recv_length` to the application's stamp.
    Return,
}

named! { Stage:
    Socket = "socket", Send = "send", Output = "output", Sendq = "sendq", Qdisc = "qdisc", Device = "device",
    Driver = "driver",
    Backlog = "backlog", Protocol = "protocol", Input = "input", Enqueue = "enqueue", Wakeup = "wakeup", Runqueue = "runqueue",
    Sockqueue = "sockqueue", Read = "read", Entry = "entry", Dequeue = "dequeue", Copy = "copy", Return = "return"
}

impl Stage {
    /// What happens there, for a reader who does not know the kernel by heart.
    pub fn meaning(self, transport: Transport) -> &'static str {
        match self {
            Self::Socket if transport == Transport::Tcp => {
                "system call, socket, TCP, IP and routing, up to the device queue"
            }
            Self::Protocol if transport == Transport::Tcp => "IP and TCP, up to the socket's receive buffer",
            Self::Socket => "system call, socket, UDP, IP and routing, up to the device queue",
            Self::Send => "system call, socket, routing, copying the message, UDP",
            Self::Output => "IP and the neighbor, up to the device queue",
            Self::Sendq => "waiting in the socket after the call: window, pacing or device",
            Self::Qdisc => "waiting in the queueing discipline",
            Self::Device => "device queue and lock, up to the link layer",
            Self::Driver => "the driver's transmit call (below the link layer)",
            Self::Backlog => "waiting for the receive softirq (below the link layer)",
            Self::Protocol => "IP and UDP, up to the socket's receive buffer",
            Self::Input => "IP and UDP, up to the socket",
            Self::Enqueue => "into the receive buffer of the socket: accounting, lock, queue",
            Self::Wakeup => "waking the sleeping reader, until it is ready to run",
            Self::Runqueue => "ready to run, waiting for a CPU",
            Self::Sockqueue => "waiting in the socket while the reader was busy",
            Self::Read => "the receive call: taking and copying the message",
            Self::Entry => "the receive call, up to UDP",
            Self::Dequeue => "the receive call, until the message is off the socket's queue",
            Self::Copy => "the receive call from there on: copying the message",
            Self::Return => "back from the receive call to the application",
        }
    }

    /// The direction that it belongs to.
    pub fn direction(self) -> Direction {
        if Direction::Tx.stages().contains(&self) { Direction::Tx } else { Direction::Rx }
    }

    /// Whether it lies between application and link layer; the others are shown beside
    /// the total, not in it.
    pub fn is_inside(self) -> bool {
        !matches!(self, Self::Driver | Self::Backlog)
    }

    /// The stage that it is a part of, where functions of the kernel have hooks; tracepoints see that one whole.
    pub fn whole(self) -> Option<Self> {
        match self {
            Self::Send | Self::Output => Some(Self::Socket),
            Self::Input | Self::Enqueue => Some(Self::Protocol),
            Self::Entry | Self::Dequeue | Self::Copy => Some(Self::Read),
            _ => None,
        }
    }

    /// Its place among the stages of its direction.
    pub fn index(self) -> usize {
        self.direction().stages().iter().position(|&s| s == self).unwrap_or(0)
    }
}

/// How a link-layer time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tap {
    /// Tracepoint programs in the kernel.
    Bpf,
    /// Stamps that the kernel gives to a socket, SO_TIMESTAMPING.
    Timestamping,
    /// Packets captured at the device and joined with the application's log afterwards: the
    /// method of Borodin's incoming paper.
    Pcap,
    /// The tracepoint programs, and others at functions between them, which divide some of the stages.
    Fentry,
}

named! { Tap: Bpf = "bpf", Timestamping = "timestamping", Pcap = "pcap", Fentry = "fentry" }

impl Tap {
    /// Whether it divides a way into this stage; the parts of a stage stand in its place.
    pub fn has(self, stage: Stage) -> bool {
        match self {
            Self::Fentry => !stage.direction().stages().iter().any(|part| part.whole() == Some(stage)),
            Self::Bpf | Self::Timestamping | Self::Pcap => stage.whole().is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_knows_its_direction_and_place() {
        let ends = [Direction::Tx, Direction::Rx].map(|way| (way.stages()[0], way.stages().last().copied()));
        assert_eq!(ends, [(Stage::Socket, Some(Stage::Driver)), (Stage::Backlog, Some(Stage::Return))]);
        for direction in [Direction::Tx, Direction::Rx] {
            for (i, stage) in direction.stages().iter().enumerate() {
                assert_eq!((stage.direction(), stage.index()), (direction, i));
            }
        }
    }

    #[test]
    fn parts_stand_in_the_place_of_their_stage() {
        for part in Stage::ALL {
            let Some(whole) = part.whole() else { continue };
            assert_eq!((part.direction(), part.is_inside()), (whole.direction(), whole.is_inside()));
            assert!(whole.index() < part.index() && whole.whole().is_none(), "{part:?}");
            assert!(Tap::Fentry.has(part) && !Tap::Fentry.has(whole), "{part:?}");
            assert!(!Tap::Bpf.has(part) && Tap::Bpf.has(whole), "{part:?}");
        }
        assert!(Tap::ALL.iter().all(|tap| tap.has(Stage::Wakeup)));
    }
}
