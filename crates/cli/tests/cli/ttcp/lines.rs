//! What is printed, line for line, with every number masked.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{receiving, ttcp};
use crate::child::{end, run};

/// The text with each number, decimal or hexadecimal, as `#`, and the port as it is named.
fn masked(text: &str, port: u16) -> String {
    let text = text.replace(&port.to_string(), "PORT");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let hex = rest.starts_with("0x");
        let body = if hex { &rest[2..] } else { rest };
        let is = |c: char| if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
        let length = body.find(|c: char| !is(c)).unwrap_or(body.len());
        if length > 0 {
            out.push_str(if hex { "0x#" } else { "#" });
            rest = &body[length..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Both ends' lines of a transfer, the transmitter's first.
fn both(transmit: &str, receive: &str) -> [String; 2] {
    let (to, port) = receiving(receive);
    let from = run(&mut ttcp(&format!("{transmit} -p {port} localhost")));
    let to = end(to);
    assert_eq!((from.status, to.status), (0, 0), "{from}{to}");
    assert_eq!((from.out.as_str(), to.out.as_str()), ("", ""), "figures belong to standard error");
    [masked(&from.err, port), masked(&to.err, port)]
}

#[test]
fn the_lines_are_those_of_the_book() {
    let [from, to] = both("-tsv", "-rsv");
    assert_eq!(
        from,
        "ttcp-t: buflen=#, nbuf=#, align=#/#, port=PORT tcp -> localhost\n\
         ttcp-t: socket\n\
         ttcp-t: connect\n\
         ttcp-t: # bytes in #.# real seconds = #.# KB/sec (#.# Mb/sec)\n\
         ttcp-t: # bytes in #.# CPU seconds = #.# KB/cpu sec\n\
         ttcp-t: # I/O calls, msec/call = #.#, calls/sec = #.#\n\
         ttcp-t: buffer address 0x#\n"
    );
    assert_eq!(
        to,
        "ttcp-r: buflen=#, nbuf=#, align=#/#, port=PORT tcp\n\
         ttcp-r: socket\n\
         ttcp-r: accept from #.#.#.#\n\
         ttcp-r: # bytes in #.# real seconds = #.# KB/sec (#.# Mb/sec)\n\
         ttcp-r: # bytes in #.# CPU seconds = #.# KB/cpu sec\n\
         ttcp-r: # I/O calls, msec/call = #.#, calls/sec = #.#\n\
         ttcp-r: buffer address 0x#\n"
    );
}

#[test]
fn without_v_processor_and_address_are_left_out() {
    let [from, _] = both("-ts -b 20000 -D -P 1", "-rs");
    assert_eq!(
        from,
        "ttcp-t: buflen=#, nbuf=#, align=#/#, port=PORT, sockbufsize=# tcp -> localhost\n\
         ttcp-t: socket\n\
         ttcp-t: sndbuf\n\
         ttcp-t: nodelay\n\
         ttcp-t: connect\n\
         ttcp-t: # bytes in #.# real seconds = #.# KB/sec (#.# Mb/sec)\n\
         ttcp-t: # I/O calls, msec/call = #.#, calls/sec = #.#\n"
    );
}

/// The numbers of a line in their order.
fn numbers(line: &str) -> Vec<f64> {
    line.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|n| n.parse().ok()).collect()
}

/// The book's arithmetic, quirk included: KB are 1024 bytes, Mb 2^20 bits, and the milliseconds
/// of a call are 1024 to the second.
#[test]
fn the_figures_follow_from_each_other_as_the_books_do() {
    let [from, _] = super::both("-ts -n 200", "-rs");
    let line = |what: &str| numbers(from.err.lines().find(|l| l.contains(what)).unwrap());
    let real = line("real seconds");
    let (bytes, seconds) = (real[0], real[1]);
    assert_eq!(bytes, 200.0 * 8192.0);
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 0.01 * b + 0.01, "{a} is not {b}: {from}");
    near(real[2], bytes / seconds / 1024.0);
    near(real[3], bytes * 8.0 / seconds / 1_048_576.0);
    let calls = line("I/O calls");
    assert_eq!(calls[0], 200.0);
    near(calls[1], 1024.0 * seconds / 200.0);
    near(calls[2], 200.0 / seconds);
}

#[test]
fn called_by_the_name_it_is_that_program() {
    let (to, port) = receiving("-rs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_netfathom"));
    command.arg0("/usr/bin/ttcp").args(["-tsb", "1448", &format!("-p{port}"), "127.0.0.1"]);
    let from = run(&mut command);
    assert_eq!((from.status, end(to).status), (0, 0), "{from}");
    assert!(from.err.contains("sockbufsize=1448 tcp -> 127.0.0.1"), "{from}");
    assert!(from.err.contains("buffer of 1448 bytes was asked for, and"), "{from}");
}
