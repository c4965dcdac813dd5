//! Processes that come, fork and are killed, and listeners that are killed.

use std::collections::BTreeSet;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_mark::listen::{ListenError, Listener};
use netfathom_mark::{mark, status};

use crate::turns::{Program, collect, half, names, ready, say, wait};

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
    ready();
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
    let (mut program, mut listener) = Program::heard("processes::a_family");
    let child: u32 = program.until("child").parse().unwrap();
    let mut marks = Vec::new();
    listener.drain(&mut marks);
    assert_eq!(names(&marks), ["parent", "child", "grandchild", "parent again"]);
    let owners: Vec<_> = marks.iter().map(|m| (m.process, m.thread)).collect();
    assert_eq!((owners[0], owners[3].0), (owners[3], program.pid()));
    // A forked child has one thread, with the number of the process.
    assert_eq!((owners[1], owners[2].0), ((child, child), owners[2].1));
    assert!(owners[2].0 != child && owners[2].0 != program.pid(), "{owners:?}");
}

#[test]
#[ignore = "run by a_writer_killed_in_the_middle_stops_no_other"]
fn children_to_kill() {
    ready();
    let counted = || status().recorded + status().lost;
    for round in 0..KILLED {
        let child = forked(|| {
            loop {
                mark("of a child that is killed");
            }
        });
        let before = counted();
        while counted() == before {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(round));
        killed(child);
        mark("still here");
        thread::sleep(Duration::from_millis(2));
    }
    say(&format!("done {}", counted()));
    wait();
    (0..1000).for_each(|_| mark("afterwards"));
    say("over");
    wait();
}

#[test]
fn a_writer_killed_in_the_middle_stops_no_other() {
    let (mut program, mut listener) = Program::heard("processes::children_to_kill");
    let (mut marks, mut counted) = (Vec::new(), 0_u64);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                listener.drain(&mut marks);
                thread::sleep(Duration::from_micros(200));
            }
            // No process writes any more.
            listener.drain_rest(&mut marks);
        });
        counted = program.until("done").parse().unwrap();
        done.store(true, Relaxed);
    });
    let known = ["of a child that is killed", "still here"];
    assert!(marks.iter().all(|m| known.contains(&m.name.as_str())), "a torn mark");
    assert_eq!(listener.damaged(), 0);
    // Each is there or counted. The slot of who was killed is passed over when the ring comes round.
    let (came, lost) = (marks.len() as u64, listener.lost());
    let passed = KILLED * (1 + counted / 65_536);
    assert!(
        came + lost <= counted && counted <= came + lost + passed,
        "{came} came, {lost} lost, of {counted}"
    );
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
    ready();
    (0..100_000).for_each(|_| mark("not read"));
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
