//! The pcap tap, the method of Borodin's incoming paper: packets captured at the device while the trial runs,
//! the application's log beside it, and both joined afterwards. `netfathom join` does the
//! same with the same files.

use std::env;
use std::fs::File;
use std::path::PathBuf;

use netfathom_capture::error::CaptureError;
use netfathom_capture::join::{self, Joined, Sighting};
use netfathom_capture::log::{Columns, LogReader};
use netfathom_capture::reader::CaptureReader;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan};
use netfathom_model::record::{self, PacketKind};
use netfathom_sys::clock::realtime_ahead_ns;
use netfathom_sys::directory::Directory;

use super::capture::{self, By, CaptureDirection, CaptureTapError, Capturing};
use super::{Collected, Tapped, link_layer};
use crate::ground::lab::Role;
use crate::ground::rig::Rig;
use crate::load::message_log::{MessageLog, SenderLog};
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// Where the captures and the log of a trial lie.
#[derive(Clone, Debug)]
pub struct Files {
    directory: Option<Directory>,
    stem: String,
    keep: bool,
}

impl Files {
    /// Of a trial, by its place in the run.
    pub fn of_trial(directory: Option<&Directory>, index: u32, keep: bool) -> Self {
        Self { directory: directory.cloned(), stem: format!("trial-{:02}", index + 1), keep }
    }

    /// For a burst, which is not examined later.
    pub fn of_burst(directory: Option<&Directory>) -> Self {
        Self { directory: directory.cloned(), stem: "burst".into(), keep: false }
    }

    /// A file that is there while the trial runs. `store::remove_leftovers` knows the ending, and removes
    /// what a killed run leaves.
    fn open(&self, what: &str) -> Result<Scratch, TapError> {
        let directory = self.directory.clone().map_or_else(|| Directory::open(&env::temp_dir()), Ok);
        let stays_as = format!("{}-{what}", self.stem);
        let name = format!("{stays_as}.{}.tmp", std::process::id());
        let refused = |source| {
            let at = self.directory.as_ref().map_or_else(env::temp_dir, |at| at.path().to_owned());
            CaptureTapError::File { file: at.join(&name), source }
        };
        let directory = directory.map_err(refused)?;
        // Of a process that had our id.
        let _ = directory.remove(&name);
        let file = directory.create_new(&name).map_err(refused)?;
        Ok(Scratch { directory, file, name, kept_as: self.keep.then_some(stays_as) })
    }
}

/// A file that goes when it is dropped, unless it was kept.
struct Scratch {
    directory: Directory,
    file: File,
    name: String,
    kept_as: Option<String>,
}

impl Scratch {
    /// Gives it the name that it stays by, if it stays; returns that.
    fn keep(&self) -> Result<Option<String>, TapError> {
        let Some(kept_as) = &self.kept_as else { return Ok(None) };
        let refused = |source| TapError::NotKept { path: self.directory.path().join(kept_as), source };
        self.directory.rename(&self.name, kept_as).map_err(refused)?;
        Ok(Some(kept_as.clone()))
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// From its beginning.
    fn read(&self) -> Result<File, TapError> {
        let unreadable = |source| TapError::Unreadable {
            path: self.path(),
            source: CaptureError::Io { offset: 0, source },
        };
        self.directory.file(&self.name).map_err(unreadable)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is not there any more if it was kept.
        let _ = self.directory.remove(&self.name);
    }
}

/// The devices to capture at, one a direction of the plan.
///
/// # Errors
/// If one is not known, such as that of messages which may come in anywhere.
pub fn devices(plan: &StackPlan, rig: &Rig) -> Result<Vec<(Direction, String)>, TapError> {
    let (sender, reader) = rig.device_names();
    let device = |&direction: &Direction| {
        let device = if direction == Direction::Tx { &sender } else { &reader };
        Ok((direction, device.clone().ok_or(TapError::NoCaptureDevice)?))
    };
    plan.directions.iter().map(device).collect()
}

/// The running captures of a trial, and its log.
pub struct PcapTap {
    captures: Vec<DeviceCapture>,
    log: MessageLog,
    log_file: Scratch,
    ahead_ns: i64,
}

struct DeviceCapture {
    direction: Direction,
    device: String,
    capturing: Capturing,
    file: Scratch,
}

impl PcapTap {
    /// Begins to capture what goes to that port, at the device of each direction of the plan.
    pub fn begin(plan: &StackPlan, rig: &Rig, port: u16, files: Files) -> Result<Self, TapError> {
        let columns = match plan.place {
            Place::Lab | Place::Loopback => Columns::ALL,
            Place::To(_) => Columns::SENT,
            // The sender's times are by another clock.
            Place::Listen(_) => Columns::RECEIVED,
        };
        let log_file = files.open("messages.nflog")?;
        let log = MessageLog::begin(log_file.file.try_clone(), log_file.path(), columns)?;
        let by = By::of(plan.pcap.tcpdump);
        let devices = devices(plan, rig)?.into_iter();
        let begin = |(direction, device)| DeviceCapture::begin(direction, device, &by, rig, port, &files);
        let captures = devices.map(begin).collect::<Result<_, _>>()?;
        Ok(Self { captures, log, log_file, ahead_ns: realtime_ahead_ns() })
    }

    pub fn lane(&self, flow: u32, ends: u32) -> SenderLog {
        self.log.lane(flow, ends)
    }

    /// Ends the captures and joins each with the log. The log's lanes must be dropped before.
    pub fn finish(self, flow: u32, windows: Windows) -> Result<Tapped, TapError> {
        let Self { captures, log, log_file, ahead_ns } = self;
        let clock_moved_ns = Some(realtime_ahead_ns() - ahead_ns);
        log.finish()?;
        let mut tapped = Tapped { clock_moved_ns, ..Tapped::default() };
        for running in captures {
            let direction = running.direction;
            let (collected, captured) = running.finish(&log_file, flow, windows)?;
            tapped.lost.insert(link_layer(Tap::Pcap, direction), captured.dropped);
            tapped.paths.push((direction, collected));
            tapped.captured.push(captured);
        }
        log_file.keep()?;
        Ok(tapped)
    }
}

impl DeviceCapture {
    fn begin(
        direction: Direction,
        device: String,
        by: &By,
        rig: &Rig,
        port: u16,
        files: &Files,
    ) -> Result<Self, TapError> {
        let (role, way, what) = match direction {
            Direction::Tx => (Role::Sender, CaptureDirection::Out, "1-out.pcap"),
            Direction::Rx => (Role::Reader, CaptureDirection::In, "2-in.pcap"),
        };
        let file = files.open(what)?;
        let task = capture::Task {
            device: &device,
            way,
            port: Some(port),
            file: &file.file,
            path: file.path(),
            by: by.clone(),
        };
        let capturing = capture::begin(&task, rig, role)?;
        Ok(Self { direction, device, capturing, file })
    }

    /// Ends the capture, and joins it with the log.
    fn finish(
        self,
        log: &Scratch,
        flow: u32,
        windows: Windows,
    ) -> Result<(Collected, record::Captured), TapError> {
        let Self { direction, device, capturing, file } = self;
        let captured = capturing.finish()?;
        let mut collected = Collected::new(&[]);
        let joined = joined(&file, log, |s: &Sighting| {
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
            by: captured.by,
            packets: captured.packets,
            dropped: captured.dropped,
            dropped_by_device: captured.dropped_by_interface,
            stamped_early: captured.stamped_early,
            duplicates: joined.kinds.of(PacketKind::Duplicate),
            others: others(&joined),
            file: file.keep()?,
        };
        Ok((collected, captured))
    }
}

/// Joins a capture with a log, both whole.
fn joined(capture: &Scratch, log: &Scratch, each: impl FnMut(&Sighting)) -> Result<Joined, TapError> {
    let unreadable = |of: &Scratch| {
        let path = of.path();
        move |source| TapError::Unreadable { path, source }
    };
    let mut packets = CaptureReader::new(capture.read()?).map_err(unreadable(capture))?;
    let mut messages = LogReader::new(log.read()?).map_err(unreadable(log))?;
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
