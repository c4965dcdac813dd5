//! What the library costs beside the bare socket, on this machine, in one run: messages one way,
//! there and back, and posts. Each figure is the ratio to bare TCP with one write a message.
//!
//!     cargo run --release -p netfathom-message --example rate [strategy [one-way|trips|posts]]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use netfathom_message::{Blocking, Bytes, Config, Connection, Error, Wait, strategy::Choice};

const FOR: Duration = Duration::from_millis(100);
/// Rounds, bare and not in turn. The best of each counts: what disturbs only ever slows down.
const ROUNDS: usize = 7;

fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let here = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    let there = listener.accept().expect("accept").0;
    here.set_nodelay(true).expect("nodelay");
    there.set_nodelay(true).expect("nodelay");
    (here, there)
}

fn connections(choice: Choice) -> (Connection, Connection) {
    let (here, there) = streams();
    let config = Config { strategy: choice, ..Config::default() };
    let other = config.clone();
    let accepting = thread::spawn(move || Connection::tcp(there, &other).expect("hello"));
    (Connection::tcp(here, &config).expect("hello"), accepting.join().expect("the peer"))
}

/// Repeats until the time is over; gives the repetitions a second.
fn rate(mut once: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut count = 0_u64;
    while begin.elapsed() < FOR {
        for _ in 0..64 {
            once();
        }
        count += 64;
    }
    count as f64 / begin.elapsed().as_secs_f64()
}

fn bare_one_way(size: usize) -> f64 {
    let (mut here, mut there) = streams();
    let sink = thread::spawn(move || {
        let mut buffer = vec![0; 128 << 10];
        while there.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let frame = vec![1; size + 4];
    let rate = rate(|| here.write_all(&frame).expect("write"));
    drop(here);
    sink.join().expect("the sink");
    rate
}

fn one_way(size: usize, choice: Choice) -> f64 {
    let (here, there) = connections(choice);
    let sink = thread::spawn(move || {
        let mut count = 0_u64;
        while there.poll(Wait::Forever, |_| count += 1).is_ok() {}
        count
    });
    let here = Blocking::from(here);
    let body = vec![1; size];
    let rate = rate(|| here.send(0, &body).expect("send"));
    here.connection().close(Duration::from_secs(5)).expect("close");
    drop(here);
    assert!(sink.join().expect("the sink") > 0);
    rate
}

fn percentiles(mut once: impl FnMut()) -> (f64, f64) {
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < FOR {
        let before = Instant::now();
        once();
        times.push(before.elapsed().as_nanos() as f64 / 1000.0);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn bare_round_trip(size: usize) -> (f64, f64) {
    let (mut here, mut there) = streams();
    let echo = thread::spawn(move || {
        let mut frame = vec![0; size + 4];
        while there.read_exact(&mut frame).is_ok() && there.write_all(&frame).is_ok() {}
    });
    let mut frame = vec![1; size + 4];
    let times = percentiles(|| {
        here.write_all(&frame).expect("write");
        here.read_exact(&mut frame).expect("read");
    });
    drop(here);
    echo.join().expect("the echo");
    times
}

fn round_trip(size: usize, choice: Choice) -> (f64, f64) {
    let (here, there) = connections(choice);
    let echo = thread::spawn(move || {
        let there = Blocking::from(there);
        let mut frame = Vec::new();
        let mut echo = || -> Result<(), Error> {
            there.receive_with(0, |body| {
                frame.clear();
                frame.extend_from_slice(body);
            })?;
            there.send(0, &frame)?;
            if choice == Choice::Batch { there.flush() } else { Ok(()) }
        };
        while echo().is_ok() {}
    });
    let here = Blocking::from(here);
    let body = vec![1; size];
    let times = percentiles(|| {
        here.send(0, &body).expect("send");
        if choice == Choice::Batch {
            here.flush().expect("flush");
        }
        here.receive_with(0, |body| assert_eq!(body.len(), size)).expect("receive");
    });
    drop(here);
    echo.join().expect("the echo");
    times
}

fn bare_bulk(size: usize) -> f64 {
    let (mut here, mut there) = streams();
    let sink = thread::spawn(move || {
        let mut buffer = vec![0; size + 4];
        while there.read_exact(&mut buffer).is_ok() {}
    });
    let frame = vec![1; size + 4];
    let rate = rate(|| here.write_all(&frame).expect("write"));
    drop(here);
    sink.join().expect("the sink");
    rate
}

fn bulk(size: usize, choice: Choice) -> f64 {
    let (here, there) = connections(choice);
    let sink = thread::spawn(move || -> Result<(), Error> {
        let there = Blocking::from(there);
        // As much memory as bare sockets cycle through, so that caches matter as much.
        for _ in 0..((512 << 10) / size).clamp(2, 256) {
            there.connection().offer(1, vec![0; size])?;
        }
        loop {
            let received = there.receive_post(1)?;
            there.connection().offer(1, received.buffer)?;
        }
    });
    let here = Blocking::from(here);
    let body = Bytes::from(vec![1; size]);
    // What is counted is written, not only queued.
    let written = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    rate(|| {
        let written = Arc::clone(&written);
        let done = move |_| {
            written.fetch_add(1, Ordering::Relaxed);
        };
        here.post_behind(1, body.clone(), done).expect("post");
    });
    let rate = written.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64();
    drop(here);
    assert!(sink.join().expect("the sink").is_err());
    rate
}

fn best(mut bare: impl FnMut() -> f64, mut here: impl FnMut() -> f64) -> (f64, f64) {
    let rounds = (0..ROUNDS).map(|_| (bare(), here()));
    rounds.fold((0.0, 0.0), |most: (f64, f64), now| (most.0.max(now.0), most.1.max(now.1)))
}

fn one_ways(choice: Choice) {
    println!("one way ({choice})   bare/s       here/s    ratio");
    for size in [4, 16, 64, 256, 1024, 4096, 16_384, 65_536] {
        let (bare, here) = best(|| bare_one_way(size), || one_way(size, choice));
        println!("{size:>8} B {bare:>14.0} {here:>12.0} {:>8.2}", here / bare);
    }
}

fn trips(choice: Choice) {
    println!("there and back, us: bare p50 p99, here p50 p99, ratios");
    for size in [4, 64, 1024, 16_384] {
        let rounds = (0..ROUNDS).map(|_| (bare_round_trip(size), round_trip(size, choice)));
        let most = (f64::MAX, f64::MAX);
        let least = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.min(b.1));
        let (bare, here) = rounds.fold((most, most), |(a, b), (c, d)| (least(a, c), least(b, d)));
        let ratios = (here.0 / bare.0, here.1 / bare.1);
        println!(
            "{size:>8} B {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>6.2} {:>6.2}",
            bare.0, bare.1, here.0, here.1, ratios.0, ratios.1
        );
    }
}

fn posts(choice: Choice) {
    println!("posts          bare/s       here/s    ratio");
    for size in [1024, 8192, 65_536, 1 << 20] {
        let (bare, here) = best(|| bare_bulk(size), || bulk(size, choice));
        println!("{size:>8} B {bare:>14.0} {here:>12.0} {:>8.2}", here / bare);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let choice = arguments.next().map_or(Ok(Choice::Adaptive), |name| name.parse()).expect("strategy");
    match arguments.next().as_deref() {
        Some("one-way") => one_ways(choice),
        Some("trips") => trips(choice),
        Some("posts") => posts(choice),
        _ => {
            one_ways(choice);
            trips(choice);
            posts(choice);
        }
    }
}
