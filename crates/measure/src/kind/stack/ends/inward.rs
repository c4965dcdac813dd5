//! From a sender on another host to this one: it says over TCP what is to come, and hears
//! what came.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use netfathom_model::engine::Receive;
use netfathom_sys::cpu;
use netfathom_sys::socket::end_receiving;

use super::reconstruction::Rebuilt;
use super::{Ends, Landed, Load, Sockets};
use crate::ground::error::GroundError;
use crate::kind::stack::trial::StackTask;
use crate::load::accounting::Ways;
use crate::load::control::{Begun, ControlError, Ended, Incoming, TOOL, draw_flow};
use crate::load::error::FlightError;
use crate::load::flight::spawn;
use crate::load::reader::{EndSignal, ReaderTask, read_all};
use crate::load::tally::Read;
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// A sender that has announced its load, and the socket for it.
pub struct Inward {
    incoming: Incoming,
    flow: u32,
    reader: UdpSocket,
}

impl Inward {
    /// A new socket for a sender's messages. The sender hears its welcome only in
    /// [`Ends::fly`]: until then it waits, and a tap can be loaded.
    pub fn open(task: &StackTask<'_>, incoming: Incoming, port: u16) -> Result<Self, FlightError> {
        let reader = task.rig.reader_socket(port)?;
        reader.set_nonblocking(task.plan.reader_polls).map_err(GroundError::Socket)?;
        Ok(Self { incoming, flow: draw_flow()?, reader })
    }
}

impl Ends for Inward {
    fn sockets(&self) -> Sockets<'_> {
        Sockets { flow: self.flow, senders: &[], reader: Some(&self.reader) }
    }

    fn fly<S: SendTap + Send, R: ReceiveTap + Send>(
        self,
        task: &StackTask<'_>,
        load: Load<'_>,
        make: impl FnOnce(Windows, &[UdpSocket]) -> Result<(Vec<S>, R), TapError>,
    ) -> Result<Landed<S, R>, TapError> {
        let (peer, lanes) = (self.incoming.peer(), self.incoming.hello().lanes);
        let planned = load.departures.messages();
        let welcomed = self.incoming.welcome(self.flow, Receive::Recv, TOOL).map_err(lost)?;
        let begun = welcomed.await_begin(task.stop).map_err(lost)?;
        // In the sender's clock, as are the times that its messages carry: nothing else is
        // ever held against these windows.
        let windows = load.windows(begun.start_ns);
        let (send_taps, tap) = make(windows, &[])?;
        let reading = ReaderTask {
            socket: &self.reader,
            flow: self.flow,
            lanes,
            planned,
            delay_ns: task.plan.reader_delay_ns,
            stream: None,
        };
        let mean_interval_ns = load.departures.mean_interval_ns(lanes);
        let mut tap = Rebuilt::new(tap, windows, lanes, load.duration_ns, mean_interval_ns);
        let (ended, read) = Reading { task, reading }.run(begun, &mut tap)?;
        let totals = ended.sent;
        // It is of no consequence here if the sender does not wait for this.
        let _ = ended.tally((&read).into());
        if let Some(what) = tap.excess() {
            return Err(lost(ControlError::Implausible { peer, what }).into());
        }
        let (receive_tap, sent) = tap.finish(totals, planned);
        if sent.unsent > 0 && sent.end_ns() < load.duration_ns {
            // One that only fell behind goes on until after the plan's end.
            let text = format!("it was stopped after {} of {planned} messages", totals.tried);
            return Err(FlightError::SenderLost(text).into());
        }
        let (ways, checks) = (Ways::SOCKETS, Vec::new());
        Ok(Landed { windows, sent, read, send_taps, receive_tap, ways, checks, retransmitted: 0 })
    }
}

/// The sender cannot be relied on any more.
fn lost(error: ControlError) -> FlightError {
    match error {
        ControlError::Here { .. } => error.into(),
        other => FlightError::SenderLost(other.to_string()),
    }
}

/// The reader in its thread, and the conversation beside it.
struct Reading<'a> {
    task: &'a StackTask<'a>,
    reading: ReaderTask<'a>,
}

impl Reading<'_> {
    /// Reads from the sender's begin until everything has come that will.
    fn run<R: ReceiveTap + Send>(&self, begun: Begun, tap: &mut R) -> Result<(Ended, Read), FlightError> {
        let end = EndSignal::new(self.task.stop);
        thread::scope(|scope| {
            let reader = spawn(scope, "reader", || {
                cpu::pin(self.task.cpus.reader)?;
                Ok(read_all(&self.reading, &end, tap)?.read)
            })?;
            let talked = self.talk(begun, &end.received);
            end.senders_done.store(true, Relaxed);
            end_receiving(self.reading.socket);
            let read = reader.join().unwrap_or(Err(FlightError::Thread("reader")))?;
            Ok((talked.map_err(lost)?, read))
        })
    }

    /// The conversation, from "ready" until nothing comes any more.
    fn talk(&self, begun: Begun, received: &AtomicU64) -> Result<Ended, ControlError> {
        let delivered = || {
            let delivered = received.load(Relaxed);
            self.task.live.sent.store(delivered, Relaxed);
            delivered
        };
        let mut ended = begun.ready()?.watch(delivered, self.task.stop)?;
        ended.drain(delivered)?;
        Ok(ended)
    }
}
