//! Files made by tcpdump, dumpcap and editcap, of datagrams that the test sent.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use netfathom_capture::decode;
use netfathom_capture::packet::{LinkType, Packet, PacketDirection, Resolution};
use netfathom_capture::reader::CaptureReader;
use netfathom_capture::write::PcapngWriter;
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{DEVICE, Killed, TwoHosts, needs, needs_root, skip, skipped, test_name};

use crate::made::{Got, frame, read_whole};

const PORT: u16 = 4000;
const DATAGRAMS: usize = 3;
const PAYLOAD_BYTES: usize = 100;
/// Ethernet, IPv4 and UDP. Of `-s 60` libpcap keeps 58 bytes, so how many there are is taken from the file.
const BEFORE_PAYLOAD: usize = 42;
/// For a program to begin, and to write what it has.
const MOST_WAITED: Duration = Duration::from_secs(10);

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_nanos()).expect("before 2262")
}

fn payload(number: usize) -> [u8; PAYLOAD_BYTES] {
    [number as u8 + 1; PAYLOAD_BYTES]
}

/// Sends the datagrams; gives the times before and after.
fn send(from: &Namespace, to: IpAddr) -> (i64, i64) {
    let send = || {
        let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let socket = UdpSocket::bind((any, 0)).expect("a socket");
        let before = now_ns();
        for number in 0..DATAGRAMS {
            // Without a listener, the one before it may have been refused.
            while let Err(error) = socket.send_to(&payload(number), (to, PORT)) {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
            }
        }
        (before, now_ns())
    };
    from.run(send).expect("the namespace")
}

/// A program that captures into a file; ended with this value.
struct Capturing {
    child: Killed,
    path: PathBuf,
}

impl Capturing {
    /// Begins it; returns once it says that it captures. It ends by itself after its packets.
    fn begin(
        host: &Namespace,
        program: &str,
        args: &[&str],
        packets: usize,
        path: PathBuf,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["-c", &packets.to_string(), "-w"]).arg(&path);
        if program == "tcpdump" {
            command.args(args).args(["-n", "--immediate-mode", "udp", "port", "4000"]);
        } else {
            // A filter behind a device would be that device's alone.
            command.args(["-q", "-f", "udp port 4000"]).args(args);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = host.run(|| command.spawn()).map_err(io::Error::other)??;
        let mut child = Killed(child);
        // tcpdump prints the one, dumpcap the other.
        child.await_line(&["listening on", "File: "])?;
        Ok(Self { child, path })
    }

    /// What it captured, and its format.
    fn end(mut self) -> (&'static str, Vec<Got>) {
        let begun = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(begun.elapsed() < MOST_WAITED, "its packets did not come: {:?}", self.path);
            thread::sleep(Duration::from_millis(5));
        }
        read_file(&self.path)
    }
}

fn read_file(path: &Path) -> (&'static str, Vec<Got>) {
    let open = || File::open(path).expect("a file");
    let format = CaptureReader::new(open()).expect("a capture").format();
    (format, read_whole(open()))
}

/// Makes sure that these are the datagrams, in order.
fn check(
    got: &[&Got],
    to: IpAddr,
    way: Option<PacketDirection>,
    is_cut: bool,
    (before, after): (i64, i64),
    unit_ns: i64,
) {
    assert_eq!(got.len(), DATAGRAMS);
    for (number, got) in got.iter().enumerate() {
        let datagram = decode::udp(got.link, &got.data).expect("a datagram");
        assert_eq!(datagram.destination, SocketAddr::new(to, PORT));
        let captured = if is_cut { got.data.len() - BEFORE_PAYLOAD } else { PAYLOAD_BYTES };
        assert_eq!(datagram.payload, &payload(number)[..captured]);
        assert_eq!((datagram.cut, captured < PAYLOAD_BYTES), (is_cut, is_cut));
        assert_eq!(datagram.way, way);
        assert!(got.time_ns >= before - unit_ns && got.time_ns <= after, "{before} {got:?} {after}");
        assert_eq!(got.time_ns % unit_ns, 0);
    }
}

/// What tcpdump is asked for, at the sender's or the receiver's end, and what comes of it.
struct Wanted {
    args: &'static [&'static str],
    is_near: bool,
    format: &'static str,
    link: LinkType,
    way: Option<PacketDirection>,
    is_cut: bool,
}

const NANO: &str = "--time-stamp-precision=nano";
const MICROSECONDS: &str = "pcap, microseconds";
const NANOSECONDS: &str = "pcap, nanoseconds";

#[test]
fn tcpdump_between_two_hosts() {
    needs_root!();
    let wanted =
        |args, is_near, format, link, way, is_cut| Wanted { args, is_near, format, link, way, is_cut };
    let (out, into) = (Some(PacketDirection::Out), Some(PacketDirection::In));
    let all = [
        wanted(&["-i", DEVICE], true, MICROSECONDS, LinkType::Ethernet, None, false),
        wanted(&["-i", DEVICE, NANO], true, NANOSECONDS, LinkType::Ethernet, None, false),
        wanted(&["-i", DEVICE, "-s", "60"], false, MICROSECONDS, LinkType::Ethernet, None, true),
        wanted(&["-i", "any"], true, MICROSECONDS, LinkType::Sll2, out, false),
        wanted(&["-i", "any", NANO], false, NANOSECONDS, LinkType::Sll2, into, false),
        wanted(&["-i", "any", "-y", "LINUX_SLL"], true, MICROSECONDS, LinkType::Sll, out, false),
        wanted(&["-i", "any", "-y", "LINUX_SLL"], false, MICROSECONDS, LinkType::Sll, into, false),
    ];
    let hosts = TwoHosts::create();
    let directory = tempfile::tempdir().expect("a directory");
    let begin = |(place, wanted): (usize, &Wanted)| {
        let host = if wanted.is_near { &hosts.near } else { &hosts.far };
        Capturing::begin(host, "tcpdump", wanted.args, DATAGRAMS, directory.path().join(place.to_string()))
    };
    let capturing = match all.iter().enumerate().map(begin).collect::<io::Result<Vec<_>>>() {
        Ok(capturing) => capturing,
        Err(error) => skip!("tcpdump: {error}"),
    };
    let sent = send(&hosts.near, hosts.far_address());
    for (capturing, wanted) in capturing.into_iter().zip(&all) {
        let (format, got) = capturing.end();
        assert_eq!(format, wanted.format);
        assert!(got.iter().all(|got| got.link == wanted.link), "{:?}", wanted.args);
        let unit_ns = if format == NANOSECONDS { 1 } else { 1000 };
        check(&got.iter().collect::<Vec<_>>(), hosts.far_address(), wanted.way, wanted.is_cut, sent, unit_ns);
    }
}

#[test]
fn tcpdump_on_loopback() {
    needs_root!();
    let host = netfathom_testkit::host();
    let directory = tempfile::tempdir().expect("a directory");
    for to in [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])] {
        needs!(to.is_ipv4() || link::ipv6_available(), "no IPv6 here");
        let path = directory.path().join("lo.pcap");
        let capturing = match Capturing::begin(&host, "tcpdump", &["-i", "lo", NANO], DATAGRAMS, path) {
            Ok(capturing) => capturing,
            Err(error) => skip!("tcpdump: {error}"),
        };
        let sent = send(&host, to);
        let (_, got) = capturing.end();
        check(&got.iter().collect::<Vec<_>>(), to, None, false, sent, 1);
    }
}

/// Makes a TUN device and keeps it until its standard input ends. Its packets have no link layer.
const MAKE_TUN: &str = "
import fcntl, struct, sys
tun = open('/dev/net/tun', 'r+b', buffering=0)
fcntl.ioctl(tun, 0x400454ca, struct.pack('16sH', b'raw0', 0x1001))
print(flush=True)
sys.stdin.read()
";

#[test]
fn tcpdump_at_a_device_without_link_layer() {
    needs_root!();
    let host = Namespace::create().expect("a namespace");
    let mut python = Command::new("python3");
    python.args(["-c", MAKE_TUN]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut tun = match host.run(|| python.spawn()).expect("the namespace") {
        Ok(tun) => tun,
        Err(error) => skip!("python3: {error}"),
    };
    let made = tun.stdout.take().expect("a pipe").read(&mut [0]).expect("a pipe") > 0;
    if made {
        let settle = || {
            let device = link::read("raw0").expect("the device");
            link::set_up(&device).expect("the device up");
            link::add_address(&device, [10, 9, 0, 1].into(), 24).expect("an address");
        };
        host.run(settle).expect("the namespace");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("raw.pcap");
        match Capturing::begin(&host, "tcpdump", &["-i", "raw0"], DATAGRAMS, path) {
            Ok(capturing) => {
                let to = [10, 9, 0, 2].into();
                let sent = send(&host, to);
                let (_, got) = capturing.end();
                assert!(got.iter().all(|got| got.link == LinkType::Raw));
                check(&got.iter().collect::<Vec<_>>(), to, None, false, sent, 1000);
            }
            Err(error) => skipped(test_name!(), &format!("tcpdump: {error}")),
        }
    } else {
        skipped(test_name!(), "no TUN device can be made here");
    }
    drop(tun.stdin.take());
    tun.wait().expect("a child");
}

#[test]
fn dumpcap_at_two_devices() {
    needs_root!();
    let hosts = TwoHosts::create();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("two.pcapng");
    let args = ["-i", DEVICE, "-i", "any"];
    let capturing = match Capturing::begin(&hosts.near, "dumpcap", &args, 2 * DATAGRAMS, path) {
        Ok(capturing) => capturing,
        Err(error) => skip!("dumpcap: {error}"),
    };
    let sent = send(&hosts.near, hosts.far_address());
    let (format, got) = capturing.end();
    assert_eq!(format, "pcapng");
    let of = |link| got.iter().filter(|got| got.link == link).collect::<Vec<_>>();
    check(&of(LinkType::Ethernet), hosts.far_address(), None, false, sent, 1);
    let cooked = [of(LinkType::Sll), of(LinkType::Sll2)].concat();
    check(&cooked, hosts.far_address(), Some(PacketDirection::Out), false, sent, 1);
}

#[test]
fn editcap_to_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let data = frame(b"converted");
    let packets: Vec<_> = (0..5).map(|number| 1_700_000_000_000_000_000 + number * 1_234_567_891).collect();
    let mut writer =
        PcapngWriter::new(File::create(path("ours")).expect("a file"), "netfathom").expect("a file");
    let interface = writer.interface("nf0", "", LinkType::Ethernet, 0).expect("a file");
    for &time_ns in &packets {
        let original_bytes = data.len() as u32;
        let (resolution, link) = (Resolution::NANOSECONDS, LinkType::Ethernet);
        let packet = Packet { time_ns, resolution, link, way: None, original_bytes, data: &data };
        writer.packet(interface, &packet, &[]).expect("a file");
    }
    writer.finish().expect("a file");
    for (args, format, link, unit_ns) in [
        (&["-F", "pcap"][..], MICROSECONDS, LinkType::Ethernet, 1000),
        (&["-F", "nsecpcap"], NANOSECONDS, LinkType::Ethernet, 1),
        (&["-F", "modpcap"], "pcap (modified), microseconds", LinkType::Ethernet, 1000),
        (&["-F", "pcapng"], "pcapng", LinkType::Ethernet, 1),
        (&["-F", "pcapng", "-T", "rawip"], "pcapng", LinkType::Raw, 1),
    ] {
        let output = match Command::new("editcap").args(args).arg(path("ours")).arg(path("theirs")).output() {
            Ok(output) => output,
            Err(error) => skip!("editcap: {error}"),
        };
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let (read_format, got) = read_file(&path("theirs"));
        assert_eq!(read_format, format, "{args:?}");
        let times: Vec<_> = got.iter().map(|got| got.time_ns).collect();
        let expected: Vec<_> = packets.iter().map(|time| time / unit_ns * unit_ns).collect();
        assert_eq!(times, expected, "{args:?}");
        assert!(got.iter().all(|got| got.link == link && got.data == data), "{args:?}");
    }
}
