//! What a mark costs, beside one reading of the clock in the same run.
//!
//!     cargo bench -p netfathom-mark

use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use netfathom_mark::listen::Listener;
use netfathom_mark::mark;

/// Marks of a repetition: fewer than a ring has slots.
const MARKS: u32 = 20_000;
/// Slots of a ring.
const RING: u32 = 65_536;
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
    let (mut clock, mut idle, mut recorded) = (vec![], vec![], vec![]);
    let (mut drained, mut full) = (vec![], vec![]);
    let mut lost = 0;
    for _ in 0..REPETITIONS {
        clock.push(each_ns(read_clock));
        idle.push(each_ns(|| mark(black_box(NAME))));
        let mut listener = listener();
        recorded.push(each_ns(|| mark(black_box(NAME))));
        assert_eq!(listener.drain(&mut Vec::new()) as u64 + listener.lost(), MARKS.into());
        lost += listener.lost();
        (0..RING).for_each(|_| mark(NAME));
        full.push(each_ns(|| mark(black_box(NAME))));
        drop(listener);
        let (each, missed) = beside_a_listener();
        drained.push(each);
        lost += missed;
    }
    println!("Medians of {REPETITIONS} repetitions of {MARKS} marks, {lost} lost.\n");
    println!("| what | ns | clock reads |\n|---|---:|---:|");
    let clock_ns = median(&mut clock);
    row("clock_gettime, once", clock_ns, clock_ns);
    row("mark, no listener", median(&mut idle), clock_ns);
    row("mark, recorded", median(&mut recorded), clock_ns);
    row("mark, recorded while a thread reads them", median(&mut drained), clock_ns);
    row("mark, the ring is full", median(&mut full), clock_ns);
    match in_c() {
        Ok([clock_ns, idle_ns, recorded_ns]) => {
            row("in C: clock_gettime, once", clock_ns, clock_ns);
            row("in C: mark, no listener", idle_ns, clock_ns);
            row("in C: mark, recorded", recorded_ns, clock_ns);
        }
        Err(why) => println!("| in C: not measured: {why} | | |"),
    }
}

fn row(what: &str, ns: f64, clock_ns: f64) {
    println!("| {what} | {ns:.1} | {:.2} |", ns / clock_ns);
}

/// Medians of the clock, of a mark without a listener and of a recorded mark, in a C program.
fn in_c() -> io::Result<[f64; 3]> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("cost");
    let mut cc = Command::new("cc");
    cc.arg("-O2").arg("-I").arg(package.join("include")).arg(package.join("benches/cost.c"));
    if !cc.arg("-o").arg(&program).status()?.success() {
        return Err(io::Error::other("cc could not compile it"));
    }
    let mut child =
        Command::new(&program).arg(MARKS.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut input, says) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut lines = BufReader::new(says).lines();
    let mut turn = || -> io::Result<[f64; 2]> {
        input.write_all(b"\n")?;
        let line = lines.next().ok_or_else(|| io::Error::other("it has ended"))??;
        let mut words = line.split(' ').map(|word| word.parse().unwrap_or(f64::NAN));
        Ok([words.next().unwrap_or(f64::NAN), words.next().unwrap_or(f64::NAN)])
    };
    turn()?;
    let (mut clock, mut idle, mut recorded) = (vec![], vec![], vec![]);
    for _ in 0..REPETITIONS {
        let [clock_ns, idle_ns] = turn()?;
        let listener = Listener::of_process(child.id()).map_err(io::Error::other)?;
        recorded.push(turn()?[1]);
        assert_eq!(listener.lost(), 0);
        clock.push(clock_ns);
        idle.push(idle_ns);
    }
    drop(input);
    child.wait()?;
    Ok([median(&mut clock), median(&mut idle), median(&mut recorded)])
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
