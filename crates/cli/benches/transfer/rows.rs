//! What is compared.

use super::contender::Contender;
use super::place::Counted;

pub struct Row {
    pub what: String,
    pub counted: Counted,
    pub contenders: Vec<Contender>,
    /// Ours beside the fastest of the others alone.
    pub best_only: bool,
    /// Whether each end has one processor, or goes where the system puts it.
    pub pinned: bool,
}

pub fn all() -> Vec<Row> {
    let mut rows: Vec<Row> = [1, 8, 128].map(single).into();
    rows.extend([parallel(false), parallel(true), pipes(), datagrams()]);
    rows
}

/// One stream. The receivers of the others read as much at a time as their senders write; ours
/// once as much as it reads by default, and once the same.
fn single(kib: u64) -> Row {
    let bytes = kib << 10;
    let send = format!("-ts -l {bytes} --time 9s");
    let contenders = vec![
        Contender::own("ttcp", "-rs", &send),
        Contender::own("ttcp, -l at both ends", &format!("-rs -l {bytes}"), &send),
        Contender::other(
            "iperf3",
            1.0,
            "iperf3 -s -1 -p PORT",
            &format!("iperf3 -c HOST -p PORT -i 0 -t 9 -l {bytes}"),
        ),
        Contender::other(
            "nuttcp",
            1.0,
            "nuttcp -S -1 -P PORT",
            &format!("nuttcp -t -P PORT -T 9 -l {bytes} HOST"),
        ),
        Contender::other(
            "qperf",
            1.0,
            "qperf -lp PORT",
            &format!("qperf -lp PORT -t 9 -m {bytes} HOST tcp_bw"),
        ),
        Contender::epoll(bytes),
    ];
    Row {
        what: format!("TCP, {kib} KiB writes"),
        counted: Counted::Stream,
        contenders,
        best_only: true,
        pinned: true,
    }
}

/// Four streams of one program, which may be as many threads: those have a processor each only
/// where they are not pinned.
fn parallel(pinned: bool) -> Row {
    let contenders = vec![
        Contender::own(
            "ttcp --parallel 4",
            "-rs --parallel 4 -l 131072",
            "-ts --parallel 4 -l 131072 --time 9s",
        ),
        Contender::other(
            "iperf3 -P 4",
            1.0,
            "iperf3 -s -1 -p PORT",
            "iperf3 -c HOST -p PORT -i 0 -t 9 -P 4 -l 131072",
        ),
    ];
    Row {
        what: format!("TCP, 4 streams{}, 128 KiB writes", if pinned { " on one processor" } else { "" }),
        counted: Counted::Stream,
        contenders,
        best_only: true,
        pinned,
    }
}

/// From a program that writes to one that reads.
fn pipes() -> Row {
    let contenders = vec![
        Contender::own("ttcp", "-r", "-t"),
        Contender::other("nc", 1.5, "nc -d -l PORT", "nc -N HOST PORT"),
        Contender::other("socat", 1.0, "socat -u TCP-LISTEN:PORT STDOUT", "socat -u STDIN TCP:HOST:PORT"),
        Contender::other(
            "socat -b 131072",
            1.0,
            "socat -u -b 131072 TCP-LISTEN:PORT STDOUT",
            "socat -u -b 131072 STDIN TCP:HOST:PORT",
        ),
    ];
    Row {
        what: "TCP, pipe to pipe".into(),
        counted: Counted::Stream,
        contenders: contenders.into_iter().map(Contender::between_pipes).collect(),
        best_only: false,
        pinned: true,
    }
}

/// Datagrams, one a call at both ends, as fast as it goes; what the receiver has read counts.
fn datagrams() -> Row {
    let contenders = vec![
        Contender::own("ttcp -u", "-rsu -l 1470", "-tsu -l 1470 --time 9s"),
        Contender::other(
            "iperf3 -u",
            1.0,
            "iperf3 -s -1 -p PORT",
            "iperf3 -c HOST -p PORT -i 0 -t 9 -u -b 0 -l 1470",
        ),
    ];
    Row {
        what: "UDP, 1470 bytes, delivered".into(),
        counted: Counted::Datagrams { bytes: 1470 },
        contenders,
        best_only: true,
        pinned: true,
    }
}
