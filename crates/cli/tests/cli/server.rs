//! Servers of netfathom, each in a process of its own.

use std::io::{BufRead, BufReader};
use std::iter::repeat_with;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use netfathom_model::record::{Record, State};
use serde_json::Value;

use crate::child::{Ended, end_within, netfathom, record, signal, start};

/// In which one side notices that the other is gone, and what a busy machine adds.
pub const NOTICES: Duration = Duration::from_secs(8);
/// Beyond what any event takes.
pub const IN_VAIN: Duration = Duration::from_secs(30);

/// It is killed with this value, if it has not ended by itself.
pub struct Server {
    child: Option<Child>,
    lines: Receiver<String>,
    /// The first that it prints.
    pub address: SocketAddr,
}

impl Server {
    pub fn start(command: &str, args: &str) -> Self {
        Self::of(start(&mut netfathom(&format!("{command} --listen 127.0.0.1:0 {args}"))))
    }

    /// Of a child with a piped standard output.
    pub fn of(mut child: Child) -> Self {
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let (shown, lines) = channel();
        thread::spawn(move || printed.map_while(Result::ok).for_each(|line| drop(shown.send(line))));
        let mut server = Self { child: Some(child), lines, address: ([0, 0, 0, 0], 0).into() };
        let in_line = |line: String| line.split([' ', ',', '"', '/']).find_map(|word| word.parse().ok());
        let address = repeat_with(|| server.line("an address")).find_map(in_line);
        server.address = address.unwrap();
        server
    }

    fn line(&self, awaited: &str) -> String {
        self.lines.recv_timeout(IN_VAIN).unwrap_or_else(|e| panic!("no `{awaited}`: {e}"))
    }

    /// The next line with these words.
    pub fn next(&self, words: &str) -> String {
        repeat_with(|| self.line(words)).find(|line| line.contains(words)).unwrap()
    }

    /// The next event of this kind, of a server that prints JSON alone.
    pub fn event(&self, kind: &str) -> Value {
        let mut events = repeat_with(|| serde_json::from_str::<Value>(&self.line(kind)).unwrap());
        events.find(|event| event["event"] == kind).unwrap()
    }

    pub fn signal(&self, name: &str) {
        signal(name, self.child.as_ref().unwrap());
    }

    /// What a client records that ends as a signal reaches this one.
    pub fn lost(self, name: &str, client: Child, why: &str, out: &Path) -> Record {
        self.signal(name);
        end_within(client, NOTICES).exited(1).explains(&[why]);
        let record = record(out).unwrap();
        assert_ne!(record.state, State::Complete);
        if name == "INT" {
            assert_eq!(self.wait().status, 0);
        }
        record
    }

    /// Its own end.
    pub fn wait(mut self) -> Ended {
        end_within(self.child.take().unwrap(), NOTICES)
    }

    pub fn end(self) -> Ended {
        self.signal("INT");
        self.wait()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
