//! `netfathom join`: captures and logs of every dress, and a real exchange between two hosts.

use std::fs::{self, File};
use std::io::Write;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use netfathom_capture::log::{Columns, LogEntry, LogFormat, LogWriter};
use netfathom_capture::packet::LinkType;
use netfathom_capture::write::PcapWriter;
use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_model::record::{JoinResult, Measured, PacketKind, Record};
use netfathom_model::verdict::Level;
use netfathom_sys::clock::{monotonic_ns, realtime_ahead_ns};
use netfathom_sys::socket::set_receive_buffer;
use netfathom_testkit::{DEVICE, Killed, TwoHosts, needs_root};
use tempfile::TempDir;

use crate::child::{Ended, netfathom, out, record, recorded, shell, unprivileged};
use crate::refusals::refused;

mod apart;
mod order;
mod resolution;
mod shown;

const AHEAD_NS: i64 = 1_763_000_000_000_000_000;
const MESSAGES: u64 = 5000;
const FLOW: u32 = 77;

/// Each message takes 3 us out and 40 us in, and every hundredth is not captured.
struct Files {
    dir: TempDir,
}

impl Files {
    fn of(all: &[(&str, Vec<u8>)]) -> Self {
        let files = Self { dir: out() };
        all.iter().for_each(|(name, bytes)| files.write(name, bytes));
        files
    }

    fn new() -> Self {
        let mut pcap = PcapWriter::new(Vec::new(), LinkType::Raw, 256).unwrap();
        let mut log = LogWriter::new(Vec::new(), LogFormat::Binary, Columns::ALL).unwrap();
        let mut csv = String::from("sequence,sent_s\n");
        log.write_clock(1, AHEAD_NS).unwrap();
        for sequence in 0..MESSAGES {
            let sent_ns = 1_000_000_000 + 10_000 * sequence;
            let header = Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns };
            if sequence % 100 != 0 {
                let at = sent_ns + AHEAD_NS as u64 + 3_000;
                pcap.packet(at, 60, &udp(&header)).unwrap();
            }
            let entry = LogEntry { sequence, intended_ns: sent_ns, sent_ns, received_ns: sent_ns + 43_000 };
            log.write_block(FLOW, &[entry]).unwrap();
            let since = sent_ns + AHEAD_NS as u64;
            csv += &format!("{sequence},{}.{:09}\n", since / 1_000_000_000, since % 1_000_000_000);
        }
        let (pcap, log) = (pcap.finish().unwrap(), log.finish().unwrap());
        Self::of(&[("a.pcap", pcap), ("a.log", log), ("a.csv", csv.into_bytes())])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs a join in the directory of the files.
    fn join(&self, args: &str) -> (Ended, Record) {
        recorded(netfathom(&format!("join -v {args}")).current_dir(self.dir.path()))
    }
}

pub fn udp(header: &Header) -> Vec<u8> {
    let mut data = vec![0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    data.extend([0x10, 0, 0x23, 0x28, 0, 40, 0, 0]);
    let mut payload = [0; HEADER_BYTES];
    header.write(&mut payload);
    data.extend(payload);
    data
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes(), &length, body, &length].concat()
}

/// A pcapng file without packets, with interfaces of raw IP that have these options.
fn pcapng_of(interfaces: &[&[u8]]) -> Vec<u8> {
    let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let of = |options: &&[u8]| block(1, &[&[101, 0, 0, 0, 0, 0, 0, 0], *options].concat());
    [block(0x0a0d_0d0a, &section), interfaces.iter().flat_map(of).collect()].concat()
}

/// A packet in it, captured at an interface.
fn captured(interface: u32, ticks: u64, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    let head = [interface, (ticks >> 32) as u32, ticks as u32, length, length];
    block(6, &[&head.map(u32::to_le_bytes).concat()[..], data].concat())
}

pub fn result(record: &Record) -> &JoinResult {
    JoinResult::of(&record.measurement).expect("a join")
}

fn count(result: &JoinResult, capture: usize, kind: PacketKind) -> u64 {
    result.captures[capture].kinds.iter().filter(|k| k.kind == kind).map(|k| k.count).sum()
}

/// Everything that must hold of [`Files`], from wherever it was read.
fn is_joined(record: &Record) {
    let result = result(record);
    let there = MESSAGES - MESSAGES / 100;
    assert_eq!((count(result, 0, PacketKind::Joined), result.captures[0].packets), (there, there));
    assert_eq!((result.logs[0].messages, &result.logs[0].missing[..]), (MESSAGES, &[MESSAGES / 100][..]));
    let times = &result.spans[0].times;
    assert_eq!((times.n, times.min_ns, times.max_ns), (there, 3_000, 3_000), "{:?}", result.spans);
    if result.logs[0].has_received {
        let times = &result.spans[1].times;
        assert_eq!((times.n, times.min_ns, times.max_ns), (there, 40_000, 40_000));
    }
    assert_eq!(result.spans.len(), if result.logs[0].has_received { 2 } else { 1 });
    assert_eq!(record.verdict.level, Level::Degraded, "{:?}", record.verdict);
    assert!(record.verdict.reasons[0].text.contains("1.00 % of the messages in"), "{:?}", record.verdict);
}

#[test]
fn files_of_every_dress_are_joined() {
    let files = Files::new();
    let number = "--number u64be@8 --port 9000";
    for (pack, cases) in [
        (
            "true",
            vec![
                "a.pcap a.log",
                "a.log a.pcap",
                &format!("a.csv a.pcap {number}"),
                "a.pcap a.log --port 4096",
            ],
        ),
        ("gzip -k a.pcap a.log a.csv", vec!["a.pcap.gz a.log.gz", &format!("a.pcap.gz a.csv.gz {number}")]),
        ("zstd -qk a.pcap a.log", vec!["a.pcap.zst a.log.zst", "a.pcap a.log.zst"]),
    ] {
        assert!(shell(pack).current_dir(files.dir.path()).status().unwrap().success(), "{pack}");
        for case in cases {
            let (ended, record) = files.join(case);
            is_joined(&record);
            assert!(ended.out.contains("report: "), "{case}: {ended}");
        }
    }
    let (_, record) = files.join("a.pcap.gz a.log.zst");
    let formats = (&*result(&record).captures[0].format, &*result(&record).logs[0].format);
    assert_eq!(formats, ("pcap, nanoseconds, gzip", "netfathom log, zstd"));
}

#[test]
fn times_that_are_missing_or_below_zero_are_no_answer() {
    let files = Files::new();
    let csv = fs::read_to_string(files.path("a.csv")).unwrap();
    let changed = |name: &str, change: fn((u64, u64)) -> Option<u64>| {
        let line = |line: &str| {
            let (sequence, sent) = line.split_once(',').unwrap();
            let sent_ns = sent.replace('.', "").parse().ok();
            let sent_ns = sent_ns.map(|sent_ns| change((sequence.parse().unwrap(), sent_ns)));
            let sent = sent_ns.map_or(sent.into(), |ns| ns.map_or(String::new(), |ns: u64| ns.to_string()));
            format!("{sequence},{sent}\n")
        };
        let text: String = csv.lines().map(line).collect();
        files.write(name, text.replace("sent_s", "sent_ns").as_bytes());
        let (ended, record) = files.join(&format!("{name} a.pcap --number u64be@8 --port 9000"));
        assert_eq!(record.verdict.level, Level::Void, "{name}: {ended}");
        record.verdict.reasons.iter().map(|reason| reason.text.clone()).collect::<String>()
    };
    let none = changed("none.csv", |_| None);
    assert!(none.contains("100 % of the messages in none.csv have no send time"), "{none}");
    let half = changed("half.csv", |(sequence, ns)| (sequence % 2 == 1).then_some(ns));
    assert!(half.contains("have no send time and are left out"), "{half}");
    let third = changed("third.csv", |(sequence, ns)| Some(ns + u64::from(sequence % 3 == 0) * 1_000_000));
    assert!(third.contains("the clocks do not match"), "{third}");
    // By less than the hour beyond which times are left out.
    let all = changed("all.csv", |(_, ns)| Some(ns + 3_000_000_000_000));
    assert!(all.contains("100 % of the times from application to a.pcap are below zero"), "{all}");
}

#[test]
fn either_may_come_through_standard_input_and_no_privilege_is_needed() {
    let files = Files::new();
    for name in ["a.pcap", "a.log"] {
        fs::set_permissions(files.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut command = unprivileged("join --quiet");
    is_joined(&recorded(command.args([files.path("a.pcap"), files.path("a.log")])).1);
    for script in [
        "gzip -c a.pcap | $0 join - a.log",
        "$0 join a.pcap - < a.log",
        "$0 join /dev/stdin a.log < a.pcap",
        "zstd -c a.log | $0 join a.pcap -",
    ] {
        let mut shell = shell(&format!("{script} \"$@\""));
        is_joined(&recorded(shell.current_dir(files.dir.path())).1);
    }
}

#[test]
fn clocks_of_two_hosts_are_fitted() {
    let files = Files::new();
    let (_, record) = files.join("a.pcap a.log --clock fitted");
    let result = result(&record);
    assert_eq!((result.spans[0].times.min_ns, result.spans[0].times.max_ns), (0, 0));
    assert_eq!(result.clocks[0].offset_ns, AHEAD_NS + 3_000);
}

#[test]
fn a_clock_that_is_not_the_captures_makes_it_void() {
    let files = Files::new();
    let text = "flow,sequence,sent_ns\n".to_owned()
        + &(1..MESSAGES).map(|s| format!("{FLOW},{s},{}\n", 1_000_000_000 + 10_000 * s)).collect::<String>();
    files.write("unstated.csv", text.as_bytes());
    let (ended, record) = files.join("a.pcap unstated.csv");
    assert_eq!((ended.status, record.verdict.level), (3, Level::Void));
    let reply = &record.findings[0];
    assert!(reply.cause.contains("unstated.csv does not state its clock"), "{reply:?}");
    assert!(reply.remedy.contains("--clock fitted"), "{reply:?}");
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let files = Files::new();
    let cut = |from: &str, to: &str, part: usize| {
        let bytes = fs::read(files.path(from)).unwrap();
        files.write(to, &bytes[..bytes.len() / 2 + part]);
    };
    cut("a.pcap", "cut.pcap", 3);
    cut("a.log", "cut.log", 3);
    let (ended, record) = files.join("cut.pcap a.log");
    assert!(result(&record).captures[0].damage.as_ref().unwrap().contains("damaged at byte"));
    assert!(count(result(&record), 0, PacketKind::Joined) > 2000 && ended.status == 3);
    let (_, record) = files.join("a.pcap cut.log");
    assert!(result(&record).logs[0].damage.as_ref().unwrap().contains("damaged at byte"));
    assert!(count(result(&record), 0, PacketKind::Joined) > 2000);
    // What is not in the half of the log was sent all the same, as the messages themselves say.
    assert_eq!(result(&record).spans[0].times.n, MESSAGES - MESSAGES / 100);
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let files = Files::new();
    files.write("empty", b"");
    files.write("text", b"hello\n");
    files.write("half.log", b"nfmsglog\x01");
    files.write("future.log", b"nfmsglog\x09\0\0\0\x02\0\0\0");
    fs::create_dir(files.path("directory")).unwrap();
    for (args, named) in [
        ("a.pcap", "FILE"),
        ("a.pcap none.log", "none.log"),
        ("a.pcap a.pcap", "no message log among a.pcap, a.pcap"),
        ("a.pcap a.log a.log", "a.log is named twice"),
        ("a.pcap a.pcap a.log", "a.pcap is named twice"),
        ("no\u{1b}[31mred a.log", "31mred"),
        ("a.log a.csv", "no capture (pcap or pcapng) among a.log, a.csv"),
        ("a.pcap empty", "empty: no message log: it is empty"),
        ("a.pcap text", "text: no message log"),
        ("a.pcap half.log", "half.log: damaged at byte 9"),
        ("a.pcap future.log", "version 9"),
        ("a.pcap directory", "directory"),
        ("a.pcap - -", "standard input"),
        ("a.pcap - --clock fitted", "--clock fitted"),
        ("a.pcap a.log --number u24be@0", "--number"),
        ("a.pcap a.log --number u32be@70000", "number's offset"),
        ("a.pcap a.log --window 3", "window"),
        ("a.pcap a.log --port 65536", "--port"),
        ("a.pcap a.log --clock guessed", "--clock"),
    ] {
        let reply = refused(netfathom(&format!("join -v {args}")).current_dir(files.dir.path()), 2);
        assert!(reply.contains(named), "{args}: `{named}` is not in {reply}");
        assert!(!reply.contains('\u{1b}'), "a name writes to the terminal: {reply:?}");
    }
}

/// A tcpdump that captures what passes the device of a host.
struct Tcpdump(Killed);

impl Tcpdump {
    fn begin(host: &netfathom_sys::netns::Namespace, way: &str, file: &Path) -> Self {
        let start = || {
            Command::new("tcpdump")
                .args(["-i", DEVICE, "-Q", way, "-n", "-U", "-s", "128", "-B", "16384", "-Z", "root"])
                .args(["--time-stamp-precision", "nano", "-w"])
                .arg(file)
                .arg("udp")
                .stdin(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
        };
        let mut child = Killed(host.run(start).unwrap().expect("tcpdump"));
        child.await_line(&["listening on"]).unwrap();
        Self(child)
    }

    fn end(mut self) {
        // What is still on its way through the packet ring.
        std::thread::sleep(Duration::from_millis(1200));
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap();
        self.0.wait().unwrap();
    }
}

/// Messages between two hosts, with a capture at either and one log of both ends.
fn exchange(dir: &Path) -> Vec<LogEntry> {
    const SENT: u64 = 3000;
    let hosts = TwoHosts::create();
    let far = hosts.far.run(|| UdpSocket::bind((hosts.far_address(), 0)).unwrap()).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // All of them have room there, while others keep the reader from the processor.
    set_receive_buffer(&far, 8 << 20).unwrap();
    let near = hosts.near.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    let captures = [("out", "near.pcap", &hosts.near), ("in", "far.pcap", &hosts.far)]
        .map(|(way, file, host)| Tcpdump::begin(host, way, &dir.join(file)));
    let receiver = std::thread::spawn(move || {
        let mut payload = [0; 256];
        let mut received = vec![0; SENT as usize];
        for _ in 0..SENT {
            let bytes = far.recv(&mut payload).unwrap();
            let header = Header::read(&payload[..bytes]).unwrap();
            received[header.sequence as usize] = monotonic_ns();
        }
        received
    });
    let mut entries = Vec::new();
    for sequence in 0..SENT {
        let sent_ns = monotonic_ns();
        let mut payload = [0; 64];
        Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns }.write(&mut payload);
        near.send(&payload).unwrap();
        entries.push(LogEntry { sequence, intended_ns: sent_ns, sent_ns, received_ns: 0 });
        std::thread::sleep(Duration::from_micros(50));
    }
    let received = receiver.join().unwrap();
    captures.into_iter().for_each(Tcpdump::end);
    entries.iter_mut().zip(received).for_each(|(entry, at)| entry.received_ns = at);
    entries
}

#[test]
fn what_tcpdump_captured_adds_up_to_what_the_applications_saw() {
    needs_root!();
    let files = Files::new();
    let ahead = realtime_ahead_ns();
    let entries = exchange(files.dir.path());
    for (name, format) in [("both.log", LogFormat::Binary), ("both.csv", LogFormat::Csv)] {
        let mut log = LogWriter::new(File::create(files.path(name)).unwrap(), format, Columns::ALL).unwrap();
        log.write_clock(1, ahead).unwrap();
        log.write_block(FLOW, &entries).unwrap();
        log.finish().unwrap().flush().unwrap();
    }
    for log in ["both.log", "both.csv"] {
        let (_, record) = files.join(&format!("near.pcap far.pcap {log}"));
        let result = result(&record);
        let n = entries.len() as u64;
        assert_eq!(result.logs[0].missing, [0, 0], "{:?}", record.verdict);
        let [tx, between, rx] = &result.spans[..] else { panic!("{:?}", result.spans) };
        for span in [tx, between, rx] {
            // Both ends read one clock, so that none of the three can be below zero, but for
            // the two clocks' readings here that are some us apart.
            assert!(span.times.n == n && span.times.min_ns > -100_000, "{:?}", span.times);
        }
        // Message by message, what lies between the three places adds up.
        let whole: i64 = entries.iter().map(|e| (e.received_ns - e.sent_ns) as i64).sum();
        assert_eq!(tx.times.sum_ns + between.times.sum_ns + rx.times.sum_ns, whole);
        assert!(tx.times.sum_ns > 0 && rx.times.sum_ns > tx.times.sum_ns / 100);
    }
    let (_, record) = files.join("near.pcap far.pcap both.log --clock fitted");
    assert!(
        result(&record)
            .spans
            .iter()
            .take(2)
            .all(|s| s.times.min_ns >= -1 && s.times.negative <= s.times.n / 100)
    );
}
