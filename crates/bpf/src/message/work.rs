//! What an end does, and by which programs.

use std::num::NonZeroU32;

use super::MessageError;

/// MOST_GROWN of abi.h.
pub const MOST_GROWN: u32 = 16_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Echo {
        /// The message that does not go back, counted from 1, and none after it. It is exact where
        /// no more than one message is under way.
        until: Option<u64>,
    },
    Sink,
    /// The server of a post: answers each message, a request, by a reply of its bytes and zeros. Over a
    /// stream a request needs a byte for each 16,000 bytes of the reply, which goes through a pair of
    /// datagram sockets of the kernel's on its way; a datagram can grow to 16,000 bytes.
    Reply {
        bytes: NonZeroU32,
    },
    /// The client of a post: answers each message, a reply, by a request. Over a stream it
    /// is the reply's last bytes, which must be fewer than the reply; of a datagram it is the first ones.
    Ask {
        bytes: NonZeroU32,
        until: Option<u64>,
    },
}

/// A map of the object, which programs are attached to.
pub(super) const SOCKETS: &str = "sockets";
/// The other one, of the sockets that a reply grows between.
pub(super) const HOP: &str = "hop";

impl Work {
    pub(super) fn programs(self, datagrams: bool) -> &'static [(&'static str, &'static str)] {
        match (self, datagrams) {
            (Self::Echo { .. }, _) => &[("message_echo", SOCKETS)],
            (Self::Sink, _) => &[("message_sink", SOCKETS)],
            (Self::Reply { .. } | Self::Ask { .. }, true) => &[("message_resize", SOCKETS)],
            (Self::Ask { .. }, false) => &[("message_cut_reply", SOCKETS), ("message_ask", SOCKETS)],
            (Self::Reply { .. }, false) => {
                &[("message_cut_request", SOCKETS), ("message_reply", SOCKETS), ("message_grow", HOP)]
            }
        }
    }

    /// The program in a driver; `None` where there is none that does it.
    pub(super) fn driver_program(self) -> Option<&'static str> {
        match self {
            Self::Echo { .. } => Some("driver_echo"),
            Self::Sink => Some("driver_sink"),
            Self::Reply { .. } | Self::Ask { .. } => None,
        }
    }

    pub(super) fn until(self) -> Option<u64> {
        match self {
            Self::Echo { until } | Self::Ask { until, .. } => until,
            Self::Sink | Self::Reply { .. } => None,
        }
    }

    /// What a message is answered by, where that is not itself.
    pub(super) fn answer_bytes(self) -> Option<u32> {
        match self {
            Self::Reply { bytes } | Self::Ask { bytes, .. } => Some(bytes.get()),
            Self::Echo { .. } | Self::Sink => None,
        }
    }

    /// Packets that the answer is made of.
    pub(super) fn pieces(self) -> u32 {
        self.answer_bytes().unwrap_or(0).div_ceil(MOST_GROWN)
    }

    /// Whether the kernel can make that answer of such a message.
    pub fn check(self, message_bytes: u32, datagrams: bool) -> Result<(), MessageError> {
        let answer = self.answer_bytes().unwrap_or(0);
        let pieces = self.pieces();
        let unfit = |why: String| Err(MessageError::Unfit(why));
        match self {
            Self::Reply { .. } | Self::Ask { .. } if datagrams && pieces > 1 => unfit(format!(
                "the kernel makes a datagram at most {MOST_GROWN} bytes long, and {answer} are asked for"
            )),
            Self::Reply { .. } if !datagrams && message_bytes < pieces => unfit(format!(
                "a reply of {answer} bytes needs a request of at least {pieces}: the kernel makes {MOST_GROWN} \
                 bytes of one"
            )),
            Self::Reply { .. } if !datagrams && message_bytes > MOST_GROWN => unfit(format!(
                "a request may have {MOST_GROWN} bytes at most, and is to have {message_bytes}"
            )),
            Self::Ask { .. } if !datagrams && (answer >= message_bytes || pieces > 1) => unfit(format!(
                "a request of {answer} bytes must be shorter than the reply of {message_bytes} that it is cut \
                 out of, and have {MOST_GROWN} at most"
            )),
            _ => Ok(()),
        }
    }
}
