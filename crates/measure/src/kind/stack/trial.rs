//! One trial: the two ends, a tap on them, and what came of both.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;

use netfathom_bpf::stack::{Hooks, Replaced, StackTap, Stream, Target};
use netfathom_model::accounting::Accounting;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{StackPlan, Transport};
use netfathom_model::record::Added;
use netfathom_sys::clock::realtime_ahead_ns;
use netfathom_sys::socket::{cookie, enable_rx_stamps, enable_tx_stamps, next_sequence};

use super::alternation::{self, Alternation};
use super::choice::hooks;
use super::ends::{Ends, Landed, Load, Sockets};
use super::programs::Programs;
use crate::ground::error::GroundError;
use crate::ground::observer::Live;
use crate::ground::processors::Cpus;
use crate::ground::rig::Rig;
use crate::load::accounting::account;
use crate::load::message_log::SenderLog;
use crate::load::sent::Sent;
use crate::load::tally::Read;
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;
use crate::tap::bpf::BpfReader;
use crate::tap::error::TapError;
use crate::tap::pcap::{Files, PcapTap};
use crate::tap::sampling::Sampling;
use crate::tap::send_samples::SendSamples;
use crate::tap::timestamping::{ReceiveStamps, STAMPS_BEGIN, SendStamps};
use crate::tap::undisturbed::Undisturbed;
use crate::tap::{Collected, Tapped};

pub struct StackTask<'a> {
    pub plan: &'a StackPlan,
    pub rig: &'a Rig,
    /// The tap; none in a control.
    pub tap: Option<Tap>,
    /// Whether the programs of the bpf tap are attached beside it, alternately.
    pub alternates: bool,
    /// Whether stages are wanted, or only the stack time.
    pub stages: bool,
    pub sampling: Sampling,
    /// Processors of the senders and of the reader.
    pub cpus: &'a Cpus,
    pub stop: &'a AtomicBool,
    pub live: &'a Live,
    pub programs: &'a Programs,
    /// Where a capture lies while the trial runs, and afterwards if the plan says so.
    pub files: Files,
}

/// The outcome of a trial, before it is judged.
pub struct StackOutcome {
    /// The trial's number among the messages.
    pub flow: u32,
    /// From which socket of each sender, and to where.
    pub from: Vec<SocketAddr>,
    /// See `from`.
    pub to: Option<SocketAddr>,
    pub windows: Windows,
    pub sent: Sent,
    pub read: Read,
    pub accounting: Accounting,
    pub tapped: Tapped,
}

impl StackTask<'_> {
    pub fn run(&self, ends: impl Ends, load: Load<'_>) -> Result<StackOutcome, TapError> {
        // Baselines are without it: it is a part of what the tap costs.
        // And it follows threads of this process.
        let observed = self.tap.filter(|_| !self.plan.processes);
        let contention = observed.and_then(|_| self.programs.contention(load.departures));
        let outcome = self.run_tapped(ends, Load { contention: contention.as_ref(), ..load });
        self.programs.keep_contention(contention);
        outcome
    }

    fn run_tapped(&self, ends: impl Ends, load: Load<'_>) -> Result<StackOutcome, TapError> {
        match self.tap {
            None => self.run_with(
                ends,
                load,
                |_, senders| Ok((vec![(); senders.len()], ())),
                |_, ()| Ok(Tapped::default()),
            ),
            Some(Tap::Bpf) => self.run_bpf(hooks(self.plan.stages), ends, load),
            Some(Tap::Fentry) => self.run_bpf(Hooks::Functions, ends, load),
            Some(Tap::Timestamping) => self.run_timestamping(ends, load),
            Some(Tap::Pcap) => self.run_pcap(ends, load),
        }
    }

    fn run_bpf(&self, at: Hooks, ends: impl Ends, load: Load<'_>) -> Result<StackOutcome, TapError> {
        let sockets = ends.sockets();
        let tap = self.load_programs(at, sockets, load)?;
        // Whoever sees a message last keeps it.
        let (at_senders, at_reader) = match sockets.reader {
            Some(_) => (Sampling::none(), self.sampling.again()),
            None => (self.sampling.again(), Sampling::none()),
        };
        let rx = self.plan.measures(Direction::Rx);
        let here = sockets.senders.first().and(sockets.reader).map(|_| ());
        let make = |windows: Windows, senders: &[_]| {
            tap.start(windows.start_ns);
            let mean_interval_ns = load.departures.mean_interval_ns(1);
            let undisturbed = here
                .and(load.contention)
                .map(|c| Undisturbed::new(c, self.cpus, windows, mean_interval_ns, self.stream()));
            let reader = BpfReader::new(tap.view(), windows, rx, at_reader, undisturbed);
            let senders = senders.iter().map(|_| SendSamples::new(tap.view(), at_senders.again()));
            Ok((senders.collect(), reader))
        };
        let directions = &self.plan.directions;
        let collect = |senders: Vec<SendSamples>, reader: BpfReader<'_>| {
            let BpfReader { collected: incoming, undisturbed, sampling, .. } = reader;
            let (undisturbed, mut samples) = (undisturbed.as_ref(), sampling.samples);
            samples.extend(senders.into_iter().flat_map(|sender| sender.sampling.samples));
            let of = |&direction: &Direction| {
                let collected = match direction {
                    Direction::Tx => {
                        let sums = tap.tx_sums()?;
                        Collected {
                            total: sums.total,
                            stages: sums.stages,
                            unstaged: 0,
                            undisturbed: undisturbed.map(|u| u.tx.clone()),
                            missing: missing_stages(&tap),
                        }
                    }
                    Direction::Rx => Collected {
                        undisturbed: undisturbed.map(|u| u.rx.clone()),
                        missing: missing_stages(&tap),
                        ..incoming.clone()
                    },
                };
                Ok((direction, collected))
            };
            let paths = directions.iter().map(of).collect::<Result<_, TapError>>()?;
            let (drops, lost) = (Some(tap.drops()?), tap.lost()?);
            Ok(Tapped { paths, samples, drops, lost, ..Tapped::default() })
        };
        let outcome = self.run_with(ends, load, make, collect);
        self.programs.keep_tap(at, tap);
        outcome
    }

    fn load_programs(&self, at: Hooks, ends: Sockets<'_>, load: Load<'_>) -> Result<StackTap, TapError> {
        let reader_cookie = ends.reader.map_or(Ok(0), cookie).map_err(GroundError::Socket)?;
        let window_shift = Windows::shift_for(load.duration_ns);
        let stream = self.connection(ends).map_err(GroundError::Socket)?;
        let target = Target { flow: ends.flow, reader_cookie, window_shift, stream };
        Ok(self.programs.tap(at, &self.plan.directions, target)?)
    }

    /// Whether messages go over TCP.
    pub fn stream(&self) -> bool {
        self.plan.transport == Transport::Tcp
    }

    fn connection(&self, ends: Sockets<'_>) -> io::Result<Option<Stream>> {
        let (true, [sender, ..], Some(reader)) = (self.stream(), ends.senders, ends.reader) else {
            return Ok(None);
        };
        Ok(Some(Stream {
            sender_cookie: cookie(sender)?,
            sender: sender.local_addr()?,
            reader: reader.local_addr()?,
            first: next_sequence(sender)?,
            message_bytes: self.plan.size_bytes as u64,
        }))
    }

    fn run_timestamping(&self, ends: impl Ends, load: Load<'_>) -> Result<StackOutcome, TapError> {
        let sockets = ends.sockets();
        if let Some(reader) = sockets.reader {
            enable_rx_stamps(reader).map_err(GroundError::Socket)?;
            std::thread::sleep(STAMPS_BEGIN);
        }
        for sender in sockets.senders {
            enable_tx_stamps(sender, self.stages).map_err(GroundError::Socket)?;
        }
        let programs = || self.load_programs(hooks(self.plan.stages), sockets, load);
        let programs = self.alternates.then(programs).transpose()?;
        let alternating = Cell::new(None);
        let ahead_ns = realtime_ahead_ns();
        let stages = self.stages;
        // Stamps of a stream have the numbers of bytes.
        let bytes = if self.stream() { self.plan.size_bytes as u32 } else { 1 };
        let make = |windows: Windows, senders: &[UdpSocket]| {
            if let Some(tap) = programs {
                tap.start(windows.start_ns);
                alternating.set(Some((Alternation::begin(tap, windows)?, windows)));
            }
            let stamps = |sender: &UdpSocket| {
                Ok(SendStamps::new(sender.try_clone()?, bytes, ahead_ns, stages, windows))
            };
            let senders = senders.iter().map(stamps).collect::<std::io::Result<Vec<_>>>();
            Ok((senders.map_err(GroundError::Socket)?, ReceiveStamps::new(ahead_ns, windows)))
        };
        let directions = &self.plan.directions;
        let collect = |senders: Vec<SendStamps>, reader: ReceiveStamps| {
            let mut outgoing = senders.into_iter().map(|sender| sender.collected);
            let mut tx = outgoing.next().unwrap_or_else(|| Collected::new(&[]));
            outgoing.for_each(|other| tx.merge(&other));
            let rx = reader.collected;
            let of = |&d: &Direction| (d, if d == Direction::Tx { tx.clone() } else { rx.clone() });
            let clock_moved_ns = Some(realtime_ahead_ns() - ahead_ns);
            let paths: Vec<_> = directions.iter().map(of).collect();
            let added = match alternating.take() {
                Some((alternation, windows)) => added(alternation, windows, &paths)?,
                None => Vec::new(),
            };
            Ok(Tapped { paths, clock_moved_ns, added, ..Tapped::default() })
        };
        self.run_with(ends, load, make, collect)
    }

    fn run_pcap(&self, ends: impl Ends, load: Load<'_>) -> Result<StackOutcome, TapError> {
        let Sockets { flow, senders, reader } = ends.sockets();
        let port = destination(ends.sockets()).ok_or(TapError::NoCaptureDevice)?.port();
        let tap = PcapTap::begin(self.plan, self.rig, port, self.files.clone())?;
        // Where the reader is here, its messages tell when they were sent.
        let here = reader.is_some();
        let count = senders.len() as u32;
        let senders: Vec<_> = (0..count).map(|_| (!here).then(|| tap.lane(flow, count))).collect();
        let reader = here.then(|| tap.lane(flow, 1));
        let start = Cell::new(None);
        let make = |windows: Windows, _: &[UdpSocket]| {
            start.set(Some(windows));
            Ok((senders, reader))
        };
        let collect = |senders: Vec<Option<SenderLog>>, reader: Option<SenderLog>| {
            drop((senders, reader));
            let windows = start.get().unwrap_or_else(|| load.windows(0));
            tap.finish(flow, windows)
        };
        self.run_with(ends, load, make, collect)
    }

    /// The part that is the same with every tap, between any two ends.
    fn run_with<S: SendTap + Send, R: ReceiveTap + Send>(
        &self,
        ends: impl Ends,
        load: Load<'_>,
        make: impl FnOnce(Windows, &[UdpSocket]) -> Result<(Vec<S>, R), TapError>,
        collect: impl FnOnce(Vec<S>, R) -> Result<Tapped, TapError>,
    ) -> Result<StackOutcome, TapError> {
        let sockets = ends.sockets();
        let (flow, to) = (sockets.flow, destination(sockets));
        // Those of the senders on this host.
        let from = sockets.senders.iter().filter_map(|sender| sender.local_addr().ok()).collect();
        let before = self.rig.counters()?;
        let landed = ends.fly(self, load, make)?;
        let Landed { windows, sent, read, send_taps, receive_tap, ways, checks, retransmitted } = landed;
        let tapped = collect(send_taps, receive_tap)?;
        let accounting = account(self.rig, &before, &sent, &read, tapped.drops.as_ref(), ways)?;
        let mut accounting = tapped.complete(self.tap, accounting);
        accounting.counters.extend(checks);
        accounting.retransmitted = retransmitted;
        Ok(StackOutcome { flow, from, to, windows, sent, read, accounting, tapped })
    }
}

fn missing_stages(tap: &StackTap) -> Vec<(Stage, String)> {
    let of =
        |hook: &Replaced| hook.stages().iter().map(|&stage| (stage, hook.to_string())).collect::<Vec<_>>();
    tap.replaced().iter().flat_map(of).collect()
}

/// What the programs add to each direction, from the times of another tap.
fn added(
    alternation: Alternation,
    windows: Windows,
    paths: &[(Direction, Collected)],
) -> Result<Vec<Added>, TapError> {
    let (programs, blocks) = alternation.end()?;
    let of = |(direction, collected): &(Direction, Collected)| {
        let times = &collected.total.windows;
        let behind = || alternation::behind(&blocks, windows, times, &programs.total.windows);
        Added {
            direction: *direction,
            differences_ns: alternation::differences(&blocks, windows, times),
            behind_ns: if *direction == Direction::Tx { behind() } else { None },
        }
    };
    Ok(paths.iter().map(of).collect())
}

fn destination(ends: Sockets<'_>) -> Option<SocketAddr> {
    match (ends.reader, ends.senders.first()) {
        (Some(reader), _) => reader.local_addr().ok(),
        (None, Some(sender)) => sender.peer_addr().ok(),
        (None, None) => None,
    }
}
