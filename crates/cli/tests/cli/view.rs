//! `netfathom view`: who is answered, with what, and who is not.

mod attacks;
mod page;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::child::{Ended, netfathom, out, run, start, until_holds};
use crate::refusals::refused_for;
use crate::runs::put;
use crate::server::Server;

/// A server that runs, and is ended with the test.
pub struct Viewed {
    server: Server,
    pub port: u16,
}

impl Viewed {
    pub fn start(out: &Path) -> Self {
        let server = Server::of(start(netfathom("view --out").arg(out)));
        Self { port: server.address.port(), server }
    }

    pub fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        stream
    }

    /// What is answered to these bytes, until the server closes.
    pub fn send(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // It may close before it has read all.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, path: &str) -> String {
        self.send(format!("GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).as_bytes())
    }

    /// Asks it to end and waits for that.
    pub fn stop(self, name: &str) -> Ended {
        self.server.signal(name);
        self.server.wait()
    }
}

pub fn status(answer: &str) -> u16 {
    answer.get(9..12).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

#[test]
fn a_signal_ends_it_cleanly_and_its_port_is_free_again() {
    let dir = out();
    put(dir.path(), 1, "ttcp", |_| ());
    for name in ["INT", "TERM"] {
        let viewed = Viewed::start(dir.path());
        // One who has connected and says nothing does not hold it up.
        let idle = viewed.connect();
        let port = viewed.port;
        viewed.stop(name).quietly();
        until_holds("the end of the port", || TcpStream::connect(("127.0.0.1", port)).is_err());
        drop(idle);
    }
}

#[test]
fn a_port_that_is_taken_and_a_directory_that_is_not_there_are_named() {
    let dir = out();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let taken = "another program has that port; choose another with --port";
    refused_for(netfathom(&format!("view --port {port} --out")).arg(dir.path()), 1, &[taken]);
    let nowhere = "there is no directory /nonexistent/runs";
    refused_for(&mut netfathom("view --out /nonexistent/runs"), 1, &[nowhere]);
}

#[test]
fn it_listens_on_the_loopback_device_alone() {
    let dir = out();
    let viewed = Viewed::start(dir.path());
    let hex = format!(":{:04X}", viewed.port);
    let listening = |file: &str| -> Vec<String> {
        let table = std::fs::read_to_string(file).unwrap();
        let rows = table.lines().skip(1).map(|l| l.split_whitespace().collect::<Vec<_>>());
        rows.filter(|r| r[3] == "0A" && r[1].ends_with(&hex)).map(|r| r[1].to_owned()).collect()
    };
    assert_eq!(listening("/proc/net/tcp"), [format!("0100007F{hex}")]);
    assert_eq!(listening("/proc/net/tcp6"), Vec::<String>::new());
}

#[test]
fn open_shows_the_page_or_says_where_it_is() {
    let dir = out();
    let script = format!("timeout -s INT 3 \"$0\" view --open --out {}", dir.path().display());
    let mut command = crate::child::shell(&script);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ended = run(command.env_remove("BROWSER"));
    let ended = ended.explains(&["there is no display here, and no $BROWSER; open http://127.0.0.1:"]);
    assert!(ended.out.starts_with("http://127.0.0.1:"), "{ended}");

    let (browser, seen) = (dir.path().join("browser"), dir.path().join("seen"));
    std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > {}\n", seen.display())).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ended = run(command.env("BROWSER", &browser));
    assert_eq!(ended.err, "");
    let shown = std::fs::read_to_string(seen).unwrap();
    assert!(ended.out.starts_with(shown.trim()) && shown.starts_with("http://127.0.0.1:"), "{shown}");
}
