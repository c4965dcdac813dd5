//! The pcap tap, the papers' own method: packets captured at the device while the trial runs,
//! the application's log beside it, and both joined afterwards. `netfathom join` does the
//! same with the same files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use netfathom_bpf::stack::WINDOWS;
use netfathom_capture::error::CaptureError;
use netfathom_capture::join::{self, Joined, Sighting};
use netfathom_capture::log::{Columns, LogReader};
use netfathom_capture::reader::CaptureReader;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan};
use netfathom_model::record::{self, PacketKind};
use netfathom_sys::clock::realtime_ahead_ns;

use super::Collected;
use crate::capture::{self, By, Capturing, Way};
use crate::error::MeasureError;
use crate::lab::Role;
use crate::load::window::Windows;
use crate::message_log::{Lane, MessageLog};
use crate::rig::Rig;
use crate::stack::tapped::{Tapped, link_layer};

/// Where the captures and the log of a trial lie.
#[derive(Clone, Debug)]
pub struct Files {
    directory: PathBuf,
    stem: String,
    keep: bool,
}

impl Files {
    /// Of a trial, by its place in the run.
    #[must_use]
    pub fn of_trial(directory: &Path, index: u32, keep: bool) -> Self {
        Self { directory: directory.to_owned(), stem: format!("trial-{:02}", index + 1), keep }
    }

    /// Of a burst, which nobody looks at again.
    #[must_use]
    pub fn of_burst(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), stem: "burst".into(), keep: false }
    }

    /// A file that is there while the trial runs. `store::sweep` knows the ending, and removes
    /// what a killed run leaves.
    fn open(&self, what: &str) -> Scratch {
        let name = format!("{}-{what}", self.stem);
        let path = self.directory.join(format!("{name}.{}.tmp", std::process::id()));
        Scratch { path, kept_as: self.keep.then(|| self.directory.join(name)) }
    }
}

/// A file that goes when it is dropped, unless it was kept.
struct Scratch {
    path: PathBuf,
    kept_as: Option<PathBuf>,
}

impl Scratch {
    /// Gives it the name that it stays by, if it stays; returns that.
    fn keep(&self) -> Result<Option<String>, MeasureError> {
        let Some(kept_as) = &self.kept_as else { return Ok(None) };
        let refused = |source| MeasureError::NotKept { path: kept_as.clone(), source };
        fs::rename(&self.path, kept_as).map_err(refused)?;
        Ok(kept_as.file_name().map(|name| name.to_string_lossy().into_owned()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is not there any more if it was kept.
        let _ = fs::remove_file(&self.path);
    }
}

/// The devices to capture at, one a direction of the plan.
///
/// # Errors
/// If one is not known, such as that of messages which may come in anywhere.
pub fn devices(plan: &StackPlan, rig: &Rig) -> Result<Vec<(Direction, String)>, MeasureError> {
    let (sender, reader) = rig.device_names();
    let device = |&direction: &Direction| {
        let device = if direction == Direction::Tx { &sender } else { &reader };
        Ok((direction, device.clone().ok_or(MeasureError::NoCaptureDevice)?))
    };
    plan.directions.iter().map(device).collect()
}

/// The running captures of a trial, and its log.
pub struct PcapTap {
    captures: Vec<Running>,
    log: MessageLog,
    log_file: Scratch,
    ahead_ns: i64,
}

/// One capture.
struct Running {
    direction: Direction,
    device: String,
    capturing: Capturing,
    file: Scratch,
}

impl PcapTap {
    /// Begins to capture what goes to that port, at the device of each direction of the plan.
    ///
    /// # Errors
    /// If a capture or the log cannot be had.
    pub fn begin(plan: &StackPlan, rig: &Rig, port: u16, files: Files) -> Result<Self, MeasureError> {
        let columns = match plan.place {
            Place::Lab | Place::Loopback => Columns::ALL,
            Place::To(_) => Columns::SENT,
            // The sender's times are by another clock.
            Place::Listen(_) => Columns::RECEIVED,
        };
        let log_file = files.open("messages.nflog");
        let log = MessageLog::create(&log_file.path, columns)?;
        let by = By::of(plan.pcap.tcpdump);
        let devices = devices(plan, rig)?.into_iter();
        let begin = |(direction, device)| Running::begin(direction, device, &by, rig, port, &files);
        let captures = devices.map(begin).collect::<Result<_, _>>()?;
        Ok(Self { captures, log, log_file, ahead_ns: realtime_ahead_ns() })
    }

    /// A way into the log.
    #[must_use]
    pub fn lane(&self, flow: u32, ends: u32) -> Lane {
        self.log.lane(flow, ends)
    }

    /// Ends the captures and joins each with the log, whose lanes are dropped.
    ///
    /// # Errors
    /// If a capture or the log could not be written to its end, or not be read again.
    pub fn finish(self, flow: u32, windows: Windows) -> Result<Tapped, MeasureError> {
        let Self { captures, log, log_file, ahead_ns } = self;
        let clock_moved_ns = Some(realtime_ahead_ns() - ahead_ns);
        log.finish()?;
        let mut tapped = Tapped { clock_moved_ns, ..Tapped::default() };
        for running in captures {
            let direction = running.direction;
            let (collected, captured) = running.finish(&log_file.path, flow, windows)?;
            tapped.lost.insert(link_layer(Tap::Pcap, direction), captured.dropped);
            tapped.paths.push((direction, collected));
            tapped.captured.push(captured);
        }
        log_file.keep()?;
        Ok(tapped)
    }
}

impl Running {
    fn begin(
        direction: Direction,
        device: String,
        by: &By,
        rig: &Rig,
        port: u16,
        files: &Files,
    ) -> Result<Self, MeasureError> {
        let (role, way, what) = match direction {
            Direction::Tx => (Role::Sender, Way::Out, "1-out.pcap"),
            Direction::Rx => (Role::Reader, Way::In, "2-in.pcap"),
        };
        let file = files.open(what);
        let by = by.clone();
        let task = capture::Task { device: &device, way, port: Some(port), file: &file.path, by, cpu: None };
        let capturing = capture::begin(&task, rig, role)?;
        Ok(Self { direction, device, capturing, file })
    }

    /// Ends the capture, and joins it with the log.
    fn finish(
        self,
        log: &Path,
        flow: u32,
        windows: Windows,
    ) -> Result<(Collected, record::Captured), MeasureError> {
        let Self { direction, device, capturing, file } = self;
        let told = capturing.finish()?;
        let mut collected = Collected::new(&[], WINDOWS);
        let joined = joined(&file.path, log, |s: &Sighting| {
            let span_ns = match direction {
                Direction::Tx => s.out_ns(),
                Direction::Rx => s.in_ns(),
            };
            if let (Some(span_ns), Some(sent_ns), true) = (span_ns, s.stamped_ns, s.flow == flow && s.first) {
                collected.total.add(windows.of(sent_ns), span_ns);
            }
        })?;
        let captured = record::Captured {
            direction,
            device,
            by: told.by,
            packets: told.packets,
            dropped: told.dropped,
            dropped_by_device: told.dropped_by_interface,
            stamped_early: told.stamped_early,
            duplicates: joined.kinds.of(PacketKind::Duplicate),
            others: others(&joined),
            file: file.keep()?,
        };
        Ok((collected, captured))
    }
}

/// Joins a capture with a log, both whole.
fn joined(capture: &Path, log: &Path, each: impl FnMut(&Sighting)) -> Result<Joined, MeasureError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| MeasureError::Unreadable { path, source }
    };
    let open = |path: &Path| {
        File::open(path).map_err(|source| unreadable(path)(CaptureError::Io { offset: 0, source }))
    };
    let mut packets = CaptureReader::new(open(capture)?).map_err(unreadable(capture))?;
    let mut messages = LogReader::new(open(log)?).map_err(unreadable(log))?;
    let mut joined = join::join(&mut packets, &mut messages, &join::Options::default(), each);
    match (joined.capture_damage.take(), joined.log_damage.take()) {
        (Some(source), _) => Err(unreadable(capture)(source)),
        (None, Some(source)) => Err(unreadable(log)(source)),
        (None, None) => Ok(joined),
    }
}

/// Packets that were none of the trial's messages.
fn others(joined: &Joined) -> u64 {
    let ours = joined.kinds.of(PacketKind::Joined) + joined.kinds.of(PacketKind::Duplicate);
    joined.packets - ours - joined.unlogged
}
