//! `netfathom watch`: servers of the tests' own, and redis, whose clients count their requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use netfathom_model::path::Direction;
use netfathom_model::record::{Measured, Record, State, WatchResult, WatchStage};
use netfathom_testkit::{needs_root, privileged, skipped};

use crate::child::{Ended, end, netfathom, on_terminal, out, run, signal, start, until};
use crate::killed::Held;

/// Of the programs that receive; `tcp_sendmsg_locked`, which some kernels lack, is attached among the first.
const HOOKS: usize = 7;
/// Of UDP, once there is a socket of it.
const HOOKS_UDP: usize = 3;
/// Of those that send.
const HOOKS_TX: usize = 6;
/// Of these, one program is for both.
const HOOKS_OF_BOTH: usize = 2;
/// Of those that see what processes open.
const HOOKS_OF_PROCESSES: usize = 1;

/// A run that watches already.
fn watching(args: &str, out: &Path) -> Child {
    watching_with(HOOKS, args, out)
}

fn watching_with(hooks: usize, args: &str, out: &Path) -> Child {
    let child = start(netfathom(&format!("watch {args}")).arg("--out").arg(out));
    until("the programs", || (attached(child.id()) >= hooks).then_some(()));
    child
}

/// How many programs of a process are at their hooks.
fn attached(pid: u32) -> usize {
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    infos.filter(|info| fs::read_to_string(info.path()).is_ok_and(|text| text.contains("link_id"))).count()
}

fn interrupted(child: Child) -> Ended {
    signal("INT", &child);
    end(child)
}

fn record(ended: &Ended) -> Record {
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

fn result(record: &Record) -> &WatchResult {
    let result = WatchResult::of(&record.measurement).unwrap();
    let stages: i64 = result.stages.iter().map(|stage| stage.times.sum_ns).sum();
    assert_eq!(stages, result.total.sum_ns, "the stages are not the total");
    result
}

/// Echoes of 64 bytes, one after the other, by a reader that sleeps before each read, once there is something to read.
fn echo(listener: &TcpListener, requests: usize, pause_ms: u64) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; 64];
            while stream.peek(&mut message).unwrap() > 0 {
                thread::sleep(std::time::Duration::from_millis(pause_ms));
                stream.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        let mut stream = TcpStream::connect(address).unwrap();
        let mut message = [7; 64];
        for _ in 0..requests {
            stream.write_all(&message).unwrap();
            stream.read_exact(&mut message).unwrap();
        }
    });
}

/// For 20 ms each time, and for nothing else.
fn waits_for_a_reader_that_sleeps(result: &WatchResult) {
    let median = |stage| result.stages.iter().find(|s| s.stage == stage).map_or(0, |s| s.times.p50_ns);
    let blocked = median(WatchStage::Blocked);
    // The run queue is the machine's.
    let of_others = |s: &WatchStage| !matches!(s, WatchStage::Blocked | WatchStage::Runqueue);
    let others: i64 = WatchStage::of(Direction::Rx).iter().filter(|s| of_others(s)).map(|&s| median(s)).sum();
    assert!(blocked > 18_000_000 && others * 4 < blocked, "{:?}", result.stages);
}

#[test]
fn a_reader_that_sleeps_before_it_reads_is_found_and_ctrl_c_is_the_end() {
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let child = watching(&format!("--port {port} --json"), dir.path());
    // Longer than a second, after which sockets are looked for again.
    echo(&listener, 60, 20);
    let record = record(&interrupted(child));
    let result = result(&record);
    assert_eq!(record.state, State::Complete);
    let account = &result.account;
    assert_eq!((account.seen, account.timed, account.unfollowed), (60, 59, 1));
    assert_eq!(result.reader.as_ref().map(|reader| reader.pid), Some(std::process::id()));
    waits_for_a_reader_that_sleeps(result);
    assert!(record.findings[0].seen.contains("sleeps on something else"), "{:?}", record.findings);
}

#[test]
fn a_page_says_whose_messages_and_what_became_of_them() {
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("[::1]:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let child = watching(&format!("--port {port}"), dir.path());
    echo(&listener, 200, 0);
    let ended = interrupted(child);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let own = format!(" (pid {}): ", std::process::id());
    for part in [
        own.as_str(),
        " from link layer to read, p99",
        "of 200 messages are timed",
        "protocol",
        "read",
        "total",
        "seen ",
        "unfollowed ",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
}

/// Ended with the test.
struct Redis(Child);

impl Redis {
    /// `None` where it is not installed.
    fn start(port: u16) -> Option<Self> {
        let mut command = Command::new("redis-server");
        command.args([
            "--save",
            "",
            "--appendonly",
            "no",
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
        ]);
        let child = command.current_dir("/").stdout(Stdio::null()).spawn().ok()?;
        let redis = Self(child);
        until("redis", || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn each_request_to_redis_is_a_message() {
    const TEST: &str = "cli::watch::each_request_to_redis_is_a_message";
    if !privileged(TEST) {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(redis) = Redis::start(port) else { return skipped(TEST, "needs redis-server") };
    let dir = out();
    let child = watching(&format!("--pid {} --json", redis.0.id()), dir.path());
    let mut client = Command::new("redis-benchmark");
    client.args(["-p", &port.to_string(), "-t", "get", "-n", "20000", "-c", "5", "-q"]);
    assert!(client.stdout(Stdio::null()).status().unwrap().success());
    let record = record(&interrupted(child));
    let result = result(&record);
    let account = &result.account;
    // It also asks for the configuration.
    assert!((20_000..20_010).contains(&account.seen), "{account:?}");
    assert_eq!(account.timed + account.unfollowed, account.seen, "{account:?}");
    assert!(account.unfollowed < 10, "{account:?}");
    assert_eq!(result.reader.as_ref().map(|reader| reader.name.as_str()), Some("redis-server"));
    let answered = result.application.as_ref().map_or(account.seen, |application| application.n);
    assert!(answered.abs_diff(account.seen) < 10, "{answered} answers to {account:?}");
}

/// Ended with the test.
struct Memcached(Child);

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Over TCP, and over UDP, where a header of eight bytes precedes each request.
#[test]
fn each_request_to_memcached_is_a_message_over_tcp_and_udp() {
    const TEST: &str = "cli::watch::each_request_to_memcached_is_a_message";
    const REQUESTS: u64 = 500;
    if !privileged(TEST) {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("memcached");
    let port = port.to_string();
    command
        .args(["-l", "127.0.0.1", "-p", &port, "-U", &port, "-u", "nobody", "-t", "2"])
        .stdout(Stdio::null());
    let Ok(child) = command.spawn() else { return skipped(TEST, "needs memcached") };
    let memcached = Memcached(child);
    let mut tcp = until("memcached", || TcpStream::connect(format!("127.0.0.1:{port}")).ok());
    let dir = out();
    let target = format!("--pid {} --json", memcached.0.id());
    let child = watching_with(HOOKS + HOOKS_OF_PROCESSES + HOOKS_UDP, &target, dir.path());
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(format!("127.0.0.1:{port}")).unwrap();
    let mut answer = [0; 1400];
    for _ in 0..REQUESTS {
        tcp.write_all(b"version\r\n").unwrap();
        assert!(tcp.read(&mut answer).unwrap() > 0);
        udp.send(b"\0\0\0\0\0\x01\0\0version\r\n").unwrap();
        assert!(udp.recv(&mut answer).unwrap() > 0);
    }
    let record = record(&interrupted(child));
    let account = &result(&record).account;
    assert_eq!(account.seen, 2 * REQUESTS, "{account:?}");
    // The first of each thread.
    assert_eq!(account.timed + account.unfollowed, account.seen, "{account:?}");
    assert!(account.unfollowed <= 4, "{account:?}");
}

#[test]
fn each_answer_of_redis_is_a_message_that_is_sent() {
    const TEST: &str = "cli::watch::each_answer_of_redis_is_a_message_that_is_sent";
    if !privileged(TEST) {
        return;
    }
    if tracepoint_is_missing() {
        return skipped(TEST, "needs tcp_sendmsg_locked: Linux 6.16");
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(_redis) = Redis::start(port) else { return skipped(TEST, "needs redis-server") };
    for (directions, hooks) in [("tx", HOOKS_TX), ("both", HOOKS_TX + HOOKS - HOOKS_OF_BOTH)] {
        let dir = out();
        let child = watching_with(hooks, &format!("{directions} --port {port} --json"), dir.path());
        let mut client = Command::new("redis-benchmark");
        client.args(["-p", &port.to_string(), "-t", "get", "-n", "20000", "-c", "5", "-q"]);
        assert!(client.stdout(Stdio::null()).status().unwrap().success());
        let record = record(&interrupted(child));
        let result = result(&record);
        let send = result.send.as_ref().unwrap();
        let account = &send.account;
        // It also answers what its configuration is.
        assert!((20_000..20_010).contains(&account.seen), "{account:?}");
        assert_eq!((account.seen, account.unsent()), (account.timed + account.missed, 0), "{account:?}");
        assert!(account.missed < 10, "{account:?}");
        let stages: i64 = send.stages.iter().map(|stage| stage.times.sum_ns).sum();
        assert_eq!(stages, send.total.sum_ns, "the stages are not the total");
        assert_eq!(result.reader.as_ref().map(|reader| reader.name.as_str()), Some("redis-server"));
        let expected = if directions == "both" { 20_000..20_010 } else { 0..1 };
        assert!(expected.contains(&result.account.seen), "{:?}", result.account);
    }
}

#[test]
fn each_datagram_to_a_server_is_a_message_and_its_sleep_is_found() {
    needs_root!();
    const SENT: u64 = 60;
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (dir, server) = (out(), UdpSocket::bind(address).unwrap());
        let at = server.local_addr().unwrap();
        let child = watching_with(HOOKS + HOOKS_UDP, &format!("--port {} --json", at.port()), dir.path());
        let client = UdpSocket::bind(address).unwrap();
        client.connect(at).unwrap();
        let mut message = [7; 64];
        for _ in 0..SENT {
            client.send(&message).unwrap();
            // There is something to read.
            thread::sleep(std::time::Duration::from_millis(20));
            server.recv(&mut message).unwrap();
        }
        let record = record(&interrupted(child));
        let result = result(&record);
        let account = &result.account;
        assert!(result.datagrams);
        assert_eq!(
            (account.timed, account.unfollowed, account.bytes_read),
            (SENT - 1, 1, 64 * SENT),
            "{account:?}"
        );
        waits_for_a_reader_that_sleeps(result);
    }
}

/// Its process and its cgroup end with the test.
struct Relay {
    child: Child,
    port: u16,
    _program: tempfile::TempDir,
    cgroup: std::path::PathBuf,
}

/// The name of its program, and of its cgroup: as Docker names one.
const RELAY: &str = "nf-test-relay";
const CONTAINER: &str = "docker-5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00d5e1f00dd.scope";

impl Relay {
    /// A server that answers each connection what another one, at `far`, answers it. `None` without cgroups to make.
    fn start(far: u16) -> Option<Self> {
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
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let cgroup = root.join(CONTAINER);
        fs::create_dir(&cgroup)
            .or_else(|_| fs::remove_dir(&cgroup).and_then(|()| fs::create_dir(&cgroup)))
            .ok()?;
        let dir = tempfile::tempdir().unwrap();
        fs::copy(fs::canonicalize("/usr/bin/python3").ok()?, dir.path().join(RELAY)).unwrap();
        let mut command = Command::new(dir.path().join(RELAY));
        command.args(["-c", SCRIPT, &far.to_string()]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        fs::write(cgroup.join("cgroup.procs"), child.id().to_string()).unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Some(Self { child, port: line.trim().parse().unwrap(), _program: dir, cgroup })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        until("an empty cgroup", || fs::remove_dir(&self.cgroup).ok());
    }
}

/// Each connection has a request and an answer, and those of the one that the relay makes: all of them from the first
/// message on.
#[test]
fn a_program_is_found_by_its_name_its_cgroup_and_its_container_and_its_connections_as_they_come() {
    const TEST: &str = "cli::watch::a_program_is_found_by_its_name_its_cgroup_and_its_container";
    const CONNECTIONS: u64 = 10;
    if !privileged(TEST) {
        return;
    }
    if tracepoint_is_missing() {
        return skipped(TEST, "needs tcp_sendmsg_locked: Linux 6.16");
    }
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(relay) = Relay::start(far.local_addr().unwrap().port()) else {
        return skipped(TEST, "needs /usr/bin/python3 and cgroups that can be made");
    };
    let cgroup = format!("--cgroup {}", relay.cgroup.display());
    for target in [RELAY, &cgroup, "--container 5e1f00d5e1"] {
        let dir = out();
        let hooks = HOOKS_TX + HOOKS - HOOKS_OF_BOTH + HOOKS_OF_PROCESSES;
        let child = watching_with(hooks, &format!("both {target} --json"), dir.path());
        // Its sockets are sought once the programs are at their hooks.
        thread::sleep(std::time::Duration::from_millis(300));
        for _ in 0..CONNECTIONS {
            let mut client = TcpStream::connect(("127.0.0.1", relay.port)).unwrap();
            client.write_all(&[7; 64]).unwrap();
            let mut served = far.accept().unwrap().0;
            served.read_exact(&mut [0; 64]).unwrap();
            served.write_all(&[8; 64]).unwrap();
            client.read_exact(&mut [0; 64]).unwrap();
        }
        let record = record(&interrupted(child));
        let result = result(&record);
        let (received, sent) = (&result.account, &result.send.as_ref().unwrap().account);
        assert_eq!((received.seen, sent.seen), (2 * CONNECTIONS, 2 * CONNECTIONS), "{received:?} {sent:?}");
        assert_eq!((received.timed, received.unfollowed), (2 * CONNECTIONS - 1, 1), "{received:?}");
        assert_eq!(result.reader.as_ref().map(|reader| reader.pid), Some(relay.child.id()));
    }
}

/// Linux 6.16 brought it.
fn tracepoint_is_missing() -> bool {
    let events = Path::new("/sys/kernel/tracing/events/tcp");
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    !events.join("tcp_sendmsg_locked").exists() && version < (6, 16)
}

#[test]
fn a_process_that_ends_ends_the_run_and_one_that_is_not_there_begins_none() {
    needs_root!();
    let dir = out();
    let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
    let child = watching(&format!("--pid {}", sleeper.id()), dir.path());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let ended = end(child);
    assert_eq!(ended.status, 3, "{}", ended.out);
    assert!(ended.out.contains("no message came"), "{}", ended.out);
    let none =
        run(netfathom(&format!("watch --pid {} --time 1s", sleeper.id())).arg("--out").arg(dir.path()));
    assert_eq!(none.status, 2, "{}", none.out);
    assert!(none.err.contains("there is none of that number"), "{}", none.err);
}

#[test]
fn a_terminal_shows_the_run_and_gets_itself_back() {
    const TEST: &str = "cli::watch::a_terminal_shows_the_run_and_gets_itself_back";
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let end = AtomicBool::new(false);
    let shown = thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Relaxed) {
                echo(&listener, 20, 1);
            }
        });
        let shown =
            on_terminal(TEST, &format!("watch --port {port} --time 3s --out {}", dir.path().display()));
        end.store(true, Relaxed);
        shown
    });
    let Some(Ended { status, out, .. }) = shown else { return };
    // The screen beside, and the usual tables on that which was there before.
    let (before, after) = out.split_once("\x1b[?1049l").expect("the screen of before");
    assert!(
        before.contains("\x1b[?1049h") && before.contains("freeze") && before.contains("peers: "),
        "{before:?}"
    );
    assert!(
        status == 0
            && after.contains("link layer to application")
            && after.contains("Sockets with the most messages"),
        "{after:?}"
    );
}

#[test]
fn a_line_a_second_is_for_other_programs() {
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let child = watching(&format!("--port {port} --json-lines"), dir.path());
    echo(&listener, 60, 50);
    let ended = interrupted(child);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let lines: Vec<serde_json::Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 2, "{}", ended.out);
    let sum = |of: &dyn Fn(&serde_json::Value) -> i64| lines.iter().map(of).sum::<i64>();
    let (n, ns) =
        (sum(&|l| l["receive"]["n"].as_i64().unwrap()), sum(&|l| l["receive"]["sum_ns"].as_i64().unwrap()));
    assert!((1..60).contains(&n), "{n}");
    let stages = |l: &serde_json::Value| {
        l["receive"]["stage_sums_ns"].as_object().unwrap().values().map(|v| v.as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&stages), ns);
    let of_sockets = |l: &serde_json::Value| {
        let sockets = l["sockets"].as_array().unwrap().iter().chain([&l["other_sockets"]]);
        sockets.map(|socket| socket["receive"]["n"].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&of_sockets), n);
}

/// The server is root's. What `packaging/systemd` grants is enough to see it.
#[test]
fn three_capabilities_are_enough() {
    const TEST: &str = "cli::watch::three_capabilities_are_enough";
    const SETPRIV: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all,+bpf,+perfmon,+sys_ptrace \
                           --ambient-caps -all,+bpf,+perfmon,+sys_ptrace";
    needs_root!();
    let unit = include_str!("../../../../packaging/systemd/netfathom-watch@.service");
    assert!(unit.contains("\nAmbientCapabilities=CAP_BPF CAP_PERFMON CAP_SYS_PTRACE\n"));
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let own = std::process::id();
    // Where another user may execute it.
    let program = dir.path().join("netfathom");
    fs::copy(env!("CARGO_BIN_EXE_netfathom"), &program).unwrap();
    let mut words = SETPRIV.split_ascii_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg(&program).args(["watch", "--json", "--pid", &own.to_string(), "--out"]);
    let Ok(child) = command.arg(dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        return skipped(TEST, "needs setpriv: apt-get install util-linux");
    };
    until("the programs", || (attached(child.id()) > HOOKS).then_some(()));
    // Sockets are looked for each second.
    thread::sleep(std::time::Duration::from_millis(1500));
    echo(&listener, 50, 1);
    let record = record(&interrupted(child));
    assert!(result(&record).account.timed >= 49, "{:?}", result(&record).account);
}

/// What a server answers to a request for a path, with its headers.
fn scraped(address: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn prometheus_gets_what_was_seen_so_far() {
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let mut child = watching(&format!("both --port {port} --serve :0 --quiet"), dir.path());
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect(&line).to_owned();
    let value = |text: &str, series: &str| {
        let of = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        of.map(|value| value.trim().parse::<f64>().unwrap())
    };
    echo(&listener, 60, 20);
    let seen = |direction| format!("netfathom_watch_seen_messages_total{{direction=\"{direction}\"}}");
    let text = until("the messages", || {
        let text = scraped(&address, "/metrics", &address);
        (value(&text, &seen("rx")) >= Some(60.0)).then_some(text)
    });
    assert!(text.contains("content-type: application/openmetrics-text; version=1.0.0"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(value(&text, &seen("tx")), Some(60.0));
    let timed = "netfathom_watch_messages_total{direction=\"rx\",outcome=\"timed\"}";
    assert_eq!(value(&text, timed), Some(59.0));
    let bucket = |le| format!("netfathom_watch_times_seconds_bucket{{quantity=\"rx.blocked\",le=\"{le}\"}}");
    // The reader sleeps for 20 ms each time.
    assert_eq!(value(&text, &bucket("0.016777215")), Some(0.0), "{text}");
    assert!(value(&text, &bucket("+Inf")) >= Some(57.0), "{text}");
    assert!(scraped(&address, "/metrics", "elsewhere.example").starts_with("HTTP/1.1 403"));
    assert!(scraped(&address, "/", &address).starts_with("HTTP/1.1 404"));
    let ended = interrupted(child);
    assert_eq!((ended.status, ended.out.as_str()), (0, ""), "{}", ended.err);
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn an_exporter_whose_port_another_has_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = run(&mut netfathom(&format!("watch --port 1 --serve {}", taken.local_addr().unwrap())));
    assert_eq!(ended.status, 1, "{}", ended.err);
    assert!(
        ended.err.contains("another program has that port; choose another with --serve"),
        "{}",
        ended.err
    );
}

#[test]
fn a_killed_watch_leaves_no_program() {
    needs_root!();
    let dir = out();
    let mut child = watching("--port 1", dir.path());
    let held = Held::by(child.id());
    assert!(!held.is_gone(), "this test cannot see {held:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    until("the kernel to clean up", || held.is_gone().then_some(()));
}
