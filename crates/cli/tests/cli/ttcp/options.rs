//! Each option by what it does: to the socket, the buffer, the wire, the output.

use std::io::Read;
use std::net::{Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};
use std::time::Duration;

use netfathom_model::record::{TransferMethod, TransferResult};
use netfathom_sys::child::descriptor;
use netfathom_sys::endpoint::{self, SocketBuffer};

use super::{both, free_port, receiver, receiving, result, ttcp};
use crate::child::{end, is_root, run, start, until};

/// The socket that a child has open, as the kernel has it.
fn socket_of(child: &mut Child) -> OwnedFd {
    let numbers = || {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        folder.filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_socket = std::fs::read_link(&path).ok()?.to_str()?.starts_with("socket:");
            path.file_name()?.to_str()?.parse().ok().filter(|_| is_socket)
        })
    };
    let found: Vec<i32> = until("a socket", || Some(numbers().collect::<Vec<_>>()).filter(|n| !n.is_empty()));
    // Signals arrive by a pair of sockets, which have no address of the Internet.
    found
        .into_iter()
        .map(|number| descriptor(child, number).unwrap())
        .find(|fd| endpoint::local_address(fd.as_fd()).is_ok())
        .expect("a socket of the Internet")
}

/// A transmitter in the middle of its transfer, and what it is connected to.
fn transmitting(options: &str) -> (Child, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let child = start(&mut ttcp(&format!("-ts -n 1000000 {options} -p {port} 127.0.0.1")));
    let (mut peer, _) = listener.accept().unwrap();
    // By then every option has been set.
    peer.read_exact(&mut [0; 1]).unwrap();
    (child, peer)
}

/// What `look` sees of the socket of a transmitter with these options.
fn seen<T>(options: &str, look: impl Fn(OwnedFd) -> T) -> T {
    let (mut child, peer) = transmitting(options);
    let seen = look(socket_of(&mut child));
    drop(peer);
    assert_eq!(end(child).status, 1);
    seen
}

#[test]
fn options_of_the_socket_are_those_that_the_kernel_has() {
    let nodelay = |fd: OwnedFd| TcpStream::from(fd).nodelay().unwrap();
    for (options, expected) in [("", false), ("-D", true), ("--no-delay", true)] {
        assert_eq!(seen(options, nodelay), expected, "{options}");
    }
    let send_buffer = |fd: OwnedFd| endpoint::buffer_bytes(fd.as_fd(), SocketBuffer::Send).unwrap();
    for options in ["-b 20000", "-b20000", "--socket-buffer 20000"] {
        assert_eq!(seen(options, send_buffer), 40_000, "{options}");
    }
    assert_ne!(seen("-b 0", send_buffer), 40_000);
    let debug = |fd: OwnedFd| endpoint::is_debug(fd.as_fd()).unwrap();
    assert!(!seen("", debug));
    if is_root() {
        assert!(seen("-d", debug) && seen("--debug", debug));
    }
}

#[test]
fn congestion_control_and_pace_are_those_that_the_kernel_has() {
    let congestion = |fd: OwnedFd| endpoint::congestion(fd.as_fd()).unwrap();
    for name in endpoint::available_congestion_controls().unwrap() {
        // Others than those need root.
        if is_root() || name == "reno" {
            assert_eq!(seen(&format!("-C {name}"), congestion), name);
            let ends = transferred(&format!("--congestion {name}"), &format!("-C {name}"));
            assert_eq!(ends.map(|end| end.congestion.unwrap()), [name.clone(), name]);
        }
    }
    let usual = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_eq!(transferred("", "").map(|end| end.congestion.unwrap()), [usual.trim(); 2]);
    let pacing = |fd: OwnedFd| endpoint::pacing(fd.as_fd()).unwrap();
    assert_eq!(seen("", pacing), None);
    for (options, bytes_per_s) in [("--pace 800m", 100_000_000), ("--pace 1G", 125_000_000)] {
        assert_eq!(seen(options, pacing), Some(bytes_per_s), "{options}");
    }
}

#[test]
fn a_receiver_has_its_buffer_and_its_congestion_control_before_it_listens() {
    let (mut child, port) = receiving("-rs -b 30k -C reno");
    let socket = socket_of(&mut child);
    assert_eq!(endpoint::congestion(socket.as_fd()).unwrap(), "reno");
    assert_eq!(endpoint::buffer_bytes(socket.as_fd(), SocketBuffer::Receive).unwrap(), 2 * 30 * 1024);
    drop(socket);
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    assert_eq!(end(child).status, 0);
}

/// A whole transfer with these options, as either end has it.
fn transferred(transmit: &str, receive: &str) -> [TransferResult; 2] {
    both(&format!("-t -s --json {transmit}"), &format!("-r -s --json {receive}")).map(|end| result(&end.out))
}

#[test]
fn sizes_counts_and_places_of_buffers_are_those_asked_for_and_the_way_is_recorded() {
    const USUAL: u64 = 8192 * 2048;
    for (options, bytes, calls, align, offset, receive, way) in [
        ("", USUAL, 2048, 16_384, 0, "", TransferMethod::Copied),
        ("-l 1000 -n 7", 7000, 7, 16_384, 0, "-T", TransferMethod::Copied),
        ("--buffer-size 64k --count 3", 3 << 16, 3, 16_384, 0, "--discard", TransferMethod::Discarded),
        ("-A 4096", USUAL, 2048, 4096, 0, "-A 4096", TransferMethod::Copied),
        ("-A65536 -O3", USUAL, 2048, 65_536, 3, "-A65536 -O3", TransferMethod::Copied),
        (
            "--align 1m --offset 4k",
            USUAL,
            2048,
            1 << 20,
            4096,
            "--align 1m --offset 4k",
            TransferMethod::Copied,
        ),
        ("-A 0", USUAL, 2048, 1, 0, "-A 0", TransferMethod::Copied),
    ] {
        let [from, to] = transferred(options, receive);
        assert_eq!(([from.bytes(), to.bytes()], to.way), ([bytes; 2], way), "{options}");
        assert_eq!(from.streams[0].calls, calls, "{options}");
        let places = [&from, &to].map(|end| end.buffer_address % align);
        assert_eq!(places, [offset; 2], "{options}");
    }
    // A receiver's own size bounds its calls.
    let [_, to] = transferred("-l 64k -n 10", "-l 1000");
    assert!(to.streams[0].calls >= 656, "{}", to.streams[0].calls);
}

#[test]
fn a_time_ends_it_also_without_a_reader() {
    for protocol in ["", "-u"] {
        let [from, to] = transferred(&format!("--time 300ms {protocol}"), &format!("{protocol} --idle 1s"));
        let ns = from.streams[0].duration_ns;
        assert!((300_000_000..20_000_000_000).contains(&ns) && from.bytes() > 0, "{protocol}: {ns}");
        assert!(to.bytes() > 0 && (protocol == "-u" || to.bytes() == from.bytes()), "{protocol}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let child = start(&mut ttcp(&format!("-ts --json --time 300ms -p {port} 127.0.0.1")));
    let (mut peer, _) = listener.accept().unwrap();
    std::thread::sleep(Duration::from_millis(900));
    let mut came = Vec::new();
    peer.read_to_end(&mut came).unwrap();
    drop(peer);
    let ended = end(child);
    let result = result(&ended.out);
    assert_eq!((ended.status, came.len() as u64), (0, result.bytes()), "{ended}");
    assert!(result.streams[0].duration_ns < 900_000_000, "the time was over while it was blocked");
}

#[test]
fn datagrams_have_the_size_of_the_buffer_and_go_to_the_port() {
    for options in ["-tsu -l 700 -n 2", "--transmit --source-sink --udp --buffer-size 700 --count 2"] {
        let classic = UdpSocket::bind("127.0.0.1:0").unwrap();
        classic.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let port = classic.local_addr().unwrap().port();
        run(&mut ttcp(&format!("{options} --port {port} 127.0.0.1"))).exited(0);
        let lengths: Vec<usize> = (0..8).map(|_| classic.recv(&mut [0; 999]).unwrap()).collect();
        assert_eq!(lengths, [4, 700, 700, 4, 4, 4, 4, 4]);
    }
}

#[test]
fn both_versions_of_ip_are_spoken_and_either_is_taken() {
    let has_v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    for host in ["127.0.0.1", "::1"].into_iter().filter(|host| *host != "::1" || has_v6) {
        for protocol in ["", "-u"] {
            let (to, port) = receiving(&format!("-rs {protocol} --json -b 1m"));
            let from = run(&mut ttcp(&format!("-ts {protocol} --json -n 10 -l 100 -p {port} {host}")));
            let to = result(&end(to).out);
            assert_eq!((from.status, to.bytes()), (0, 1000), "{host} {protocol}: {from}");
            assert_eq!(result(&from.out).local, to.peer.unwrap());
        }
    }
}

#[test]
fn the_rate_is_in_the_unit_that_was_asked_for() {
    for (options, unit) in [
        ("", "KB/sec"),
        ("-f k", "Kbit/sec"),
        ("-fK", "KB/sec"),
        ("-f m", "Mbit/sec"),
        ("--format M", "MB/sec"),
        ("-f g", "Gbit/sec"),
        ("-f G", "GB/sec"),
    ] {
        let [from, _] = both(&format!("-ts -n 100 {options}"), "-rs");
        assert!(from.err.contains(&format!(" {unit} (")), "{options}: {from}");
    }
}

/// Lengths of the writes to standard output, which a socket of datagrams keeps apart.
fn writes(options: &str) -> Vec<usize> {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let port = free_port();
    let mut command = ttcp(&format!("-r -l 1000 {options} --quiet -p {port}"));
    let mut child = command.stdout(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
    drop(command);
    super::listens(&child, port);
    let mut to = TcpStream::connect(("127.0.0.1", port)).unwrap();
    to.set_nodelay(true).unwrap();
    for _ in 0..11 {
        std::io::Write::write_all(&mut to, &[1; 300]).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(to);
    assert!(child.wait().unwrap().success());
    ours.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| ours.recv(&mut [0; 2000]).ok()).take_while(|&n| n > 0).collect()
}

#[test]
fn whole_blocks_are_written_where_they_are_asked_for() {
    assert_eq!(writes("-B"), [1000, 1000, 1000, 300]);
    assert_eq!(writes("--full-blocks"), [1000, 1000, 1000, 300]);
    let pieces = writes("");
    assert!(pieces.contains(&300) && pieces.iter().sum::<usize>() == 3300, "{pieces:?}");
}

#[test]
fn nothing_is_kept_unless_it_is_asked_for() {
    let (here, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let port = free_port();
    let to = receiver(ttcp(&format!("-rs -p {port}")).current_dir(here.path()), port);
    let mut command = ttcp(&format!("-ts -p {port} 127.0.0.1"));
    let from = run(command.arg("--out").arg(out.path()).current_dir(here.path()));
    assert_eq!((from.status, end(to).status), (0, 0), "{from}");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
    let kept = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
    assert!(kept.join("report.html").is_file());
    assert!(from.err.contains(&format!("ttcp-t: report: {}/report.html", kept.display())), "{from}");
    run(crate::child::netfathom("report -v").arg(&kept)).shows(&["16,777,216 bytes sent in "]);
}
