//! Message layers: what stands between an application's messages and the socket.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What carries the messages of a benchmark. Bare sockets are the layer that is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Layer {
    /// Bare sockets: a header of four bytes, the body's length, and the body.
    Bare {
        /// How header and body are handed to the system.
        form: Form,
        /// Options of the sockets; those without an end are set at both.
        options: Vec<(SocketOption, Option<Side>)>,
    },
    /// The message library.
    Library {
        /// When it writes.
        strategy: Strategy,
    },
}

/// How bare sockets hand header and body to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Both lie in one buffer: one write.
    Write,
    /// The body alone: both ends know its length.
    Headerless,
    /// From two buffers in one call: writev(2), sendmsg(2).
    Writev,
    /// Two writes: send(2) for each.
    Two,
    /// The same by sendmsg(2) for each.
    Sendmsg,
    /// Many messages at once out of a file in memory, without a copy: sendfile(2). The nearest to
    /// a sender in the kernel.
    Sendfile,
    /// Datagrams: ends in the kernel are programs in the driver (XDP); an end in user space is an
    /// ordinary socket, written as `Write` is.
    Xdp,
}

/// An option of a bare socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketOption {
    /// TCP_NODELAY: what is written goes at once, without Nagle's algorithm.
    NoDelay,
    /// TCP_CORK around each message: nothing goes before it is whole.
    Cork,
    /// MSG_MORE with the header: it waits for the body.
    More,
    /// TCP_QUICKACK again after each read: no delayed ACKs.
    QuickAck,
    /// Receives without sleeping (MSG_DONTWAIT), again and again.
    Poll,
}

/// One end of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The one that connects, and sends first.
    Client,
    /// The one that listens.
    Server,
}

/// When the message library writes what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// At once while nothing is in flight, otherwise with its neighbors.
    Adaptive,
    /// At once, in the caller's context.
    Inline,
    /// From a thread of its own, a system call a message: the sending thread of the paper's library, without its poll(2).
    Thread,
    /// When the caller says so.
    Batch,
    /// As `Thread`, with what the paper's text names besides: poll(2) before each send, a thread that receives, and a
    /// sending thread for posts. That these have a connection of their own is our reading of 7.4.3.
    Zccl,
}

impl Layer {
    /// Bare sockets with one write a message and without Nagle's algorithm: what the others are
    /// compared with.
    pub fn reference() -> Self {
        Self::Bare { form: Form::Write, options: vec![(SocketOption::NoDelay, None)] }
    }

    /// Whether an option of a bare socket is set at an end.
    pub fn has(&self, wanted: SocketOption, at: Side) -> bool {
        let Self::Bare { options, .. } = self else { return false };
        options.iter().any(|&(option, end)| option == wanted && end.is_none_or(|end| end == at))
    }

    /// Whether an end polls.
    pub fn polls(&self) -> bool {
        [Side::Client, Side::Server].into_iter().any(|end| self.has(SocketOption::Poll, end))
    }

    /// Its name without options, and what it does with a message.
    #[must_use]
    pub fn meaning(&self) -> (&'static str, &'static str) {
        let text = match self {
            Self::Bare { form: Form::Write, .. } => "header and body in one buffer, by one call",
            Self::Bare { form: Form::Headerless, .. } => "the body alone, by one call",
            Self::Bare { form: Form::Writev, .. } => "two buffers, by one call",
            Self::Bare { form: Form::Two, .. } => "header and body by a call each",
            Self::Bare { form: Form::Sendmsg, .. } => "header and body by a sendmsg call each",
            Self::Bare { form: Form::Sendfile, .. } => "many messages by one call, without a copy",
            Self::Bare { form: Form::Xdp, .. } => "in the driver where an end is in the kernel",
            Self::Library { strategy: Strategy::Adaptive } => {
                "the library, at once while nothing is in flight"
            }
            Self::Library { strategy: Strategy::Inline } => "the library, at once",
            Self::Library { strategy: Strategy::Thread } => "the library, from a thread of its own",
            Self::Library { strategy: Strategy::Batch } => "the library, several at a time",
            Self::Library { strategy: Strategy::Zccl } => "the library, as that of the ZCCL paper",
        };
        match self {
            Self::Bare { form, .. } => (form.name(), text),
            Self::Library { strategy } => (strategy.name(), text),
        }
    }

    /// Whether it is bare sockets.
    pub fn is_bare(&self) -> bool {
        matches!(self, Self::Bare { .. })
    }
}

named! { Form:
    Write = "write", Headerless = "headerless", Writev = "writev", Two = "two", Sendmsg = "sendmsg", Sendfile = "sendfile", Xdp = "xdp"
}
named! { SocketOption: NoDelay = "nodelay", Cork = "cork", More = "more", QuickAck = "quickack", Poll = "poll" }
named! { Side: Client = "client", Server = "server" }
named! { Strategy: Adaptive = "adaptive", Inline = "inline", Thread = "thread", Batch = "batch", Zccl = "zccl" }

/// As it is typed: `write+nodelay`, `two+nodelay@client`, `adaptive`.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare { form, options } => {
                f.write_str(form.name())?;
                for (option, end) in options {
                    write!(f, "+{}", option.name())?;
                    if let Some(end) = end {
                        write!(f, "@{}", end.name())?;
                    }
                }
                Ok(())
            }
            Self::Library { strategy } => f.write_str(strategy.name()),
        }
    }
}

/// Why a text is no layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no layer: write a form of bare sockets (write, writev, two, headerless, sendmsg, sendfile, xdp) with its options \
     (+nodelay, +cork, +more, +quickack, +poll, each for one end with @client or @server), or a strategy of the library \
     (adaptive, inline, thread, batch, zccl)"
)]
pub struct LayerError {
    text: String,
}

impl FromStr for Layer {
    type Err = LayerError;

    fn from_str(text: &str) -> Result<Self, LayerError> {
        let error = || LayerError { text: text.into() };
        if let Some(strategy) = Strategy::named(text) {
            return Ok(Self::Library { strategy });
        }
        let mut parts = text.split('+');
        let form = parts.next().and_then(Form::named).ok_or_else(error)?;
        let options = parts.map(option).collect::<Option<Vec<_>>>().ok_or_else(error)?;
        Ok(Self::Bare { form, options })
    }
}

/// `nodelay` or `nodelay@client`.
fn option(text: &str) -> Option<(SocketOption, Option<Side>)> {
    match text.split_once('@') {
        Some((option, end)) => Some((SocketOption::named(option)?, Some(Side::named(end)?))),
        None => Some((SocketOption::named(text)?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_written() {
        for text in [
            "write",
            "write+nodelay",
            "writev+cork",
            "two+nodelay@client+quickack@server",
            "two+more",
            "write+poll@server",
            "sendmsg",
            "sendfile",
            "headerless+nodelay",
            "xdp",
            "adaptive",
            "inline",
            "thread",
            "batch",
            "zccl",
        ] {
            assert_eq!(text.parse::<Layer>().unwrap().to_string(), text);
        }
        for wrong in ["", "write+", "three", "write+nodelay@peer", "adaptive+nodelay", "Write"] {
            assert!(wrong.parse::<Layer>().unwrap_err().to_string().contains("is no layer"), "{wrong}");
        }
    }

    #[test]
    fn an_option_is_set_at_both_ends_or_at_one() {
        let layer: Layer = "two+nodelay@client+quickack".parse().unwrap();
        assert!(
            layer.has(SocketOption::NoDelay, Side::Client) && !layer.has(SocketOption::NoDelay, Side::Server)
        );
        assert!(
            layer.has(SocketOption::QuickAck, Side::Client)
                && layer.has(SocketOption::QuickAck, Side::Server)
        );
        assert_eq!(Layer::reference().to_string(), "write+nodelay");
    }
}
