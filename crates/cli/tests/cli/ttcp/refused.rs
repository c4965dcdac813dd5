//! What cannot be: a clear message, and the right exit status.

use std::net::TcpListener;
use std::process::Stdio;

use netfathom_testkit::{TwoHosts, needs_root};

use super::{both, connects, free_port, receiver, receiving, ttcp};
use crate::child::{end, run, shell, signal, start, unprivileged};
use crate::refusals::{refused, refused_for};

/// Arguments, exit status, and the message.
const CASES: [(&str, i32, &str); 78] = [
    ("-ts", 2, "<HOST>"),
    ("-s host", 2, "(--transmit) sends, ttcp -r (--receive) receives; for iperf3 -s: ttcp -rs --serve"),
    ("-ts -r host", 2, "cannot be used with"),
    ("-ts -p 0 127.0.0.1", 2, "--port 0: choose from 1 to 65535"),
    ("-ts -p 65536 127.0.0.1", 2, "whole number from 0 to 65535"),
    ("-ts -l 0 127.0.0.1", 2, "--buffer-size 0: choose from 1"),
    ("-ts -l 2g 127.0.0.1", 2, "--buffer-size 2147483648: choose from 1 to 1073741824"),
    ("-ts -l 2147483648 127.0.0.1", 2, "--buffer-size 2147483648"),
    ("-ts -l -5 127.0.0.1", 2, "number of bytes such as"),
    ("-ts -l many 127.0.0.1", 2, "number of bytes such as"),
    ("-ts -A 3 127.0.0.1", 2, "choose 2 or 4"),
    ("-ts -A 8 -O 8 127.0.0.1", 2, "--offset 8"),
    ("-ts -O 16384 127.0.0.1", 2, "choose less than that"),
    ("-ts -b 4g 127.0.0.1", 2, "wmem_max"),
    ("-ts -n 0 127.0.0.1", 2, "--count 0"),
    ("-ts -n -1 127.0.0.1", 2, "whole number"),
    ("-ts -f q 127.0.0.1", 2, "possible values: k, K, m, M, g, G"),
    ("-ts --discard 127.0.0.1", 2, "--discard is for the receiver"),
    ("-rs --discard --checksum", 2, "cannot --touch or --checksum"),
    ("-r --discard", 2, "needs --source-sink"),
    ("-rs --discard -T", 2, "cannot --touch"),
    ("-tsu -l 4 127.0.0.1", 2, "choose at least 5"),
    ("-tsu --checksum 127.0.0.1", 2, "--checksum is for TCP"),
    ("-tsu -l 65528 127.0.0.1", 2, "at most 65507"),
    ("-tsuD 127.0.0.1", 2, "--no-delay is for TCP"),
    ("-r --json", 2, "standard output is where the data goes"),
    ("-rs --idle 0s", 2, "--idle"),
    ("-ts --time 0s 127.0.0.1", 2, "--time 0"),
    ("-t --time 1s 127.0.0.1", 2, "--source-sink"),
    ("-ts -P 0 127.0.0.1", 2, "--parallel 0: choose from 1 to 1024"),
    ("-ts -P 1025 127.0.0.1", 2, "--parallel 1025: choose from 1 to 1024"),
    ("-ts -P 70000 127.0.0.1", 2, "whole number from 0 to 65535"),
    ("-t -P 2 127.0.0.1", 2, "standard input and output are one stream each"),
    ("-tsu -P 2 127.0.0.1", 2, "--parallel is for TCP"),
    ("-ts --serve 127.0.0.1", 2, "--serve is for the receiver"),
    ("-r --serve", 2, "several senders cannot share standard output"),
    ("-rsu --serve", 2, "--serve is for TCP"),
    ("-rs --serve --explain", 2, "--explain is for one transfer"),
    ("-rs --serve --cost", 2, "--cost is for one transfer"),
    ("-rs --serve -P 2", 2, "takes any number of streams"),
    ("-rs --serve --time 1s", 2, "--time is for a transmitter"),
    ("-rs --serve --max-clients 0", 2, "--max-clients 0: choose from 1 to 1024"),
    ("-rs --serve --max-clients 1025", 2, "--max-clients 1025: choose from 1 to 1024"),
    ("-rs --serve --max-clients 4294967296", 2, "whole number"),
    ("-rs --serve --max-bytes 0", 2, "--max-bytes 0: choose from 1"),
    ("-rs --serve --timeout 999us", 2, "--timeout 999us: choose from 1ms"),
    ("-rs --max-clients 2", 2, "--serve"),
    ("-rs --max-bytes 2", 2, "--serve"),
    ("-rs --timeout 2s", 2, "--serve"),
    ("-ts --pace 7999 127.0.0.1", 2, "--pace 7999: choose from 8000"),
    ("-ts --pace fast 127.0.0.1", 2, "bits a second such as 500k"),
    ("-ts --pace 1000000000001 127.0.0.1", 2, "to 1000000000000"),
    ("-rs --pace 1m", 2, "--pace is for the transmitter"),
    ("-ts --interval 9ms 127.0.0.1", 2, "--interval 9ms: choose from 10ms"),
    ("-tsu --explain 127.0.0.1", 2, "--explain is for TCP"),
    ("-tsu -C cubic 127.0.0.1", 2, "--congestion is for TCP"),
    ("-tsu -Z 127.0.0.1", 2, "--zero-copy is for TCP"),
    ("-ts -Z --checksum 127.0.0.1", 2, "leave --checksum out"),
    ("-rsu -Z", 2, "--zero-copy"),
    ("-rs -Z --checksum", 2, "leave --checksum out"),
    ("-rs -Z -T", 2, "leave --full-blocks and --touch out"),
    ("-r -Z -B", 2, "leave --full-blocks and --touch out"),
    ("sweep --sndbuf many", 2, "or auto"),
    ("sweep --sndbuf 0", 2, "--sndbuf 0: choose from 1"),
    ("sweep --write 0", 2, "--write 0: choose from 1"),
    ("sweep --loss 100%", 2, "below 100"),
    ("sweep --time 1ms", 2, "--time 1ms: choose from 20ms to 600s"),
    ("sweep --trials 0", 2, "--trials 0: choose from 1"),
    ("sweep --here loopback --delay 1ms", 2, "--here loopback has no --delay"),
    ("sweep --here lab bsd", 2, "cannot be used with"),
    ("sweep --delay 1ms bsd", 2, "cannot be used with"),
    ("sweep --port 5002", 2, "<HOST>"),
    ("sweep --queue 1m", 2, "--rate"),
    ("sweep --no-delay perhaps", 2, "possible values: off, on, both"),
    // Behind an option of the classic the word is a host, as it has always been.
    ("-ts -n 1 sweep", 1, "the host `sweep`"),
    // No name can be like that: no server is asked.
    ("-ts no..such..host", 1, "cannot find the host `no..such..host`"),
    ("-rs 203.0.113.1", 1, "on an address of its own host"),
    ("-tsu -l 65520 127.0.0.1", 1, "a datagram does not fit"),
];

#[test]
fn what_cannot_be_is_refused() {
    for (args, status, reply) in CASES {
        let message = refused(&mut ttcp(args), status);
        assert!(message.contains(reply), "{args}: {message}");
        // The message names the option that was given.
        assert!(!args.contains("-Z") || !message.contains("--discard"), "{args}: {message}");
    }
}

#[test]
fn a_receiver_that_is_not_there_is_named_with_what_to_do() {
    let port = free_port();
    let why = format!("cannot connect to 127.0.0.1:{port}: Connection refused");
    let remedy = format!("netfathom ttcp -r -p {port}");
    refused_for(&mut ttcp(&format!("-ts -p {port} 127.0.0.1")), 1, &[&why, &remedy]);
}

#[test]
fn a_host_without_a_way_to_it_is_named() {
    needs_root!();
    let hosts = TwoHosts::create();
    // One is routed nowhere, the other's wire has no host there.
    for (host, reply) in [("10.78.0.1", "Network is unreachable"), ("10.77.0.9", "No route to host")] {
        let ended = hosts.near.run(|| run(&mut ttcp(&format!("-ts {host}")))).unwrap();
        ended.exited(1).explains(&[reply, &format!("ip route get {host}")]);
    }
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    let args = format!("-rs -p {}", taken.local_addr().unwrap().port());
    refused_for(&mut ttcp(&args), 1, &["another program has the port"]);
}

#[test]
fn a_buffer_beyond_the_limit_is_granted_in_part_and_reported() {
    let limit: u64 = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap().trim().parse().unwrap();
    let [from, _] = both("-ts -b 1g", "-rs");
    if limit < 1 << 30 {
        let granted = format!("of 1073741824 bytes was asked for, and {limit} were granted");
        from.explains(&[&granted, "sysctl -w"]);
    }
}

#[test]
fn an_unknown_congestion_control_is_refused_with_the_known_ones() {
    for args in ["-ts -C no_such 127.0.0.1", "-rs -C no_such"] {
        let why = ["control `no_such`: No such file", "reno", "modprobe tcp_no_such"];
        refused_for(&mut ttcp(&format!("{args} -p {}", free_port())), 1, &why);
    }
    refused_for(&mut ttcp("-ts -C a_name_that_is_too_long 127.0.0.1"), 1, &["there is: "]);
    let names = |which| {
        let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
        let text = std::fs::read_to_string(path).unwrap();
        text.split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    let allowed = names("allowed");
    if let Some(name) = names("available").iter().find(|name| !allowed.contains(name)) {
        let mut command = unprivileged(&format!("ttcp -ts -C {name} 127.0.0.1"));
        refused_for(&mut command, 1, &["tcp_allowed_congestion_control"]);
    }
}

#[test]
fn debugging_without_privilege_is_reported() {
    let port = free_port();
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut command = unprivileged("ttcp -tsd 127.0.0.1");
    refused_for(command.args(["-p", &port.to_string()]), 1, &["CAP_NET_ADMIN"]);
}

#[test]
fn closed_and_impossible_standard_streams_are_reported_before_anything_is_sent() {
    for (script, reply) in [
        ("exec $0 ttcp -r >&-", "standard output is closed"),
        ("exec $0 ttcp -t 127.0.0.1 <&-", "standard input is closed"),
        ("exec $0 ttcp -t 127.0.0.1 < /", "standard input is a directory"),
    ] {
        refused_for(&mut shell(script), 1, &[reply]);
    }
}

#[test]
fn a_full_disk_at_the_receiver_fails_both_ends_with_how_much_went() {
    let port = free_port();
    let to = receiver(&mut shell(&format!("exec $0 ttcp -r -p {port} >/dev/full")), port);
    let from = run(&mut ttcp(&format!("-ts -n 100000 -p {port} 127.0.0.1")));
    end(to).exited(1).explains(&["free some space", "received ", "not the whole"]);
    let from = from.exited(1).explains(&["sent "]);
    assert!(!from.err.contains("I/O calls"), "figures of what failed: {from}");
}

/// The kernel accepts for it, and its buffers fill.
#[test]
fn a_receiver_that_never_reads_is_named_as_the_reason() {
    let never_reads = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = never_reads.local_addr().unwrap().port();
    let from = run(&mut ttcp(&format!("-ts --time 300ms --idle 1s -p {port} 127.0.0.1")));
    from.exited(1).explains(&["not the whole: cut off 1s after its time (--idle)", "had not acknowledged"]);
}

/// The receiver must not take what came for the whole, however the sender ended.
#[test]
fn a_sender_that_is_ended_by_any_signal_fails_both_ends() {
    for name in ["INT", "TERM", "KILL"] {
        let (to, port) = receiving("-r");
        let mut from = ttcp(&format!("-t -p {port} 127.0.0.1"));
        let mut from = start(from.stdin(Stdio::piped()));
        std::io::Write::write_all(from.stdin.as_mut().unwrap(), b"half of it").unwrap();
        connects(&from, port);
        std::thread::sleep(std::time::Duration::from_millis(100));
        signal(name, &from);
        let status = end(from).status;
        assert!(if name == "KILL" { status == 137 } else { status == 1 }, "{name}: {status}");
        let to = end(to).exited(1).explains(&["cut the connection"]);
        assert_eq!(to.out, "half of it");
    }
}
