//! One trial: the load, a tap, and what came of both.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use netfathom_bpf::stack::{StackTap, Target};
use netfathom_model::accounting::Accounting;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::StackPlan;
use netfathom_model::sample::Sample;
use netfathom_sys::clock::{monotonic_ns, realtime_ahead_ns};
use netfathom_sys::cpu;
use netfathom_sys::socket::{cookie, drops, enable_tx_stamps, end_receiving};

use super::StackError;
use super::accounting::{Evidence, hook_counts};
use super::reader::{self, Read};
use super::rig::{Rig, Sockets};
use super::sampling::Sampling;
use super::sender::{self, Live, Sent};
use super::tap::bpf::BpfReader;
use super::tap::timestamping::{ReceiveStamps, SendStamps};
use super::tap::{Collected, ReceiveTap, SendTap};
use super::window::Windows;

/// Between the start of the threads and the first departure.
const LEAD_IN_NS: u64 = 10_000_000;
/// What a sender that fell behind may overrun the plan, at least.
const LEAST_OVERRUN_NS: u64 = 100_000_000;
/// The reader is given up on when nothing has come for so long after the last departure.
const SILENCE: Duration = Duration::from_millis(200);
/// A reader that is told to idle may have thousands of messages queued.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);

/// What a trial is to do.
pub struct Task<'a> {
    /// The plan of the run.
    pub plan: &'a StackPlan,
    /// Where the two ends stand.
    pub rig: &'a Rig,
    /// The tap; none in a control.
    pub tap: Option<Tap>,
    /// Whether stages are wanted, or only the stack time.
    pub stages: bool,
    /// The trial's number among the messages.
    pub flow: u32,
    /// Which messages are kept raw.
    pub sampling: Sampling,
    /// Processors of sender and reader.
    pub cpus: (usize, usize),
    /// The user wants an end.
    pub stop: &'a AtomicBool,
    /// For those who watch.
    pub live: &'a Live,
}

/// What came of a trial, before anything is said about it.
pub struct Outcome {
    /// Where its windows lie.
    pub windows: Windows,
    /// What was sent.
    pub sent: Sent,
    /// What was read.
    pub read: Read,
    /// What the tap collected, direction by direction.
    pub paths: Vec<(Direction, Collected)>,
    /// Where every message ended.
    pub accounting: Accounting,
    /// How far the wall clock moved, where stamps were converted.
    pub clock_moved_ns: Option<i64>,
    /// The raw stream.
    pub samples: Vec<Sample>,
}

impl Task<'_> {
    /// Runs the trial with these departures, in nanoseconds from its start.
    ///
    /// # Errors
    /// If a socket or a tap fails. What the messages suffer is no error but accounted for.
    pub fn run(
        self,
        duration_ns: u64,
        departures: impl ExactSizeIterator<Item = u64> + Send,
    ) -> Result<Outcome, StackError> {
        let sockets = self.rig.sockets(self.tap == Some(Tap::Timestamping))?;
        let shift = Windows::shift_for(duration_ns);
        match self.tap {
            None => self.run_with(
                sockets,
                duration_ns,
                departures,
                shift,
                |_| Ok(((), ())),
                |_, _| Ok(Tapped::default()),
            ),
            Some(Tap::Bpf) => self.run_bpf(sockets, duration_ns, departures, shift),
            Some(Tap::Timestamping) => self.run_timestamping(sockets, duration_ns, departures, shift),
        }
    }

    fn run_bpf(
        mut self,
        sockets: Sockets,
        duration_ns: u64,
        departures: impl ExactSizeIterator<Item = u64> + Send,
        window_shift: u32,
    ) -> Result<Outcome, StackError> {
        let reader_cookie = cookie(&sockets.reader).map_err(StackError::Socket)?;
        let target = Target { flow: self.flow, reader_cookie, window_shift };
        let tap = StackTap::load(&self.plan.directions, target)?;
        let none = Sampling::new(0, 0, 0, 0);
        let sampling = std::mem::replace(&mut self.sampling, none);
        let rx = self.plan.measures(Direction::Rx);
        let directions = self.plan.directions.clone();
        let make = |windows: Windows| {
            tap.start(windows.start_ns);
            Ok(((), BpfReader::new(tap.view(), windows, netfathom_bpf::stack::WINDOWS, rx, sampling)))
        };
        let collect = |(), reader: BpfReader| {
            let (incoming, samples) = reader.into_parts();
            let mut paths = Vec::new();
            for direction in directions {
                paths.push((
                    direction,
                    match direction {
                        Direction::Tx => {
                            let sums = tap.tx_sums()?;
                            Collected { total: sums.total, stages: sums.stages, unstaged: 0 }
                        }
                        Direction::Rx => incoming.clone(),
                    },
                ));
            }
            Ok(Tapped { paths, samples, drops: Some(tap.drops()?), lost: tap.lost()?, clock_moved_ns: None })
        };
        self.run_with(sockets, duration_ns, departures, window_shift, make, collect)
    }

    fn run_timestamping(
        self,
        sockets: Sockets,
        duration_ns: u64,
        departures: impl ExactSizeIterator<Item = u64> + Send,
        window_shift: u32,
    ) -> Result<Outcome, StackError> {
        enable_tx_stamps(&sockets.sender, self.stages).map_err(StackError::Socket)?;
        let ahead_ns = realtime_ahead_ns();
        let directions = self.plan.directions.clone();
        let stages = self.stages;
        let make = |windows: Windows| {
            let count = netfathom_bpf::stack::WINDOWS;
            Ok((
                SendStamps::new(ahead_ns, stages, windows, count),
                ReceiveStamps::new(ahead_ns, windows, count),
            ))
        };
        let collect = |sender: SendStamps, reader: ReceiveStamps| {
            let (tx, rx) = (sender.into_collected(), reader.into_collected());
            let of = |d| (d, if d == Direction::Tx { tx.clone() } else { rx.clone() });
            let clock_moved_ns = Some(realtime_ahead_ns() - ahead_ns);
            Ok(Tapped {
                paths: directions.into_iter().map(of).collect(),
                clock_moved_ns,
                ..Tapped::default()
            })
        };
        self.run_with(sockets, duration_ns, departures, window_shift, make, collect)
    }

    /// The part that is the same with every tap.
    fn run_with<S: SendTap + Send, R: ReceiveTap + Send>(
        self,
        sockets: Sockets,
        duration_ns: u64,
        departures: impl ExactSizeIterator<Item = u64> + Send,
        shift: u32,
        make: impl FnOnce(Windows) -> Result<(S, R), StackError>,
        collect: impl FnOnce(S, R) -> Result<Tapped, StackError>,
    ) -> Result<Outcome, StackError> {
        let before = self.rig.counters()?;
        let windows = Windows { start_ns: monotonic_ns() + LEAD_IN_NS, shift };
        let (mut send_tap, mut receive_tap) = make(windows)?;
        let overrun_ns = (duration_ns / 10).max(LEAST_OVERRUN_NS);
        let load = sender::Task {
            socket: &sockets.sender,
            flow: self.flow,
            size: self.plan.size_bytes,
            windows,
            window_count: netfathom_bpf::stack::WINDOWS,
            deadline_ns: windows.start_ns + duration_ns + overrun_ns,
            stop: self.stop,
            live: self.live,
        };
        let (sent, read) =
            both_ends(&self, &load, &sockets.reader, departures, &mut send_tap, &mut receive_tap)?;
        receive_tap.skipped(sent.tried(), sent.tried().saturating_sub(read.next));
        let tapped = collect(send_tap, receive_tap)?;
        let counted = self.rig.counted_since(&before)?;
        let evidence = Evidence {
            sent: sent.accepted,
            refused: sent.refused.values().sum(),
            read: &read,
            drops: tapped.drops.as_ref(),
            socket_drops: drops(&sockets.reader).map_err(StackError::Socket)?.into(),
            counted: &counted,
            devices: &self.rig.device_names(),
            shared: self.rig.is_shared(),
            family: self.plan.family,
        };
        let accounting = tapped.complete(evidence.account());
        let Tapped { paths, clock_moved_ns, samples, .. } = tapped;
        Ok(Outcome { windows, sent, read, paths, accounting, clock_moved_ns, samples })
    }
}

/// What a tap has to say after a trial.
#[derive(Default)]
struct Tapped {
    paths: Vec<(Direction, Collected)>,
    samples: Vec<Sample>,
    drops: Option<BTreeMap<String, u64>>,
    lost: BTreeMap<&'static str, u64>,
    clock_moved_ns: Option<i64>,
}

impl Tapped {
    /// Adds to the accounting what the tap joined and what it could not.
    fn complete(&self, mut accounting: Accounting) -> Accounting {
        let joined = |d| self.paths.iter().find(|p| p.0 == d).map(|p| p.1.total.distribution.moments.n);
        let mut seen = Vec::new();
        if let Some(n) = joined(Direction::Tx) {
            accounting.unjoined_tx = accounting.sent.abs_diff(n);
            seen.push((if self.drops.is_some() { "net_dev_start_xmit" } else { "TX_SOFTWARE" }, n));
        }
        if let Some(n) = joined(Direction::Rx) {
            let delivered = accounting.count(&netfathom_model::accounting::Fate::Delivered);
            accounting.unjoined_rx = delivered.abs_diff(n);
            seen.push((if self.drops.is_some() { "netif_receive_skb" } else { "RX_SOFTWARE" }, n));
        }
        accounting.unstaged_rx = self.paths.iter().map(|p| p.1.unstaged).sum();
        accounting.hooks = hook_counts(&seen, &self.lost);
        accounting
    }
}

/// Runs sender and reader, each in a thread on its own processor.
fn both_ends<S: SendTap + Send, R: ReceiveTap + Send>(
    task: &Task<'_>,
    load: &sender::Task<'_>,
    socket: &UdpSocket,
    departures: impl ExactSizeIterator<Item = u64> + Send,
    send_tap: &mut S,
    receive_tap: &mut R,
) -> Result<(Sent, Read), StackError> {
    let (ended, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let reading = reader::Task {
        socket,
        flow: task.flow,
        delay_ns: task.plan.reader_delay_ns,
        ended: &ended,
        stop: task.stop,
        received: &received,
    };
    let (sender_cpu, reader_cpu) = task.cpus;
    thread::scope(|scope| {
        let reader = spawn(scope, "reader", || {
            cpu::pin(reader_cpu)?;
            reader::read_all(&reading, receive_tap).map_err(StackError::Receive)
        })?;
        let sent = spawn(scope, "sender", || {
            cpu::pin(sender_cpu)?;
            Ok(sender::send_all(load, departures, send_tap))
        })
        .and_then(|sender| sender.join().unwrap_or(Err(StackError::Thread("sender"))));
        if let Ok(sent) = &sent {
            await_last(sent.accepted, &received, || reader.is_finished() || task.stop.load(Relaxed));
        }
        ended.store(true, Relaxed);
        end_receiving(socket);
        let read = reader.join().unwrap_or(Err(StackError::Thread("reader")));
        Ok((sent?, read?))
    })
}

/// A thread by name; a machine that has no more to give is told, not panicked at.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> Result<T, StackError> + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Result<T, StackError>>, StackError> {
    let spawned = thread::Builder::new().name(name.into()).spawn_scoped(scope, work);
    spawned.map_err(|source| StackError::NoThread { name, source })
}

/// Waits until everything has arrived, nothing comes any more, or it takes too long: then
/// the reader idles no more and takes what is left at once.
fn await_last(sent: u64, received: &AtomicU64, gone: impl Fn() -> bool) {
    let deadline = Instant::now() + LONGEST_DRAIN;
    let (mut last, mut since) = (0, Instant::now());
    while received.load(Relaxed) < sent && !gone() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
        let now = received.load(Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > SILENCE {
            break;
        }
    }
}

/// Why the tap has no times of a stage.
#[must_use]
pub fn unavailable(tap: Tap, stage: Stage, qdisc: &str) -> String {
    match (tap, stage) {
        (Tap::Bpf, Stage::Qdisc) => format!("the device has no queue of its own ({qdisc})"),
        (Tap::Bpf, _) => "no message passed it".into(),
        (Tap::Timestamping, s) if s.direction() == Direction::Rx => {
            "SO_TIMESTAMPING has a single stamp on the way in".into()
        }
        (Tap::Timestamping, _) => "SO_TIMESTAMPING has no stamp there".into(),
    }
}
