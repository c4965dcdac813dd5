//! What is watched, and by whom.

use std::io::ErrorKind;
use std::path::PathBuf;

use netfathom_testkit::copy_program;
use tempfile::TempDir;

use super::*;

pub(super) const NO_PYTHON: &str = "needs /usr/bin/python3 and cgroups that can be made";

/// Python by another name, and a cgroup for it with a name as of Docker.
pub(super) struct Python {
    program: PathBuf,
    _dir: TempDir,
    cgroups: &'static Path,
    container: &'static str,
}

impl Python {
    /// `None` without Python, or cgroups to make.
    pub fn named(name: &str, container: &'static str) -> Option<Self> {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let cgroups = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        // One may be left of a test that was killed.
        let _ = fs::remove_dir(cgroups.join(container));
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(name);
        copy_program(fs::canonicalize("/usr/bin/python3").ok()?, &program);
        Some(Self { program, _dir: dir, cgroups, container })
    }

    pub fn cgroup(&self) -> PathBuf {
        self.cgroups.join(self.container)
    }

    pub fn group(&self) -> Option<Group> {
        Group::below(self.cgroups, self.container)
    }

    /// A server that ends with the test, and its port, which the script prints.
    pub fn serve(&self, group: &Group, args: &[&str]) -> (Killed, u16) {
        let mut command = Command::new(&self.program);
        let mut server = Killed(command.arg("-c").args(args).stdout(Stdio::piped()).spawn().unwrap());
        group.set("cgroup.procs", server.id()).unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        (server, line.trim().parse().unwrap())
    }
}

/// The name of its program, and of its cgroup.
const RELAY: &str = "nf-test-relay";
const CONTAINER: &str = "docker-5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00dd.scope";
/// Answers each connection what another one, to this port, answers it.
const SCRIPT: &str = "import socket, sys
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    near, _ = listener.accept()
    far = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    far.sendall(near.recv(64))
    near.sendall(far.recv(64))
    far.close()
    near.close()";

/// Each connection has a request and an answer, and those of the one that the relay makes: all of them from the first
/// message on.
#[test]
fn a_program_is_found_by_its_name_its_cgroup_and_its_container_and_its_connections_as_they_come() {
    const CONNECTIONS: u64 = 10;
    needs_root!();
    needs!(!tracepoint_is_missing(), "needs tcp_sendmsg_locked: Linux 6.16");
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let python = Python::named(RELAY, CONTAINER);
    let Some((group, python)) = python.and_then(|python| Some((python.group()?, python))) else {
        skip!("{NO_PYTHON}")
    };
    let (relay, port) = python.serve(&group, &[SCRIPT, &far.local_addr().unwrap().port().to_string()]);
    let cgroup = format!("--cgroup {}", group.path().display());
    for target in [RELAY, &cgroup, "--container 5e1f00d5e1"] {
        let dir = out();
        let hooks = HOOKS_TX + HOOKS - HOOKS_OF_BOTH;
        let child = watching_with(hooks, &format!("both {target} --json"), dir.path());
        // Its sockets are sought once the programs are at their hooks.
        thread::sleep(Duration::from_millis(300));
        for _ in 0..CONNECTIONS {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(&[7; 64]).unwrap();
            let mut served = far.accept().unwrap().0;
            served.read_exact(&mut [0; 64]).unwrap();
            served.write_all(&[8; 64]).unwrap();
            client.read_exact(&mut [0; 64]).unwrap();
        }
        let record = record(&interrupted(child));
        let result = result(&record);
        let (received, sent) = (&result.account, &result.send.as_ref().unwrap().account);
        // Certain tasks of some machines keep programs off their CPU.
        for (seen, timed) in [(received.seen, received.timed + 1), (sent.seen, sent.timed)] {
            assert!((2 * CONNECTIONS - 1..=2 * CONNECTIONS).contains(&seen), "{received:?} {sent:?}");
            assert!(timed + 1 >= 2 * CONNECTIONS, "{received:?} {sent:?}");
        }
        assert_eq!(result.reader.as_ref().map(|reader| reader.pid), Some(relay.id()));
        // Ctrl-C ended it.
        assert!(record.findings.iter().all(|finding| !finding.seen.contains("the run ended")));
    }
}

/// One is followed by its number; those of a name are looked for each second.
#[test]
fn a_run_that_ends_with_its_process_says_so() {
    const NAME: &str = "nf-test-ends";
    needs_root!();
    let (dir, programs) = (out(), tempfile::tempdir().unwrap());
    let program = programs.path().join(NAME);
    copy_program("/bin/sleep", &program);
    let mut process = Killed(Command::new(&program).arg("1000").spawn().unwrap());
    let child = watching(&format!("{NAME} --time 120s --json"), dir.path());
    kill(&mut process);
    // VOID, as no message came.
    let ended = end(child).exited(3);
    let record: Record = ended.json();
    let seen = &record.findings[0].seen;
    assert!(seen.starts_with("the run ended after ") && seen.contains(" of 120 s, as "), "{ended}");
}

#[test]
fn the_whole_host_is_watched_and_before_what_that_takes_is_shown() {
    const MESSAGES: usize = 20;
    needs_root!();
    let (dir, listener, _) = listening();
    let child = watching_with(HOOKS + HOOKS_UDP, "--all --json", dir.path());
    echo(&listener, MESSAGES, 0);
    let ended = interrupted(child);
    let cost = "watching the whole host takes at least ";
    assert!(ended.err.find(cost) < ended.err.find("watching all sockets of this host"), "{ended}");
    assert!(ended.err.contains(cost), "{ended}");
    let record = record(&ended);
    let result = result(&record);
    // Both ends, but for the first message of each thread.
    let least = 2 * MESSAGES as u64 - 2;
    assert!(result.account.timed >= least, "{ended}");
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    let of_own = result.processes.iter().find(|of| of.name.as_deref() == Some(own.trim())).expect("its name");
    assert!(of_own.pids.contains(&std::process::id()), "{of_own:?}");
    assert!(of_own.sockets.receive.total.n >= least, "{of_own:?}");
}

/// With those that come while its cost is sampled: half of its time.
#[test]
fn the_lines_of_the_whole_host_begin_with_its_first_messages() {
    needs_root!();
    let (dir, listener, _) = listening();
    let ended = beside(echoes(&listener), || {
        run(netfathom("watch --all --json-lines --time 500ms --out").arg(dir.path()))
    });
    let shown: u64 = lines(&ended).iter().map(|line| line["receive"]["n"].as_u64().unwrap()).sum();
    let record = child::record(dir.path()).unwrap();
    let all = result(&record).total.n;
    assert!(all > 0 && shown == all, "{shown} of {all}: {ended}");
}

pub(super) fn with_three_capabilities(test: &str, dir: &Path, args: &str) -> Option<Child> {
    with_capabilities(test, dir, "-all,+bpf,+perfmon,+sys_ptrace", args)
}

/// `None`, after saying so, without setpriv.
pub(super) fn with_capabilities(test: &str, dir: &Path, capabilities: &str, args: &str) -> Option<Child> {
    const SETPRIV: &str = "--reuid 65534 --regid 65534 --clear-groups";
    // Where another user may execute it.
    let program = dir.join("netfathom");
    copy_program(env!("CARGO_BIN_EXE_netfathom"), &program);
    let mut command = Command::new("setpriv");
    command.args(SETPRIV.split_ascii_whitespace());
    command.args(["--inh-caps", capabilities, "--ambient-caps", capabilities]).arg(&program).arg("watch");
    command.args(args.split_ascii_whitespace()).arg("--out").arg(dir);
    match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            skipped(test, "needs setpriv: apt-get install util-linux");
            None
        }
        child => Some(child.unwrap()),
    }
}

/// The server is root's. What `packaging/systemd` grants is enough to see it.
#[test]
fn three_capabilities_are_enough() {
    needs_root!();
    let unit = include_str!("../../../../../packaging/systemd/netfathom-watch@.service");
    assert!(unit.contains("\nAmbientCapabilities=CAP_BPF CAP_PERFMON CAP_SYS_PTRACE\n"));
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let own = std::process::id();
    let Some(child) = with_three_capabilities(test_name!(), dir.path(), &format!("--json --pid {own}"))
    else {
        return;
    };
    await_programs(&child, HOOKS);
    // Sockets are looked for each second.
    thread::sleep(Duration::from_millis(1500));
    echo(&listener, 50, 1);
    let record = record(&interrupted(child));
    assert!(result(&record).account.timed >= 46, "{:?}", result(&record).account);
    assert_eq!(result(&record).programs, None, "the kernel counts their time for CAP_SYS_ADMIN alone");
}
