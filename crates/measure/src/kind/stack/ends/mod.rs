//! Who sends and who reads in a trial: both ends here, or one of them on another host. A tap does not
//! know which.

use std::net::UdpSocket;

use netfathom_model::accounting::CounterCheck;
use netfathom_model::plan::{Spin, Transport};

use super::trial::StackTask;
use crate::ground::error::GroundError;
use crate::load::accounting::Ways;
use crate::load::contention::Contention;
use crate::load::engine;
use crate::load::error::FlightError;
use crate::load::flight::{Departures, Flight, Generator, Sender};
use crate::load::instance::Instance;
use crate::load::sent::Sent;
use crate::load::tally::Read;
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;
use crate::tap::error::TapError;

mod here;
mod inward;
mod outward;
mod reconstruction;

pub use here::Here;
pub use inward::Inward;
pub use outward::Outward;

/// What a tap sees of the ends: their sockets on this host.
#[derive(Clone, Copy)]
pub struct Sockets<'a> {
    /// The trial's number among the messages; a tap looks for it.
    pub flow: u32,
    /// One a sender.
    pub senders: &'a [UdpSocket],
    pub reader: Option<&'a UdpSocket>,
}

/// The two ends of one trial, ready but for their tap.
pub trait Ends: Sized {
    fn sockets(&self) -> Sockets<'_>;

    /// Makes the messages fly. `make` makes the ends of the tap, one for each of the senders
    /// of this host and one for the reader, once it is known where the windows lie.
    fn fly<S: SendTap + Send, R: ReceiveTap + Send>(
        self,
        task: &StackTask<'_>,
        load: Load<'_>,
        make: impl FnOnce(Windows, &[UdpSocket]) -> Result<(Vec<S>, R), TapError>,
    ) -> Result<Landed<S, R>, TapError>;
}

#[derive(Clone, Copy)]
pub struct Load<'a> {
    pub duration_ns: u64,
    pub departures: Departures<'a>,
    /// Where it is observed who has the processors.
    pub contention: Option<&'a Contention>,
}

impl Load<'_> {
    /// Windows over the load, which begins then.
    pub fn windows(&self, start_ns: u64) -> Windows {
        Windows { start_ns, shift: Windows::shift_for(self.duration_ns) }
    }
}

/// What came of a flight between two ends.
pub struct Landed<S, R> {
    /// Where its windows lie, by the clock of the host that sent.
    pub windows: Windows,
    pub sent: Sent,
    pub read: Read,
    pub send_taps: Vec<S>,
    /// The reader's end of the tap; where the reader is on another host nothing was put in.
    pub receive_tap: R,
    /// How messages left and were taken, as far as the counters of this host know of it.
    pub ways: Ways,
    pub checks: Vec<CounterCheck>,
    /// Segments of TCP that were sent again.
    pub retransmitted: u64,
}

fn flight<'a>(task: &'a StackTask<'a>, load: Load<'a>, flow: u32, windows: Windows) -> Flight<'a> {
    Flight {
        flow,
        duration_ns: load.duration_ns,
        departures: load.departures,
        spin: Spin::Auto,
        windows,
        stop: task.stop,
        live: task.live,
        contention: load.contention,
    }
}

/// Each with a socket, a processor and its end of the tap; `instances` are in the place of the first threads.
fn engines<S: SendTap>(
    task: &StackTask<'_>,
    sockets: &[UdpSocket],
    taps: Vec<S>,
    instances: Vec<Instance>,
) -> Result<Vec<Sender<'static, S>>, FlightError> {
    let mut instances = instances.into_iter();
    let sender = |((socket, tap), &cpu): ((&UdpSocket, S), &usize)| {
        if let Some(instance) = instances.next() {
            return Ok(Sender { generator: Generator::Process(instance), cpu, tap });
        }
        let socket = socket.try_clone().map_err(GroundError::Socket)?;
        let size = task.plan.size_bytes;
        let engine: Box<dyn engine::Engine> = match task.plan.transport {
            Transport::Udp => Box::new(engine::Send::new(socket, size)),
            Transport::Tcp => Box::new(engine::Stream::new(socket, size, tap.announces())),
        };
        Ok(Sender { generator: Generator::Engine(engine), cpu, tap })
    };
    sockets.iter().zip(taps).zip(&task.cpus.senders).map(sender).collect()
}
