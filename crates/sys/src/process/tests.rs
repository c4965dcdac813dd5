use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(60);
static NEVER: AtomicBool = AtomicBool::new(false);

fn shell(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_wait_ends_with_the_process_its_time_or_an_interrupt() {
    let child = shell("exec sleep 60");
    let process = Process::open(child.id()).unwrap();
    assert_eq!(process.wait(Duration::from_millis(120), &NEVER).unwrap(), Waited::TimeUp);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| process.wait(LONG, &stop));
        stop.store(true, Relaxed);
        assert_eq!(waiting.join().unwrap().unwrap(), Waited::Stopped);
    });
    process.signal(libc::SIGKILL).unwrap();
    assert_eq!(process.wait(LONG, &NEVER).unwrap(), Waited::Ended);
    // Not reaped by any of it.
    assert_eq!(reap(child).unwrap().status.signal(), Some(libc::SIGKILL));
    assert_eq!(process.signal(libc::SIGKILL).unwrap_err().raw_os_error(), Some(libc::ESRCH));
}

#[test]
fn the_exit_status_comes_with_resource_usage() {
    // Writes to each page of 64 MiB: at least as many faults as huge pages.
    let child = shell("head -c 64M /dev/zero | tail -n 1 | wc -c; exit 7");
    let process = Process::open(child.id()).unwrap();
    process.wait(LONG, &NEVER).unwrap();
    let id = child.id();
    let times = run_times(id).unwrap();
    let ended = reap(child).unwrap();
    assert_eq!(ended.status.code(), Some(7));
    assert!(ended.usage.minor_faults > 0 && ended.usage.voluntary_switches > 0, "{ended:?}");
    // The shell's own thread is one of those that ran.
    let ran = ended.usage.user_ns + ended.usage.system_ns;
    assert!(times.on_cpu_ns > 0 && times.on_cpu_ns < ran, "{times:?} {ended:?}");
    assert!(reap_orphan(id).is_err());
}

#[test]
fn descendants_are_found_down_to_those_of_a_child() {
    let mut child = shell("sh -c 'sleep 60 & echo $!; wait' & echo $!; wait");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut reported: Vec<u32> = lines.take(2).map(|line| line.unwrap().parse().unwrap()).collect();
    let mut found = descendants(child.id()).unwrap();
    assert!(descendants(std::process::id()).unwrap().contains(&found[1]));
    for &pid in found.iter().chain([&child.id()]) {
        Process::open(pid).unwrap().signal(libc::SIGKILL).unwrap();
    }
    reported.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, reported);
    reap(child).unwrap();
}

#[test]
fn an_orphan_becomes_our_child_if_we_ask_for_it() {
    adopt_orphans(true).unwrap();
    let mut child = shell("sleep 60 & echo $!");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let orphan: u32 = line.trim().parse().unwrap();
    reap(child).unwrap();
    assert_eq!(parent(orphan), Some(std::process::id()));
    assert!(reap_orphan(orphan).unwrap().is_none());
    let process = Process::open(orphan).unwrap();
    process.signal(libc::SIGTERM).unwrap();
    process.wait(LONG, &NEVER).unwrap();
    assert_eq!(reap_orphan(orphan).unwrap().unwrap().status.signal(), Some(libc::SIGTERM));
    adopt_orphans(false).unwrap();
}
