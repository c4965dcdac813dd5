//! tcpdump, as the papers used it.
//!
//! It must not be ended at once: libpcap gets packets block by block, a block that is not
//! full comes after a second, and SIGINT makes tcpdump leave its loop without looking for
//! more (4.99.3 with libpcap 1.10.3). A burst right before the signal is lost that way, and only
//! `received by filter` tells. So it is asked for its counts (SIGUSR1) until it has captured
//! all that the filter let through, and then interrupted.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netfathom_capture::error::CaptureError;
use netfathom_capture::packet::Packets;
use netfathom_capture::reader::CaptureReader;
use netfathom_sys::child;
use netfathom_sys::netns::Namespace;

use super::{BUFFER_BYTES, CaptureDirection, CaptureTapError, Captured, SNAPLEN, Task};

/// It takes some milliseconds; a machine that swaps may need more.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);
/// A block that is not full comes after one second; writing takes its time too.
const DRAINS_WITHIN: Duration = Duration::from_secs(20);
/// Whatever is still in its ring comes within two of its seconds.
const STANDS_STILL: Duration = Duration::from_millis(2500);
/// Between two questions for its counts.
const LOOK: Duration = Duration::from_millis(100);
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks whether it has ended.
const SOON: Duration = Duration::from_millis(5);

pub struct TcpdumpCapture {
    program: PathBuf,
    device: String,
    version: String,
    path: PathBuf,
    file: File,
    child: Child,
    /// What it says on standard error, line by line; ends with it.
    lines: Receiver<String>,
    output: Vec<String>,
    watcher: Option<JoinHandle<()>>,
}

/// Starts it, and waits until it captures.
pub(super) fn begin(
    task: &Task<'_>,
    program: &Path,
    place: Namespace,
) -> Result<TcpdumpCapture, CaptureTapError> {
    if task.device == "lo" && task.way != CaptureDirection::In {
        return Err(CaptureTapError::OutAtLoopback);
    }
    let version = version(program)?;
    let ours = || task.file.try_clone();
    let refused = |source| CaptureTapError::File { file: task.path.clone(), source };
    let (file, theirs) = (ours().map_err(refused)?, ours().map_err(refused)?);
    let (started, child) = mpsc::channel();
    let (say, lines) = mpsc::channel();
    let (command, name) = (command(task, program, theirs), program.to_owned());
    // The kernel ends it together with the thread that started it, so that thread stays.
    let work = move || {
        let child = start(command, &place, name);
        // A namespace lives as long as a descriptor of it.
        drop(place);
        watch(child, &started, &say);
    };
    let watcher = thread::Builder::new().name("tcpdump".into()).spawn(work);
    let watcher = watcher.map_err(CaptureTapError::NoThread)?;
    let child = child.recv().map_err(|_| CaptureTapError::Thread)??;
    let mut running = TcpdumpCapture {
        program: program.into(),
        device: task.device.into(),
        version,
        path: task.path.clone(),
        file,
        child,
        lines,
        output: Vec::new(),
        watcher: Some(watcher),
    };
    if running.listen_for("listening on", BEGINS_WITHIN).is_none() {
        let output = running.words();
        return Err(CaptureTapError::DoesNotBegin {
            program: program.into(),
            device: task.device.into(),
            output,
        });
    }
    Ok(running)
}

fn command(task: &Task<'_>, program: &Path, file: File) -> Command {
    let mut command = Command::new(program);
    // `-Z root`: as another user it would outlive us.
    command.args(["-i", task.device, "-n", "-p", "-Z", "root", "--time-stamp-precision=nano"]);
    command.args(["-s", &SNAPLEN.to_string(), "-B", &(BUFFER_BYTES >> 10).to_string()]);
    match task.way {
        CaptureDirection::Out => command.args(["-Q", "out"]),
        CaptureDirection::In => command.args(["-Q", "in"]),
        CaptureDirection::Both => &mut command,
    };
    // To a file that is open: its name may lead elsewhere by now.
    command.args(["-w", "-"]).stdout(file);
    // Not `inbound` or `outbound` in the filter: libpcap runs it on the first blocks once more
    // itself, without knowing the way then, and throws everything away (1.10.3).
    command.arg("udp");
    if let Some(port) = task.port {
        command.args(["and", "dst", "port", &port.to_string()]);
    }
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    // Ctrl-C in the terminal is ours to handle.
    command.process_group(0);
    child::end_with_this_thread(&mut command);
    command
}

fn start(mut command: Command, place: &Namespace, program: PathBuf) -> Result<Child, CaptureTapError> {
    place.enter().map_err(|e| CaptureTapError::Place(e.to_string()))?;
    command.spawn().map_err(|source| CaptureTapError::NoProgram { program, source })
}

/// Hands the child over and passes on what it says, until it has ended.
fn watch(
    child: Result<Child, CaptureTapError>,
    started: &Sender<Result<Child, CaptureTapError>>,
    say: &Sender<String>,
) {
    let mut child = child;
    let stderr: Option<ChildStderr> = child.as_mut().ok().and_then(|child| child.stderr.take());
    // The receiver is gone only after a panic, and then it needs nothing.
    let _ = started.send(child);
    let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        let _ = say.send(String::from_utf8_lossy(&line).into_owned());
    }
}

/// `tcpdump 4.99.3`.
pub(super) fn version(program: &Path) -> Result<String, CaptureTapError> {
    let no_program = |source| CaptureTapError::NoProgram { program: program.into(), source };
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(no_program)?;
    // What it says is less than a pipe holds.
    if !ends(&mut child, BEGINS_WITHIN) {
        let _ = child.kill();
        let _ = child.wait();
        let source = io::Error::new(io::ErrorKind::TimedOut, "it does not print its version");
        return Err(no_program(source));
    }
    let output = child.wait_with_output().map_err(no_program)?;
    // Some versions say it on the one, some on the other.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().next().unwrap_or("tcpdump").replacen(" version", "", 1))
}

/// Whether a program ends within a time. Its status is kept for who waits for it.
fn ends(child: &mut Child, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => thread::sleep(SOON),
            looked => return matches!(looked, Ok(Some(_))),
        }
    }
}

/// Counts the whole packets in a capture, up to its end or what cannot be read.
fn whole_packets(mut file: &File) -> (u64, Result<(), CaptureError>) {
    let mut packets = 0;
    let rewound = file.rewind().map_err(|source| CaptureError::Io { offset: 0, source });
    let read = rewound.and_then(|()| CaptureReader::new(file)).and_then(|mut capture| {
        while capture.next_packet()?.is_some() {
            packets += 1;
        }
        Ok(())
    });
    (packets, read)
}

impl TcpdumpCapture {
    pub(super) fn finish(mut self) -> Result<Captured, CaptureTapError> {
        self.drain()?;
        let _ = child::interrupt(&mut self.child);
        let counts = self.counts(ENDS_WITHIN)?;
        ends(&mut self.child, ENDS_WITHIN);
        self.end();
        let (kept, read) = whole_packets(&self.file);
        if kept != counts.captured {
            let (file, captured) = (self.path.clone(), counts.captured);
            let why = read.map_or_else(|why| format!(" ({why})"), |()| String::new());
            return Err(CaptureTapError::FileTooShort { file, kept, captured, why });
        }
        Ok(Captured {
            by: self.version.clone(),
            packets: kept,
            dropped: counts.dropped,
            dropped_by_interface: counts.dropped_by_interface,
            stamped_early: None,
        })
    }

    /// Waits until it has captured all that was there when this began: until the counts agree,
    /// or stand still. The kernel counts more as received than is ever captured where packets
    /// go the other way (`-Q` is done by libpcap; on lo that is every second one) or where
    /// foreign ones came before the socket had its filter. A tcpdump that cannot write does not
    /// stand still but does not answer.
    fn drain(&mut self) -> Result<(), CaptureTapError> {
        let begun = Instant::now();
        let mut counts = self.report()?;
        let target = counts.received.saturating_sub(counts.dropped);
        let mut changed = Instant::now();
        while counts.captured < target {
            let missing = target - counts.captured;
            if changed.elapsed() > STANDS_STILL {
                return Ok(());
            }
            if begun.elapsed() > DRAINS_WITHIN {
                return Err(CaptureTapError::Unfinished { device: self.device.clone(), missing });
            }
            thread::sleep(LOOK);
            let now = self.report()?;
            if now.captured != counts.captured {
                changed = Instant::now();
            }
            counts = now;
        }
        Ok(())
    }

    fn report(&mut self) -> Result<TcpdumpCounts, CaptureTapError> {
        if child::ask_for_report(&mut self.child).is_err() {
            return Err(self.no_counts());
        }
        self.counts(ENDS_WITHIN)
    }

    fn counts(&mut self, most: Duration) -> Result<TcpdumpCounts, CaptureTapError> {
        let from = self.output.len();
        // The last of them that it always says.
        if self.listen_for("dropped by kernel", most).is_none() {
            return Err(self.no_counts());
        }
        // The very last one follows at once, if at all.
        self.listen_for("dropped by interface", Duration::from_millis(20));
        let output = self.output[from..].join(", ");
        TcpdumpCounts::parse(&output).ok_or_else(|| self.no_counts())
    }

    fn listen_for(&mut self, words: &str, most: Duration) -> Option<()> {
        let deadline = Instant::now() + most;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
            let found = line.contains(words);
            self.output.push(line);
            if found {
                return Some(());
            }
        }
    }

    fn no_counts(&self) -> CaptureTapError {
        CaptureTapError::NoCounts { program: self.program.clone(), output: self.words() }
    }

    fn words(&self) -> String {
        self.output.last().cloned().unwrap_or_else(|| "no output".into())
    }

    fn end(&mut self) {
        // It fails when the program has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

impl Drop for TcpdumpCapture {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct TcpdumpCounts {
    captured: u64,
    received: u64,
    dropped: u64,
    dropped_by_interface: Option<u64>,
}

impl TcpdumpCounts {
    /// From `12 packets captured, 12 packets received by filter, 0 packets dropped by kernel`.
    pub fn parse(text: &str) -> Option<Self> {
        let count = |what: &str| {
            let before = text[..text.find(what)?].trim_end();
            let before = before.strip_suffix("packets").or_else(|| before.strip_suffix("packet"))?;
            before.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        Some(Self {
            captured: count("captured")?,
            received: count("received by filter")?,
            dropped: count("dropped by kernel")?,
            dropped_by_interface: count("dropped by interface"),
        })
    }

    /// The part that was received and not captured; `None` where nothing was received.
    pub fn lost(&self) -> Option<f64> {
        (self.received > 0).then(|| self.dropped as f64 / self.received as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn counts_are_read_in_either_form() {
        let lines = "1 packet captured, 3 packets received by filter, 2 packets dropped by kernel";
        let counts = TcpdumpCounts { captured: 1, received: 3, dropped: 2, dropped_by_interface: None };
        assert_eq!(TcpdumpCounts::parse(lines), Some(counts));
        let one = "tcpdump: 10 packets captured, 30 packets received by filter, 20 packets dropped by \
                   kernel, 4 packets dropped by interface";
        let counts = TcpdumpCounts { captured: 10, received: 30, dropped: 20, dropped_by_interface: Some(4) };
        assert_eq!(TcpdumpCounts::parse(one), Some(counts));
        assert_eq!(TcpdumpCounts::parse(one).unwrap().lost(), Some(20.0 / 30.0));
        assert_eq!(TcpdumpCounts::parse("tcpdump: cannot"), None);
    }

    #[test]
    fn the_end_of_a_program_is_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!ends(&mut child, Duration::ZERO));
        child.kill().unwrap();
        assert!(ends(&mut child, ENDS_WITHIN));
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_capture_is_counted_up_to_what_cannot_be_read() {
        let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        // Version 2.4, Ethernet, times in nanoseconds; a packet of 4 bytes.
        let header = words(&[0xa1b2_3c4d, 2 | (4 << 16), 0, 0, 256, 1]);
        let packet = words(&[1, 0, 4, 4, 0]);
        let counted = |last: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[&header[..], &packet, &packet, last].concat()).unwrap();
            let (packets, read) = whole_packets(&file);
            (packets, read.map_err(|why| why.to_string()))
        };
        assert_eq!(counted(&[]), (2, Ok(())));
        let why = |last: &[u8]| counted(last).1.unwrap_err();
        assert!(why(&packet[..7]).contains("the file ends within a packet"));
        assert!(why(&words(&[1, 0, 9, 4, 0])).contains("claims 9 captured bytes of the 4"));
        let closed_to_reading = tempfile::NamedTempFile::new().unwrap();
        let file = File::options().write(true).open(closed_to_reading.path()).unwrap();
        assert!(matches!(whole_packets(&file), (0, Err(CaptureError::Io { .. }))));
    }
}
