//! Many threads, and a listener beside them.

use std::collections::HashMap;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use netfathom_mark::listen::{Listener, Mark};
use netfathom_mark::{mark, status};

use crate::turns::{Program, collect, half, names, ready, say, wait};

const THREADS: u32 = 6;
const EACH: u32 = 60_000;

#[test]
#[ignore = "run by many_threads_lose_nothing_silently"]
fn in_many_threads() {
    mark("before anybody listens");
    say("ready");
    wait();
    let marks = |thread| {
        for number in 0..EACH {
            mark(&format!("thread {thread} mark {number}"));
            // Now and then the listener gets a chance.
            if number % 2000 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || marks(thread)))));
    say("done");
    wait();
}

/// The thread that made the mark, and the mark's number; panics if the name is not whole.
fn parsed(mark: &Mark) -> (u32, u32) {
    let words: Vec<&str> = mark.name.split(' ').collect();
    let ["thread", thread, "mark", number] = words[..] else { panic!("{mark:?}") };
    (thread.parse().unwrap(), number.parse().unwrap())
}

#[test]
fn many_threads_lose_nothing_silently() {
    let (mut program, mut listener) = Program::heard("threads::in_many_threads");
    let mut marks = collect(&mut listener, u64::from(THREADS * EACH));
    program.until("done");
    listener.drain(&mut marks);
    assert_eq!((marks.len() as u64 + listener.lost(), listener.damaged()), (u64::from(THREADS * EACH), 0));
    assert!(marks.len() > 65_536, "it has not gone round: {} lost", listener.lost());
    let mut last: HashMap<u32, (u32, u64, u32)> = HashMap::new();
    for mark in &marks {
        let (thread, number) = parsed(mark);
        assert_eq!(mark.process, program.pid());
        if let Some(&(before, at_ns, id)) = last.get(&thread) {
            assert!(number > before && mark.at_ns >= at_ns && mark.thread == id, "{mark:?} after {before}");
        }
        last.insert(thread, (number, mark.at_ns, mark.thread));
    }
    let mut ids: Vec<u32> = last.values().map(|&(_, _, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len() as u32, THREADS);
}

#[test]
#[ignore = "run by the_first_mark_of_a_started_program_is_there"]
fn three_marks() {
    assert_eq!(status().recorded, 0);
    for name in ["", "a name of exactly thirty-eight bytes, o", "übermäßig lange Namen werden gekürzt, äh"]
    {
        mark(name);
    }
    assert_eq!((status().listened, status().recorded, status().lost), (true, 3, 0));
}

#[test]
fn the_first_mark_of_a_started_program_is_there() {
    let mut listener = Listener::create().unwrap();
    let mut command = half("threads::three_marks");
    let status = listener.attach(&mut command).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    let mut marks = Vec::new();
    assert_eq!(listener.drain_rest(&mut marks), 3);
    // 39 bytes: one more than what is kept. And no half of a letter.
    let cut = "a name of exactly thirty-eight bytes, …";
    assert_eq!(names(&marks), ["", cut, "übermäßig lange Namen werden gekür…"]);
    assert_eq!(marks.iter().map(|m| m.cut).collect::<Vec<_>>(), [false, true, true]);
    assert!(marks.is_sorted_by_key(|m| m.at_ns) && listener.lost() == 0);
}

#[test]
#[ignore = "run by a_full_ring_counts"]
fn more_than_fits() {
    ready();
    (0..70_000).for_each(|_| mark("one of many"));
    say("done");
    wait();
}

#[test]
fn a_full_ring_counts() {
    let (mut program, mut listener) = Program::heard("threads::more_than_fits");
    program.until("done");
    let mut marks = Vec::new();
    assert_eq!(listener.drain(&mut marks) as u64 + listener.lost(), 70_000);
    assert_eq!(marks.len(), 65_536);
    assert_eq!(listener.drain(&mut marks), 0);
}
