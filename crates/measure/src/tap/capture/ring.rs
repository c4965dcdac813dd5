//! A thread that writes what the packet ring holds.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netfathom_capture::packet::LinkType;
use netfathom_capture::write::PcapWriter;
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
use netfathom_sys::packet_ring::{Options, PacketRing, Protocol};

use super::{BUFFER_BYTES, CaptureTapError, Captured, SNAPLEN, Task};

/// Some thousand packets: a system call each time is then no load.
const FILE_BUFFER_BYTES: usize = 1 << 20;
/// How long the thread may not notice that it is to end.
const LOOK: Duration = Duration::from_millis(20);
/// What is in the ring at the end is written well within this: 64 MiB to a slow disk.
const MOST_WRITING: Duration = Duration::from_secs(20);

type Writer = PcapWriter<BufWriter<File>>;

pub struct RingCapture {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Captured, CaptureTapError>>>,
}

/// Opens the ring and the file, and starts the thread.
pub(super) fn begin(task: &Task<'_>, place: &Namespace) -> Result<RingCapture, CaptureTapError> {
    let options = Options {
        way: task.way,
        protocol: Protocol::Udp,
        port: task.port,
        snaplen: SNAPLEN,
        bytes: BUFFER_BYTES,
    };
    let file = |source| CaptureTapError::File { file: task.path.clone(), source };
    let out = BufWriter::with_capacity(FILE_BUFFER_BYTES, task.file.try_clone().map_err(file)?);
    // Every device that leads to another host through our labs, and lo, looks like Ethernet.
    let writer = PcapWriter::new(out, LinkType::Ethernet, SNAPLEN).map_err(file)?;
    let open = || -> Result<PacketRing, CaptureTapError> {
        Ok(PacketRing::open(link::read(task.device)?.index, &options)?)
    };
    let ring = place.run(open).map_err(|e| CaptureTapError::Place(e.to_string()))??;
    let stop = Arc::new(AtomicBool::new(false));
    let reader = Reader {
        ring,
        stop: stop.clone(),
        device: task.device.into(),
        file: task.path.clone(),
        stamped_early: 0,
    };
    let thread = thread::Builder::new().name("capture".into()).spawn(move || reader.run(writer));
    Ok(RingCapture { stop, thread: Some(thread.map_err(CaptureTapError::NoThread)?) })
}

impl RingCapture {
    pub(super) fn finish(mut self) -> Result<Captured, CaptureTapError> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).unwrap_or(Err(CaptureTapError::Thread))
    }
}

impl Drop for RingCapture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whoever does not ask for the capture does not want its error either.
            let _ = thread.join();
        }
    }
}

struct Reader {
    ring: PacketRing,
    stop: Arc<AtomicBool>,
    device: String,
    file: PathBuf,
    stamped_early: u64,
}

impl Reader {
    fn run(mut self, mut writer: Writer) -> Result<Captured, CaptureTapError> {
        while !self.stop.load(Ordering::Relaxed) {
            self.write_some(&mut writer)?;
        }
        // What comes after this is no longer the trial's, and might never end.
        let target = self.ring.statistics().map_err(|e| self.reading(e))?.captured();
        let deadline = Instant::now() + MOST_WRITING;
        while self.ring.handed_out() < target {
            self.write_some(&mut writer)?;
            if Instant::now() > deadline {
                let missing = target.saturating_sub(self.ring.handed_out());
                return Err(CaptureTapError::Unfinished { device: self.device, missing });
            }
        }
        writer.finish().map_err(|e| self.writing(e))?;
        let counted = self.ring.statistics().map_err(|e| self.reading(e))?;
        Ok(Captured {
            by: "packet ring".into(),
            packets: self.ring.handed_out(),
            dropped: counted.dropped,
            dropped_by_interface: None,
            stamped_early: Some(self.stamped_early),
        })
    }

    /// Writes the blocks that are there, or waits a little for one.
    fn write_some(&mut self, writer: &mut Writer) -> Result<(), CaptureTapError> {
        self.ring.wait(LOOK).map_err(|e| self.reading(e))?;
        while let Some(block) = self.ring.next_block() {
            for packet in &block {
                self.stamped_early += u64::from(packet.stamped_before);
                let written = writer.packet(packet.time_ns, packet.original_bytes, packet.data);
                if let Err(source) = written {
                    return Err(CaptureTapError::File { file: self.file.clone(), source });
                }
            }
            drop(block);
            // Under more load than can be written the blocks never end.
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    fn reading(&self, source: io::Error) -> CaptureTapError {
        CaptureTapError::Reading { device: self.device.clone(), source }
    }

    fn writing(&self, source: io::Error) -> CaptureTapError {
        CaptureTapError::File { file: self.file.clone(), source }
    }
}
