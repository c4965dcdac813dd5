//! An exporter follows the processes of its target as they come and go.

use netfathom_testkit::copy_program;

use super::exporter::{address, scraped, value};
use super::targets::{NO_PYTHON, Python, with_capabilities};
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

/// What an exporter serves; `None` before its first second.
fn shown(address: &str, series: &str) -> Option<f64> {
    value(&scraped(address, "/metrics", address), &format!("netfathom_watch_{series}"))
}

fn seen(address: &str) -> Option<f64> {
    shown(address, "seen_messages_total{direction=\"rx\"}")
}

/// Requests of a new server until the exporter has one of them; then the server ends.
fn follows(address: &str, (mut server, port): (Killed, u16)) {
    let before = seen(address);
    until_holds("a message of the server", || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&[7; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
        seen(address) > before
    });
    let (processes, sockets) = (shown(address, "processes"), shown(address, "sockets"));
    assert!(processes >= Some(1.0) && sockets >= Some(1.0), "{processes:?} {sockets:?}");
    kill(&mut server);
    until_holds("its end", || shown(address, "processes") == Some(0.0));
    // What is seen from then on is another's.
    until_holds("the last message", || {
        let last = seen(address);
        thread::sleep(Duration::from_millis(1200));
        seen(address) == last
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
        assert!(shown(&address, "late_processes_total") >= Some(2.0));
        interrupted(watch).measured();
    }
}

#[test]
fn an_exporter_that_waited_in_vain_shows_why_there_are_no_messages() {
    needs_root!();
    let dir = out();
    let ended = interrupted(watching("nf-test-absent --serve :0 --json", dir.path())).exited(3);
    ended.shows(&["no process of the target was there"]);
}

/// They are root's.
#[test]
fn an_exporter_warns_once_of_processes_that_it_may_not_look_at_and_goes_on() {
    const DENIED: &str = "nf-test-denied";
    needs_root!();
    let (dir, programs) = (out(), tempfile::tempdir().unwrap());
    let program = programs.path().join(DENIED);
    copy_program("/bin/sleep", &program);
    let sleep = || Killed(Command::new(&program).arg("1000").spawn().unwrap());
    let first = sleep();
    let test = test_name!();
    let without_ptrace = |args: &str| with_capabilities(test, dir.path(), "-all,+bpf,+perfmon", args);
    let needed = "its sockets need CAP_SYS_PTRACE";
    let Some(alone) = without_ptrace(DENIED) else { return };
    end(alone).exited(1).explains(&[needed, &format!("process {}", first.id())]);
    let Some(watch) = without_ptrace(&format!("{DENIED} --serve :0 --json")) else { return };
    await_programs(&watch, HOOKS);
    let _second = sleep();
    // Processes are looked for each second.
    thread::sleep(Duration::from_millis(2500));
    // No message came.
    let ended = interrupted(watch).exited(3);
    assert_eq!(ended.err.matches(needed).count(), 1, "{ended}");
    let record: Record = ended.json();
    assert!(record.findings.iter().any(|finding| finding.evidence.contains(needed)), "{ended}");
}
