//! An exporter follows the processes of its target as they come and go.

use super::exporter::{address, scraped, value};
use super::targets::{NO_PYTHON, Python};
use super::*;

const NAME: &str = "nf-test-awaited";
const CONTAINER: &str = "docker-a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0.scope";

/// Answers one request a connection.
const SCRIPT: &str = "import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(peer.recv(64))
    peer.close()";

/// How many messages an exporter saw; `None` before its first second.
fn seen(address: &str) -> Option<f64> {
    const SEEN: &str = "netfathom_watch_seen_messages_total{direction=\"rx\"}";
    value(&scraped(address, "/metrics", address), SEEN)
}

/// Requests of a new server until the exporter has one of them; then the server ends.
fn follows(address: &str, (mut server, port): (Killed, u16)) {
    let before = seen(address);
    until("a message of the server", || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&[7; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
        (seen(address) > before).then_some(())
    });
    kill(&mut server);
    // What is seen from then on is another's.
    until("the last message", || {
        let last = seen(address);
        thread::sleep(Duration::from_millis(1200));
        (seen(address) == last).then_some(())
    });
}

#[test]
fn an_exporter_waits_for_its_processes_and_outlives_them() {
    needs_root!();
    let Some(python) = Python::named(NAME, CONTAINER) else { skip!("{NO_PYTHON}") };
    let by_cgroup = format!("--cgroup {}", python.cgroup().display());
    for target in [NAME, &by_cgroup, "--container a3a17ed0a3"] {
        let dir = out();
        let mut watch = watching(&format!("{target} --serve :0 --quiet"), dir.path());
        let address = address(&mut watch);
        until("the exporter", || seen(&address));
        let Some(group) = python.group() else { skip!("{NO_PYTHON}") };
        for _ in 0..2 {
            follows(&address, python.serve(&group, &[SCRIPT]));
        }
        interrupted(watch).measured();
    }
}

#[test]
fn an_exporter_that_waited_in_vain_shows_why_there_are_no_messages() {
    needs_root!();
    let dir = out();
    let ended = interrupted(watching("nf-test-absent --serve :0 --json", dir.path())).exited(3);
    assert!(ended.out.contains("no process of the target was there"), "{ended}");
}
