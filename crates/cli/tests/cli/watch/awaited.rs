//! An exporter follows the processes of its target as they come and go.

use netfathom_testkit::copy_program;

use super::exporter::{address, scraped, value};
use super::*;

const NAME: &str = "nf-test-awaited";
const CONTAINER: &str = "docker-a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0a3a17ed0.scope";

/// A server of one request a connection, which ends with the test.
struct Server {
    child: Killed,
    port: u16,
}

impl Server {
    fn start(program: &Path, cgroup: &Group) -> Self {
        const SCRIPT: &str = "import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(peer.recv(64))
    peer.close()";
        let mut command = Command::new(program);
        let mut child = Killed(command.args(["-c", SCRIPT]).stdout(Stdio::piped()).spawn().unwrap());
        cgroup.set("cgroup.procs", child.id()).unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    fn answers(&self) {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.write_all(&[7; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
    }
}

/// How many messages an exporter saw; `None` before its first second.
fn seen(address: &str) -> Option<f64> {
    const SEEN: &str = "netfathom_watch_seen_messages_total{direction=\"rx\"}";
    value(&scraped(address, "/metrics", address), SEEN)
}

/// Requests of a new server until the exporter has one of them; then the server ends.
fn follows(address: &str, mut server: Server) {
    let before = seen(address);
    until("a message of the server", || {
        server.answers();
        (seen(address) > before).then_some(())
    });
    kill(&mut server.child);
    // What is seen from then on is another's.
    until("the last message", || {
        let last = seen(address);
        thread::sleep(std::time::Duration::from_millis(1200));
        (seen(address) == last).then_some(())
    });
}

#[test]
fn an_exporter_waits_for_its_processes_and_outlives_them() {
    needs_root!();
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
    let (Some(root), Ok(python)) = (root, fs::canonicalize("/usr/bin/python3")) else {
        skip!("needs /usr/bin/python3 and cgroups that can be made")
    };
    // One may be left of a test that was killed.
    let _ = fs::remove_dir(root.join(CONTAINER));
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join(NAME);
    copy_program(python, &program);
    let by_cgroup = format!("--cgroup {}", root.join(CONTAINER).display());
    for target in [NAME, &by_cgroup, "--container a3a17ed0a3"] {
        let dir = out();
        let mut watch = watching(&format!("{target} --serve :0 --quiet"), dir.path());
        let address = address(&mut watch);
        until("the exporter", || seen(&address));
        let Some(cgroup) = Group::below(root, CONTAINER) else { skip!("needs cgroups that can be made") };
        for _ in 0..2 {
            follows(&address, Server::start(&program, &cgroup));
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
