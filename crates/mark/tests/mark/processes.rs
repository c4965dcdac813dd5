//! Processes that come, fork and are killed, and those that there is no listening to.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, process, thread};

use netfathom_mark::listen::{ListenError, Listener};
use netfathom_mark::{mark, status};

use crate::turns::{Program, collect, half, names, say, wait};

/// Children that are killed in the middle of making marks.
const KILLED: u64 = 200;

/// A child that does something and ends by kill -9.
fn forked(act: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child makes marks, sleeps and ends, without taking a lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        act();
        // SAFETY: no pointers.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    child
}

fn killed(child: libc::pid_t) {
    // SAFETY: no pointers but one that may be null.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
}

#[test]
#[ignore = "run by children_share_the_ring_under_their_own_numbers"]
fn a_family() {
    mark("ready");
    say("ready");
    wait();
    mark("parent");
    let child = forked(|| {
        mark("child");
        let grandchild = forked(|| mark("grandchild"));
        killed_by_itself(grandchild);
    });
    killed_by_itself(child);
    mark("parent again");
    say(&format!("child {child}"));
    wait();
}

fn killed_by_itself(child: libc::pid_t) {
    // SAFETY: no pointers but one that may be null.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

#[test]
fn children_share_the_ring_under_their_own_numbers() {
    let mut program = Program::start(&mut half("processes::a_family"));
    program.until("ready");
    let mut listener = Listener::of_process(program.pid()).unwrap();
    program.go();
    let child: u32 = program.until("child").parse().unwrap();
    let mut marks = Vec::new();
    listener.drain(&mut marks);
    assert_eq!(names(&marks), ["parent", "child", "grandchild", "parent again"]);
    let whose: Vec<_> = marks.iter().map(|m| (m.process, m.thread)).collect();
    assert_eq!((whose[0], whose[3].0), (whose[3], program.pid()));
    // Who forks has one thread then, whose number is the process's.
    assert_eq!((whose[1], whose[2].0), ((child, child), whose[2].1));
    assert!(whose[2].0 != child && whose[2].0 != program.pid(), "{whose:?}");
}

#[test]
#[ignore = "run by who_is_killed_in_the_middle_stops_nobody"]
fn children_to_kill() {
    mark("ready");
    say("ready");
    wait();
    let told = || status().recorded + status().lost;
    for round in 0..KILLED {
        let child = forked(|| {
            loop {
                mark("of a child that is killed");
            }
        });
        let before = told();
        while told() == before {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(round));
        killed(child);
        mark("still here");
        thread::sleep(Duration::from_millis(2));
    }
    say(&format!("done {}", told()));
    wait();
    (0..1000).for_each(|_| mark("afterwards"));
    say("over");
    wait();
}

#[test]
fn who_is_killed_in_the_middle_stops_nobody() {
    let mut program = Program::start(&mut half("processes::children_to_kill"));
    program.until("ready");
    let mut listener = Listener::of_process(program.pid()).unwrap();
    program.go();
    let (mut marks, mut told) = (Vec::new(), 0_u64);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                listener.drain(&mut marks);
                thread::sleep(Duration::from_micros(200));
            }
            // Nobody writes any more.
            listener.drain_rest(&mut marks);
        });
        told = program.until("done").parse().unwrap();
        done.store(true, Relaxed);
    });
    let known = ["of a child that is killed", "still here"];
    assert!(marks.iter().all(|m| known.contains(&m.name.as_str())), "a torn mark");
    assert_eq!(listener.damaged(), 0);
    // Each is there or counted. The slot of who was killed is passed over when the ring comes round.
    let (came, lost) = (marks.len() as u64, listener.lost());
    let passed = KILLED * (1 + told / 65_536);
    assert!(came + lost <= told && told <= came + lost + passed, "{came} came, {lost} lost, of {told}");
    let processes: BTreeSet<u32> = marks.iter().map(|m| m.process).collect();
    assert!(processes.len() > 20, "hardly a child was heard: {processes:?}");
    marks.clear();
    program.go();
    program.until("over");
    listener.drain(&mut marks);
    assert_eq!((marks.len(), listener.lost()), (1000, lost));
}

#[test]
#[ignore = "run by a_listener_that_is_killed_makes_room_for_the_next"]
fn a_listener() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    let mut listener = Listener::of_process(line.trim().parse().unwrap()).unwrap();
    say("listens");
    loop {
        listener.drain(&mut Vec::new());
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "run by a_listener_that_is_killed_makes_room_for_the_next"]
fn marks_at_all_times() {
    mark("ready");
    say("ready");
    wait();
    (0..100_000).for_each(|_| mark("nobody reads it"));
    say(&format!("lost {}", status().lost));
    wait();
    mark("for the next");
    say("over");
    wait();
    assert!(!status().listened);
    say("silent");
    wait();
}

#[test]
fn a_listener_that_is_killed_makes_room_for_the_next() {
    let mut program = Program::start(&mut half("processes::marks_at_all_times"));
    program.until("ready");
    let pid = program.pid();
    let mut first = Program::start(&mut half("processes::a_listener"));
    first.tell(&pid.to_string());
    first.until("listens");
    let Err(ListenError::Taken { by, .. }) = Listener::of_process(pid) else { panic!("two may listen") };
    assert_eq!(by, first.pid());
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    program.go();
    // It went on recording until the ring was full, and then it counted.
    let lost: u64 = program.until("lost").parse().unwrap();
    assert!(lost >= 100_000 - 65_536, "{lost}");
    let mut next = Listener::of_process(pid).unwrap();
    program.go();
    program.until("over");
    let mut marks = Vec::new();
    next.drain(&mut marks);
    assert_eq!((names(&marks), next.lost()), (vec!["for the next"], 0));
    assert!(!next.ended());
    drop(next);
    program.go();
    program.until("silent");
    let listener = Listener::of_process(pid).unwrap();
    program.child.kill().unwrap();
    // Not yet waited for, and then it is.
    while !listener.ended() {
        thread::sleep(Duration::from_millis(1));
    }
    program.child.wait().unwrap();
    assert!(listener.ended());
}

#[test]
fn there_is_no_listening_to_these() {
    let refused = |pid| Listener::of_process(pid).err().unwrap().to_string();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    assert!(refused(child.id()).contains("no such process"));
    let mut program = Program::start(&mut Command::new("cat"));
    let told = refused(program.pid());
    assert!(told.contains("it has no ring of marks") && told.contains("wait for its first"), "{told}");
    program.go();
    program.until("go");
}

#[test]
#[ignore = "run by a_process_of_another_user_may_not_be_looked_at"]
fn another_user_looks() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    let told = Listener::of_process(line.trim().parse().unwrap()).err().unwrap().to_string();
    say(&format!("told {told}"));
}

#[test]
fn a_process_of_another_user_may_not_be_looked_at() {
    const TEST: &str = "mark::processes::a_process_of_another_user_may_not_be_looked_at";
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return netfathom_testkit::skipped(TEST, "needs root, to be another user");
    }
    // By descriptor: the path may lead through a home that only root may enter.
    let binary = File::open(std::env::current_exe().unwrap()).unwrap();
    let mut command = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd()));
    let name = "processes::another_user_looks";
    command.args(["--exact", "--ignored", "--nocapture", "--test-threads=1", name]).current_dir("/");
    let mut other = Program::start(command.uid(65_534).gid(65_534));
    other.tell(&process::id().to_string());
    let told = other.until("told");
    assert!(told.contains("be the user that it runs as, or root"), "{told}");
}

#[test]
#[ignore = "run by a_ring_of_another_version_is_told"]
fn of_another_version() {
    mark("makes the ring");
    let ring = own_ring().expect("a ring");
    ring.write_all_at(&99_u32.to_ne_bytes(), 8).unwrap();
    say("ready");
    wait();
}

/// The ring of this process, by its descriptor.
fn own_ring() -> Option<File> {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| entry.path());
    let ours = |path: &std::path::PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:netfathom-mark"))
    };
    let path = { descriptors }.find(ours)?;
    Some(File::options().read(true).write(true).open(path).unwrap())
}

#[test]
fn a_ring_of_another_version_is_told() {
    let mut program = Program::start(&mut half("processes::of_another_version"));
    program.until("ready");
    let told = Listener::of_process(program.pid()).err().unwrap().to_string();
    assert!(told.contains("version 99") && told.contains("build both with the same"), "{told}");
}

#[test]
#[ignore = "run by a_process_without_room_for_a_ring_goes_on"]
fn without_room() {
    (0..5).for_each(|_| mark("not recorded"));
    assert_eq!((status().lost, status().recorded), (5, 0));
    assert!(own_ring().is_none());
}

#[test]
fn a_process_without_room_for_a_ring_goes_on() {
    let half = half("processes::without_room");
    let mut command = Command::new("/bin/sh");
    // Making a larger file than that would end it by SIGXFSZ.
    command.args(["-c", "ulimit -f 100 && exec \"$0\" \"$@\""]).arg(half.get_program()).args(half.get_args());
    let ended = command.stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[test]
#[ignore = "run by a_descriptor_that_is_no_ring_is_left_alone"]
fn with_a_strange_descriptor() {
    mark("into a ring of its own");
    assert!(own_ring().is_some());
    assert_eq!(status().lost, 0);
}

#[test]
fn a_descriptor_that_is_no_ring_is_left_alone() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(b"nfmarks\0 and more that is none of a ring", 0).unwrap();
    for number in [file.as_raw_fd().to_string(), "0".into(), "-1".into(), "99999999999".into(), "7x".into()] {
        let mut command = half("processes::with_a_strange_descriptor");
        command.env("NETFATHOM_MARK_FD", number).stdin(Stdio::null());
        let fd = file.as_raw_fd();
        let inherited = move || {
            // SAFETY: no pointers.
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }, 0);
            Ok(())
        };
        // SAFETY: it makes one system call.
        unsafe { command.pre_exec(inherited) };
        assert!(command.output().unwrap().status.success());
    }
    let mut text = [0; 40];
    assert_eq!((file.read_at(&mut text, 0).unwrap(), &text[..8]), (40, &b"nfmarks\0"[..]));
}

#[test]
#[ignore = "run by closed_standard_descriptors_stay_closed"]
fn without_standard_descriptors() {
    for fd in 0..3 {
        // SAFETY: nobody else uses it here; the result is told by the exit status.
        unsafe { libc::close(fd) };
    }
    mark("makes the ring");
    let taken = own_ring().is_none() || (0..3).any(|fd| fs::metadata(format!("/proc/self/fd/{fd}")).is_ok());
    process::exit(if taken { 3 } else { 42 });
}

#[test]
fn closed_standard_descriptors_stay_closed() {
    let ended = half("processes::without_standard_descriptors").output().unwrap();
    assert_eq!(ended.status.code(), Some(42));
}

#[test]
#[ignore = "run by what_only_has_the_name_of_a_ring_is_none"]
fn with_the_name_of_a_ring() {
    // SAFETY: the name is a string of C, and the descriptor is nobody else's.
    let strange = unsafe { File::from_raw_fd(libc::memfd_create(c"netfathom-mark".as_ptr(), 0)) };
    strange.set_len(1 << 20).unwrap();
    say("ready");
    wait();
}

#[test]
fn what_only_has_the_name_of_a_ring_is_none() {
    let mut program = Program::start(&mut half("processes::with_the_name_of_a_ring"));
    program.until("ready");
    let told = Listener::of_process(program.pid()).err().unwrap().to_string();
    assert!(told.contains("it has no ring of marks"), "{told}");
}

#[test]
#[ignore = "run by one_listener_hears_a_tree_of_processes"]
fn a_tree() {
    mark("root");
    let children: Vec<_> = (0..3).map(|_| half_of_a_tree().spawn().unwrap()).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
}

/// With the variable, which [`half`] takes away.
fn half_of_a_tree() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "processes::a_leaf"]).stdout(Stdio::null());
    command
}

#[test]
#[ignore = "run by one_listener_hears_a_tree_of_processes"]
fn a_leaf() {
    (0..10).for_each(|_| mark("leaf"));
}

#[test]
fn one_listener_hears_a_tree_of_processes() {
    let mut listener = Listener::create().unwrap();
    let mut root = half("processes::a_tree");
    assert!(listener.attach(&mut root).stdout(Stdio::null()).status().unwrap().success());
    let marks = collect(&mut listener, 31);
    assert_eq!((names(&marks)[0], names(&marks)[1..].iter().all(|&name| name == "leaf")), ("root", true));
    let mut leaves: Vec<u32> = marks.iter().map(|m| m.process).collect();
    leaves.sort_unstable();
    leaves.dedup();
    assert_eq!((leaves.len(), listener.lost()), (4, 0));
}
