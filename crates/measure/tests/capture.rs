//! What is captured, against what was sent.

use std::fs::File;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use netfathom_measure::ground::lab::Role;
use netfathom_measure::ground::rig::Rig;
use netfathom_measure::tap::capture::{By, CaptureDirection, Captured, Task, begin};
use netfathom_model::message::Header;
use netfathom_model::plan::{Family, Place};
use netfathom_testkit::{needs_programs, needs_root};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const MESSAGES: u64 = 10_000;

fn tcpdump() -> By {
    By::Tcpdump("tcpdump".into())
}

/// A sender connected to a reader, and the reader's port.
fn pair(rig: &Rig) -> (UdpSocket, UdpSocket, u16) {
    let reader = rig.reader_socket(0).unwrap();
    let to = reader.local_addr().unwrap();
    (rig.sender_socket(to).unwrap(), reader, to.port())
}

fn send(sender: &UdpSocket, count: u64) {
    let mut message = [0; 64];
    for sequence in 0..count {
        Header { flow: 7, sequence, intended_ns: 0, sent_ns: 0 }.write(&mut message);
        assert_eq!(sender.send(&message).unwrap(), 64);
    }
}

/// The sequences in a pcap file with nanoseconds, and whether their times are in order.
fn sequences(file: &Path) -> (Vec<u64>, bool) {
    let pcap = fs::read(file).unwrap();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(&pcap, 0), word(&pcap, 16), word(&pcap, 20)), (0xa1b2_3c4d, 128, 1));
    let (mut rest, mut sequences, mut times) = (&pcap[24..], Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(16);
        let (frame, next) = tail.split_at(word(head, 8) as usize);
        assert_eq!(word(head, 12) as usize, HEADERS + 64);
        times.push((word(head, 0), word(head, 4)));
        sequences.push(Header::read(&frame[HEADERS..]).unwrap().sequence);
        rest = next;
    }
    (sequences, times.is_sorted())
}

fn target(path: &Path) -> File {
    File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
}

fn check(captured: &Captured, file: &Path) {
    assert_eq!((captured.packets, captured.dropped), (MESSAGES, 0), "{captured:?}");
    let (sequences, in_order) = sequences(file);
    assert!(in_order && sequences.iter().copied().eq(0..MESSAGES), "{captured:?}");
}

#[test]
fn a_burst_right_before_the_end_is_captured_by_each_and_at_either_end() {
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    let rig = Rig::build(Place::Lab, Family::Ipv4).unwrap();
    let (sender, reader, port) = pair(&rig);
    let places = [(Role::Sender, CaptureDirection::Out), (Role::Reader, CaptureDirection::In)];
    let directory = tempfile::tempdir().unwrap();
    let mut running = Vec::new();
    for (role, way) in places {
        for by in [By::Ring, tcpdump()] {
            let path = directory.path().join(format!("{}.pcap", running.len()));
            let file = &target(&path);
            let task = Task { device: "veth0", way, port: Some(port), file, path: path.clone(), by };
            running.push((begin(&task, &rig, role).unwrap(), path));
        }
    }
    let reads = thread::spawn(move || {
        (0..MESSAGES).for_each(|_| assert_eq!(reader.recv(&mut [0; 64]).unwrap(), 64));
    });
    send(&sender, MESSAGES);
    // What was sent has passed the sender's device, but not for sure the reader's.
    reads.join().unwrap();
    for (at, (capturing, file)) in running.into_iter().enumerate() {
        let captured = capturing.finish().unwrap();
        check(&captured, &file);
        let by = if at % 2 == 0 { "packet ring" } else { "tcpdump " };
        assert!(captured.by.starts_with(by), "{captured:?}");
    }
}

#[test]
fn answers_are_no_messages_of_the_way_out() {
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    let rig = Rig::build(Place::Lab, Family::Ipv4).unwrap();
    let (sender, reader, _) = pair(&rig);
    reader.connect(sender.local_addr().unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let count = |by, way| {
        let path = directory.path().join("x.pcap");
        let task = Task { device: "veth0", way, port: None, file: &target(&path), path, by };
        let capturing = begin(&task, &rig, Role::Sender).unwrap();
        send(&sender, 5);
        send(&reader, 3);
        (0..3).for_each(|_| assert_eq!(sender.recv(&mut [0; 64]).unwrap(), 64));
        capturing.finish().unwrap().packets
    };
    for by in [By::Ring, tcpdump()] {
        let counts = [CaptureDirection::Out, CaptureDirection::In, CaptureDirection::Both]
            .map(|way| count(by.clone(), way));
        assert_eq!(counts, [5, 3, 8], "{by:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    let rig = Rig::build(Place::Lab, Family::Ipv4).unwrap();
    let (sender, _reader, port) = pair(&rig);
    let (device, full) = ("veth0", Path::new("/dev/full"));
    let errors = [By::Ring, tcpdump()].map(|by| {
        let (way, file, path) = (CaptureDirection::Out, &target(full), full.to_owned());
        let task = Task { device, way, port: Some(port), file, path, by };
        let capturing = begin(&task, &rig, Role::Sender).unwrap();
        send(&sender, MESSAGES);
        capturing.finish().unwrap_err().to_string()
    });
    assert!(errors[0].contains("/dev/full: No space left") && errors[0].contains("make room"), "{errors:?}");
    assert!(errors[1].contains("/dev/full holds 0 of the 10000"), "{errors:?}");
}

#[test]
fn what_cannot_begin_says_why() {
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    let rig = Rig::build(Place::Lab, Family::Ipv4).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let error = |device, by| {
        let path = directory.path().join("x");
        let file = &target(&path);
        let task = Task { device, way: CaptureDirection::Out, port: None, file, path, by };
        begin(&task, &rig, Role::Sender).map(|_| ()).unwrap_err().to_string()
    };
    let missing = error("veth0", By::Tcpdump(PathBuf::from("/no/tcpdump")));
    assert!(missing.contains("/no/tcpdump: No such file") && missing.contains("install"), "{missing}");
    let other = error("veth0", By::Tcpdump(PathBuf::from("true")));
    assert!(other.contains("true does not capture at veth0"), "{other}");
    for by in [By::Ring, tcpdump()] {
        let error = error("veth9", by);
        assert!(error.contains("veth9") && error.to_lowercase().contains("no such device"), "{error}");
    }
    assert!(error("lo", tcpdump()).contains("measure in the lab"));
}

/// Where the program that is to be killed captures to; set in that program alone.
const VICTIM: &str = "NETFATHOM_TEST_CAPTURES_TO";

#[test]
fn no_tcpdump_outlives_a_killed_program() {
    let name = "no_tcpdump_outlives_a_killed_program";
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    if let Some(file) = env::var_os(VICTIM) {
        // Not in the lab: its device would go away with the killed program, and end tcpdump, too.
        let rig = Rig::build(Place::Loopback, Family::Ipv4).unwrap();
        let (way, path) = (CaptureDirection::In, PathBuf::from(&file));
        let task = Task { device: "lo", way, port: Some(9), file: &target(&path), path, by: tcpdump() };
        let _capturing = begin(&task, &rig, Role::Sender).unwrap();
        // Only now: a tcpdump that cannot say that it begins ends of that.
        fs::write(Path::new(&file).with_extension("begun"), []).unwrap();
        return thread::sleep(Duration::from_secs(60));
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.pcap");
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", name])
        .env(VICTIM, &file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let captures = || writes(&file);
    let begun = await_that(|| captures() && file.with_extension("begun").exists());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(begun, "tcpdump does not begin");
    assert!(await_that(|| !captures()), "tcpdump still runs");
}

fn await_that(so: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !so() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whether a program has this file as its standard output.
fn writes(file: &Path) -> bool {
    let outputs =
        fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read_link(entry.path().join("fd/1")));
    outputs.flatten().any(|to| to == file)
}
