//! `netfathom watch`: servers of the tests' own, and redis: their clients count their requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use netfathom_model::path::Direction;
use netfathom_model::record::{Measured, Record, State, WatchResult, WatchStage};
use netfathom_testkit::{Group, Killed, needs, needs_root, privileged, skip, skipped, test_name};
use serde_json::Value;

use crate::child::{
    self, Ended, beside, end, kill, netfathom, on_terminal, only_run, out, recorded, run, signal, start,
    until, until_holds,
};
use crate::killed::Held;

mod awaited;
mod budget;
mod exporter;
mod live;
mod servers;
mod slow;
mod soak;
mod targets;
mod truth;

/// Of the programs that receive; `tcp_sendmsg_locked`, which some kernels lack, is attached among the first.
const HOOKS: usize = 9;
/// Of UDP, once there is a socket of it.
const HOOKS_UDP: usize = 3;
/// Of those that send; kernels that attach programs to functions have two more.
const HOOKS_TX: usize = 7;
/// Of these, one program is for both.
const HOOKS_OF_BOTH: usize = 3;

/// A run that watches already.
fn watching(args: &str, out: &Path) -> Child {
    watching_with(HOOKS, args, out)
}

fn watching_with(hooks: usize, args: &str, out: &Path) -> Child {
    let child = start(netfathom(&format!("watch {args}")).arg("--out").arg(out));
    await_programs(&child, hooks);
    child
}

/// Until this number of programs of a run are at their hooks.
fn await_programs(run: &Child, hooks: usize) {
    until_holds("the programs", || attached(run.id()) >= hooks);
}

/// A place for a run, and a listener with its port.
fn listening() -> (tempfile::TempDir, TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (out(), listener, port)
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
    assert_eq!(ended.status, 0, "{ended}");
    serde_json::from_str(&ended.out).unwrap()
}

/// Those of `--json-lines`.
fn lines(ended: &Ended) -> Vec<Value> {
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn result(record: &Record) -> &WatchResult {
    let result = WatchResult::of(&record.measurement).unwrap();
    let received = [(&result.stages, &result.total)];
    let sent = result.send.iter().map(|send| (&send.stages, &send.total));
    for (stages, total) in received.into_iter().chain(sent) {
        let stages: i64 = stages.iter().map(|stage| stage.times.sum_ns).sum();
        assert_eq!(stages, total.sum_ns, "the stages are not the total");
    }
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
                thread::sleep(Duration::from_millis(pause_ms));
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

/// Such echoes, again and again.
fn echoes(listener: &TcpListener) -> impl FnOnce(&AtomicBool) + Send {
    move |done: &AtomicBool| {
        while !done.load(Relaxed) {
            echo(listener, 20, 1);
        }
    }
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
    let (dir, listener, port) = listening();
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
    let finding = &record.findings[0];
    assert!(finding.seen.contains("sleeps on something else"), "{finding:?}");
    assert!(finding.remedy.starts_with("if it does not sleep on purpose"), "{finding:?}");
    assert!(finding.remedy.contains(&format!("strace -f -T -p {}", std::process::id())), "{finding:?}");
}

#[test]
fn a_server_that_makes_a_thread_for_each_connection_is_recognized() {
    needs_root!();
    const CONNECTIONS: usize = 60;
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    let child = watching(&format!("--port {} --json", address.port()), dir.path());
    let serve = |mut stream: TcpStream| {
        let mut message = [0; 64];
        stream.read_exact(&mut message).unwrap();
        stream.write_all(&message).unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().take(CONNECTIONS) {
                // Its message is there by then.
                thread::sleep(Duration::from_millis(5));
                let stream = stream.unwrap();
                scope.spawn(move || serve(stream));
            }
        });
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&[7; 64]).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
        }
    });
    let record = record(&interrupted(child));
    let finding = &record.findings[0];
    assert!(finding.seen.contains("until a thread or process is made"), "{:?}", record.findings);
    assert!(finding.remedy.contains("pool"), "{finding:?}");
}

#[test]
fn a_run_that_looks_once_ends_by_itself_and_prints_its_table_once() {
    needs_root!();
    let (_, listener, port) = listening();
    let mut command = netfathom(&format!("watch --port {port} --once 1s"));
    let (ended, record) = beside(echoes(&listener), || recorded(&mut command));
    let ended = ended.exited(0);
    for row in ["total ", "seen "] {
        let rows = ended.out.lines().filter(|line| line.trim_start().starts_with(row)).count();
        assert_eq!(rows, 1, "{row}: {ended}");
    }
    assert_eq!(record.state, State::Complete);
    assert!(result(&record).watched_ns >= 1_000_000_000, "{} ns", result(&record).watched_ns);
}

#[test]
fn a_page_names_the_process_and_its_messages_and_two_runs_are_compared_without_a_test() {
    needs_root!();
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let args = format!("--port {}", listener.local_addr().unwrap().port());
    let [(page, before), (_, after)] = [0, 5].map(|pause_ms| {
        let dir = out();
        let child = watching(&args, dir.path());
        echo(&listener, 200, pause_ms);
        (interrupted(child).exited(0), dir)
    });
    let own = format!(" (pid {}): mean ", std::process::id());
    let parts = [own.as_str(), "protocol", "read", "total", "unfollowed "];
    let page = page.shows(&parts);
    let seen = page.out.lines().find(|line| line.trim_start().starts_with("seen ")).unwrap();
    assert_eq!(seen.split_whitespace().nth(1), Some("200"), "{page}");
    let ended = run(netfathom("compare").args([before.path(), after.path()].map(only_run))).exited(0);
    assert!(ended.out.starts_with("NOT TESTED"), "{ended}");
    let mean = ended.out.lines().find(|line| line.trim_start().starts_with("rx.mean ")).unwrap();
    assert!((mean.contains(" +") || mean.contains(" ×")) && mean.contains("not tested"), "{ended}");
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
            thread::sleep(Duration::from_millis(20));
            server.recv(&mut message).unwrap();
        }
        let record = record(&interrupted(child));
        let result = result(&record);
        let account = &result.account;
        assert_eq!((result.datagrams, result.late), (true, 0));
        assert_eq!(
            (account.timed, account.unfollowed, account.bytes_read),
            (SENT - 1, 1, 64 * SENT),
            "{account:?}"
        );
        waits_for_a_reader_that_sleeps(result);
    }
}

#[test]
fn a_socket_of_udp_that_is_opened_during_the_run_is_found_and_its_first_second_is_no_secret() {
    needs_root!();
    const SENT: u64 = 20;
    // With a server of TCP, those of UDP elsewhere are not awaited.
    let (dir, listener, port) = listening();
    let at = listener.local_addr().unwrap();
    let child = watching(&format!("--port {port} --json"), dir.path());
    thread::sleep(Duration::from_millis(1500));
    let server = UdpSocket::bind(at).unwrap();
    await_programs(&child, HOOKS + HOOKS_UDP);
    for _ in 0..SENT {
        server.send_to(&[7; 64], at).unwrap();
        server.recv(&mut [0; 64]).unwrap();
    }
    let record = record(&interrupted(child));
    let result = result(&record);
    assert_eq!(result.late, 1);
    assert!((SENT - 1..=SENT).contains(&result.account.seen), "{:?}", result.account);
    assert!(record.findings.iter().any(|finding| finding.seen.contains("opened during the run")));
}

/// Where no socket has its port.
#[test]
fn a_server_of_udp_in_another_network_namespace_is_found_by_its_port() {
    needs_root!();
    const SENT: u64 = 20;
    let (dir, host) = (out(), netfathom_testkit::host());
    let bound = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let [server, client] = host.run(|| [bound(), bound()]).unwrap();
    let at = server.local_addr().unwrap();
    let child = watching_with(HOOKS + HOOKS_UDP, &format!("--port {} --json", at.port()), dir.path());
    for _ in 0..SENT {
        client.send_to(&[7; 64], at).unwrap();
        server.recv(&mut [0; 64]).unwrap();
    }
    let record = record(&interrupted(child));
    assert_eq!((result(&record).account.seen, result(&record).late), (SENT, 0));
}

#[test]
fn who_receives_nothing_is_asked_about_what_it_sends_or_its_unix_sockets() {
    needs_root!();
    let held = std::os::unix::net::UnixStream::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for (socket, other_way) in [
        (OwnedFd::from(listener), "only receiving was watched: netfathom watch tx --pid PID shows"),
        (held.0.into(), "that process has Unix sockets alone"),
    ] {
        let dir = out();
        let sleeper = Killed(Command::new("sleep").arg("1000").stdin(socket).spawn().unwrap());
        let mut watch = netfathom(&format!("watch --pid {} --time 200ms --out", sleeper.id()));
        let ended = run(watch.arg(dir.path())).exited(3);
        ended.shows(&[&other_way.replace("PID", &sleeper.id().to_string())]);
    }
}

#[test]
fn a_process_that_ends_ends_the_run_and_one_that_is_not_there_begins_none() {
    needs_root!();
    let dir = out();
    let mut sleeper = Killed(Command::new("sleep").arg("1000").spawn().unwrap());
    let child = watching(&format!("--pid {}", sleeper.id()), dir.path());
    kill(&mut sleeper);
    let ended = end(child).exited(3);
    let out = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = format!("process {} ended during the run", sleeper.id());
    assert!(out.contains("no message came") && out.contains(&why) && !out.contains("watch tx"), "{ended}");
    let mut gone = netfathom(&format!("watch --pid {} --time 1s --out", sleeper.id()));
    run(gone.arg(dir.path())).exited(2).explains(&["there is none of that number"]);
}

/// Linux 6.16 brought it.
fn tracepoint_is_missing() -> bool {
    let events = Path::new("/sys/kernel/tracing/events/tcp");
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    !events.join("tcp_sendmsg_locked").exists() && version < (6, 16)
}
