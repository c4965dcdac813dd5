//! `netfathom ttcp`, and the same by the name `ttcp`, as scripts meet it.

mod beyond;
mod intervals;
mod lines;
mod options;
mod pipelines;
mod refused;
mod serve;
mod sweep;

use std::net::TcpListener;
use std::process::{Child, Command};

use netfathom_model::record::{Measured, Record, TransferResult};
use netfathom_sys::netns::Namespace;

use crate::child::{Ended, end, netfathom, run, start, start_on, until, until_holds};

/// The command with arguments that hold no blanks.
fn ttcp(args: &str) -> Command {
    let mut command = netfathom("ttcp");
    command.args(args.split_whitespace());
    command
}

/// A port that was free just now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a receiver and waits until it listens.
fn receiver(command: &mut Command, port: u16) -> Child {
    let child = start(command);
    listens(&child, port);
    child
}

/// The same on another host.
fn receiver_on(host: &Namespace, command: &mut Command, port: u16) -> Child {
    let child = start_on(host, command);
    listens(&child, port);
    child
}

/// A receiver by the command with arguments that hold no blanks, and its port.
fn receiving(args: &str) -> (Child, u16) {
    let port = free_port();
    (receiver(&mut ttcp(&format!("{args} -p {port}")), port), port)
}

/// Both ends of a whole transfer, the transmitter's first.
fn both(transmit: &str, receive: &str) -> [Ended; 2] {
    let (to, port) = receiving(receive);
    let from = run(&mut ttcp(&format!("{transmit} -p {port} 127.0.0.1")));
    let to = end(to);
    assert_eq!((from.status, to.status), (0, 0), "{from}{to}");
    [from, to]
}

/// Waits until a program has bound the port, TCP or UDP, in its own network namespace.
fn listens(child: &Child, port: u16) {
    let ending = format!(":{port:04X} ");
    until("a receiver", || {
        ["tcp", "tcp6", "udp", "udp6"].into_iter().find(|table| {
            let path = format!("/proc/{}/net/{table}", child.id());
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let own = |line: &str| line.split_ascii_whitespace().nth(1).map(|a| format!("{a} "));
            text.lines().filter_map(own).any(|own| own.ends_with(&ending))
        })
    });
}

/// Waits until a sender is connected to the port.
fn connects(sender: &Child, port: u16) {
    let connected = format!(":{port:04X} 01 ");
    until_holds("a connection", || {
        let text = std::fs::read_to_string(format!("/proc/{}/net/tcp", sender.id())).unwrap();
        text.contains(&connected)
    });
}

fn result(json: &str) -> TransferResult {
    let record: Record = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"));
    TransferResult::of(&record.measurement).expect("a transfer").clone()
}
