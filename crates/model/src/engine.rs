//! How messages reach the wire, and how they are taken from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How messages reach the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// One send(2) a message on a connected socket: what most programs do.
    Send,
    /// sendmmsg(2): one system call for what is due.
    Sendmmsg,
    /// UDP_SEGMENT: what is due in one buffer, which the kernel or the device splits.
    Gso,
    /// AF_XDP: whole frames, past the stack.
    AfXdp,
    /// XDP live frames (BPF_PROG_RUN): a kernel program writes each frame.
    Xdp,
}

named! { Engine: Send = "send", Sendmmsg = "sendmmsg", Gso = "gso", AfXdp = "af_xdp", Xdp = "xdp" }

impl Engine {
    /// From the one most like a program to the fastest.
    pub const LADDER: [Self; 5] = Self::ALL;

    /// The most messages that leave together. Spacing finer than what a full batch takes is
    /// not what such an engine promises, so its lag is held against that.
    pub fn batch(self) -> usize {
        match self {
            Self::Send => 1,
            // The kernel's own limit of segments of GSO (UDP_MAX_SEGMENTS, 64 before 6.9).
            Self::Sendmmsg | Self::Gso | Self::AfXdp => 64,
            Self::Xdp => 256,
        }
    }

    /// Whether messages pass the sockets and the protocols of this host on their way out.
    pub fn passes_stack(self) -> bool {
        matches!(self, Self::Send | Self::Sendmmsg | Self::Gso)
    }

    /// The way to receive that keeps up with it.
    pub fn matching_receive(self) -> Receive {
        match self {
            Self::Send | Self::Sendmmsg => Receive::Recvmmsg,
            Self::Gso => Receive::Gro,
            Self::AfXdp => Receive::AfXdp,
            Self::Xdp => Receive::Xdp,
        }
    }
}

/// How messages are taken from the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Receive {
    /// One recv(2) a message.
    Recv,
    /// recvmmsg(2): one system call for what is there.
    Recvmmsg,
    /// UDP_GRO: what the kernel has joined, in one buffer.
    Gro,
    /// AF_XDP: whole frames, before the stack.
    AfXdp,
    /// Counted and dropped by a kernel program in the driver.
    Xdp,
}

named! { Receive: Recv = "recv", Recvmmsg = "recvmmsg", Gro = "gro", AfXdp = "af_xdp", Xdp = "xdp" }
