//! What a mark costs, beside one reading of the clock in the same run.
//!
//!     cargo bench -p netfathom-mark

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use netfathom_mark::listen::Listener;
use netfathom_mark::mark;

/// Marks of a repetition: fewer than a ring has slots.
const MARKS: u32 = 20_000;
/// Of each kind, in turns.
const REPETITIONS: usize = 41;
/// As the name of a point usually is.
const NAME: &str = "request: parsed";

fn main() {
    // `cargo bench` and `cargo test --benches` give arguments of their own.
    if env::args().any(|argument| argument == "--test") {
        return;
    }
    mark(NAME);
    let (mut clock, mut idle, mut recorded, mut drained) = (vec![], vec![], vec![], vec![]);
    let mut lost = 0;
    for _ in 0..REPETITIONS {
        clock.push(each_ns(read_clock));
        idle.push(each_ns(|| mark(black_box(NAME))));
        let mut listener = listener();
        recorded.push(each_ns(|| mark(black_box(NAME))));
        assert_eq!(listener.drain(&mut Vec::new()) as u64 + listener.lost(), MARKS.into());
        lost += listener.lost();
        drop(listener);
        let (each, missed) = beside_a_listener();
        drained.push(each);
        lost += missed;
    }
    let clock_ns = median(&mut clock);
    println!("median of {REPETITIONS} repetitions of {MARKS} marks, {lost} lost\n");
    println!("{:<44} {:>8} {:>8}", "", "ns", "clocks");
    for (what, times) in [
        ("clock_gettime, once", &mut clock),
        ("mark, nobody listens", &mut idle),
        ("mark, recorded", &mut recorded),
        ("mark, recorded while a thread reads them", &mut drained),
    ] {
        let ns = median(times);
        println!("{what:<44} {ns:>8.1} {:>8.2}", ns / clock_ns);
    }
}

fn listener() -> Listener {
    Listener::of_process(process::id()).expect("this process has made a mark")
}

fn read_clock() {
    black_box(Instant::now());
}

/// Mean time of a call, ns.
fn each_ns(mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    for _ in 0..MARKS {
        call();
    }
    begun.elapsed().as_nanos() as f64 / f64::from(MARKS)
}

/// The same while another thread takes them out of the ring, and how many were lost.
fn beside_a_listener() -> (f64, u64) {
    let over = AtomicBool::new(false);
    let mut listener = listener();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut marks = Vec::new();
            while !over.load(Relaxed) {
                listener.drain(&mut marks);
                marks.clear();
                thread::sleep(Duration::from_micros(200));
            }
            listener.lost()
        });
        let each = each_ns(|| mark(black_box(NAME)));
        over.store(true, Relaxed);
        (each, reader.join().expect("a reader"))
    })
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
