//! Both ends on this machine: in the lab or over loopback.

use std::net::UdpSocket;

use netfathom_model::plan::Transport;
use netfathom_sys::clock::monotonic_ns;

use super::{Ends, Landed, Load, Sockets, engines, flight};
use crate::ground::error::GroundError;
use crate::ground::rig::warm_up;
use crate::kind::stack::trial::StackTask;
use crate::load::accounting::Ways;
use crate::load::control::draw_flow;
use crate::load::error::FlightError;
use crate::load::flight::{Departures, FarEnd, LEAD_IN_NS};
use crate::load::instance::Instance;
use crate::load::reader::{EndSignal, ReaderTask, read_all};
use crate::load::sent::Sent;
use crate::load::streamed::Streamed;
use crate::load::tally::{Read, Tally};
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;
use crate::tap::error::TapError;

pub struct Here {
    flow: u32,
    /// Connected to the reader, one a sender.
    senders: Vec<UdpSocket>,
    reader: UdpSocket,
}

impl Here {
    /// New sockets, with the path between them warmed up.
    pub fn open(task: &StackTask<'_>) -> Result<Self, FlightError> {
        let (senders, reader) = match task.plan.transport {
            Transport::Udp => datagrams(task)?,
            Transport::Tcp => {
                let (senders, mut readers): (Vec<_>, Vec<_>) =
                    task.rig.connections(task.plan.port, 1)?.into_iter().unzip();
                (senders, readers.swap_remove(0))
            }
        };
        senders.iter().try_for_each(|sender| warm_up(sender, &reader, task.plan.transport))?;
        reader.set_nonblocking(task.plan.reader_polls).map_err(GroundError::Socket)?;
        Ok(Self { flow: draw_flow()?, senders, reader })
    }
}

fn datagrams(task: &StackTask<'_>) -> Result<(Vec<UdpSocket>, UdpSocket), FlightError> {
    let reader = task.rig.reader_socket(task.plan.port)?;
    let to = reader.local_addr().map_err(GroundError::Socket)?;
    let sender = |_| task.rig.sender_socket(to);
    Ok(((0..task.plan.workers).map(sender).collect::<Result<_, _>>()?, reader))
}

impl Ends for Here {
    fn sockets(&self) -> Sockets<'_> {
        Sockets { flow: self.flow, senders: &self.senders, reader: Some(&self.reader) }
    }

    fn fly<S: SendTap + Send, R: ReceiveTap + Send>(
        self,
        task: &StackTask<'_>,
        load: Load<'_>,
        make: impl FnOnce(Windows, &[UdpSocket]) -> Result<(Vec<S>, R), TapError>,
    ) -> Result<Landed<S, R>, TapError> {
        // Before it is decided when the load begins: to start them takes longer than the lead-in.
        let instances = match load.departures {
            Departures::Planned(..) if task.plan.processes => {
                Instance::start_all(&self.senders, task.plan.size_bytes)?
            }
            _ => Vec::new(),
        };
        let windows = load.windows(monotonic_ns() + LEAD_IN_NS);
        let (send_taps, tap) = make(windows, &self.senders)?;
        let stream = task.stream().then(|| Streamed::begin(&self.senders, [&self.reader])).transpose()?;
        let delay_ns = match load.departures {
            Departures::Planned(..) => task.plan.reader_delay_ns,
            // The sender alone is wanted; a full buffer read that slowly takes seconds.
            Departures::FlatOut => 0,
        };
        let reading = ReaderTask {
            socket: &self.reader,
            flow: self.flow,
            lanes: task.plan.workers,
            planned: load.departures.messages(),
            delay_ns,
            stream: task.stream().then_some(task.plan.size_bytes),
        };
        let mut reader = Reader { reading, tap, tally: None };
        let senders = engines(task, &self.senders, send_taps, instances)?;
        let landed =
            flight(task, load, self.flow, windows).run(senders, &mut reader, Some(task.cpus.reader))?;
        let Reader { tap: mut receive_tap, tally, .. } = reader;
        for (lane, (sent, _)) in (0..).zip(&landed.sent) {
            let missing = tally.iter().flat_map(|tally| tally.missing_at_end(lane, sent.tried()));
            missing.for_each(|sequence| receive_tap.skipped(sequence));
        }
        let (sents, send_taps): (Vec<Sent>, Vec<S>) = landed.sent.into_iter().unzip();
        let sent = Sent::merged(sents, windows);
        let size = task.plan.size_bytes as u64;
        let streamed =
            stream.map(|s| s.end(sent.accepted * size, landed.read.delivered * size)).transpose()?;
        let (checks, retransmitted) = streamed.unwrap_or_default();
        Ok(Landed {
            windows,
            sent,
            read: landed.read,
            send_taps,
            receive_tap,
            ways: if task.stream() { Ways::STREAMS } else { Ways::SOCKETS },
            checks,
            retransmitted,
        })
    }
}

/// The reader, with its end of the tap.
struct Reader<'a, R> {
    reading: ReaderTask<'a>,
    tap: R,
    tally: Option<Tally>,
}

impl<R: ReceiveTap + Send> FarEnd for Reader<'_, R> {
    fn sleeps_on(&self) -> Result<Option<UdpSocket>, FlightError> {
        self.reading.socket.try_clone().map(Some).map_err(|e| GroundError::Socket(e).into())
    }

    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError> {
        Ok(self.tally.insert(read_all(&self.reading, end, &mut self.tap)?).read.clone())
    }
}
