//! How messages reach the wire: one trait, an engine a file.

pub use netfathom_bpf::generator::Generator as Xdp;
use netfathom_model::message::Header;

mod af_xdp;
mod gso;
mod send;
mod sendmmsg;
mod stream;
mod xdp;

pub use af_xdp::AfXdp;
pub use gso::Gso;
pub use send::Send;
pub use sendmmsg::Sendmmsg;
pub use stream::Stream;

/// What became of the messages that an engine tried: the first of its batch. What comes
/// after them is still to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    pub accepted: usize,
    pub refused: usize,
    /// Why not (errno(3)); 0 where it does not say.
    pub errno: i32,
}

impl Handed {
    pub fn taken(accepted: usize) -> Self {
        Self { accepted, refused: 0, errno: 0 }
    }

    /// The first one was not.
    pub fn refused(error: &std::io::Error) -> Self {
        Self { accepted: 0, refused: 1, errno: error.raw_os_error().unwrap_or(0) }
    }
}

/// A way to send messages to one address.
pub trait Engine: std::marker::Send {
    /// The most messages that leave together.
    fn most(&self) -> usize {
        1
    }

    /// Whether the kernel stamps the messages, and not this program before the call.
    fn stamped_by_kernel(&self) -> bool {
        false
    }

    /// Hands messages to the system, in order, at most `most()` of them; stamps each
    /// that it tries just before it hands it over. It takes or refuses at least one.
    fn send(&mut self, batch: &mut [Header]) -> Handed;
}
