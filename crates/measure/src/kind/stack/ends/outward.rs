//! From this host to a sink on another one, which tells over TCP what arrived.

use std::net::{SocketAddr, UdpSocket};

use netfathom_model::engine::Engine;
use netfathom_model::plan::Transport;
use netfathom_sys::clock::monotonic_ns;

use super::{Ends, Landed, Load, Sockets, engines, flight};
use crate::kind::stack::trial::StackTask;
use crate::load::accounting::Ways;
use crate::load::control::Session;
use crate::load::control::protocol::{Hello, VERSION};
use crate::load::error::FlightError;
use crate::load::remote::{AGREEMENT_NS, Sink, counters};
use crate::load::sent::Sent;
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// A sink that has accepted, and the sockets to send to it.
pub struct Outward {
    session: Session,
    senders: Vec<UdpSocket>,
}

impl Outward {
    /// Greets the sink. That conversation has warmed the path up: the neighbour's hardware
    /// address and the route are known.
    pub fn greet(task: &StackTask<'_>, to: SocketAddr, load: Load<'_>) -> Result<Self, FlightError> {
        let hello = Hello {
            version: VERSION,
            size_bytes: task.plan.size_bytes,
            lanes: task.plan.workers,
            echo: false,
            planned: load.departures.messages(),
            duration_ns: load.duration_ns,
        };
        let session = Session::open(to, hello)?;
        let senders = (0..task.plan.workers).map(|_| task.rig.sender_socket(to)).collect::<Result<_, _>>()?;
        Ok(Self { session, senders })
    }
}

impl Ends for Outward {
    fn sockets(&self) -> Sockets<'_> {
        Sockets { flow: self.session.welcome.flow, senders: &self.senders, reader: None }
    }

    fn fly<S: SendTap + Send, R: ReceiveTap + Send>(
        mut self,
        task: &StackTask<'_>,
        load: Load<'_>,
        make: impl FnOnce(Windows, &[UdpSocket]) -> Result<(Vec<S>, R), TapError>,
    ) -> Result<Landed<S, R>, TapError> {
        let welcome = self.session.welcome.clone();
        // The tap needs the windows before the sink does.
        let windows = load.windows(monotonic_ns() + AGREEMENT_NS);
        let (send_taps, receive_tap) = make(windows, &self.senders)?;
        let senders = engines(task, &self.senders, send_taps, Vec::new())?;
        self.session.begin(windows.start_ns)?;
        let mut sink = Sink { session: Some(self.session), tally: None, start_ns: None };
        let landed = flight(task, load, welcome.flow, windows).run(senders, &mut sink, None)?;
        let (sents, send_taps): (Vec<Sent>, Vec<S>) = landed.sent.into_iter().unzip();
        Ok(Landed {
            windows,
            sent: Sent::merged(sents, windows),
            read: landed.read,
            send_taps,
            receive_tap,
            ways: Ways { engine: Engine::Send, receive: None, transport: Transport::Udp },
            checks: sink.tally.map(|tally| counters(&tally, welcome.receive)).unwrap_or_default(),
            retransmitted: 0,
        })
    }
}
