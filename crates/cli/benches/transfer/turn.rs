//! One turn of one contender.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::ground::processors::spread;
use netfathom_sys::cpu;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::Killed;

use super::Failure;
use super::contender::{Contender, Pipeline};
use super::place::Place;
use super::rows::Row;

/// It has begun when so much has come, within so long.
const BEGUN_BYTES: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(6);
/// From there to the stretch that counts, and that stretch.
const RUN_UP: Duration = Duration::from_millis(150);
const COUNTED: Duration = Duration::from_millis(350);
const LOOK: Duration = Duration::from_millis(5);

pub fn rate(contender: &Contender, place: &Place, row: &Row) -> Result<f64, Failure> {
    // No turn waits for the port of the one before.
    static PORT: AtomicU16 = AtomicU16::new(20_000);
    let port = PORT.fetch_add(1, Relaxed);
    let (cpus, counted) = (spread(1)?, row.counted);
    let [reads, sends] = [cpus.reader, cpus.senders[0]].map(|cpu| row.pinned.then_some(cpu));
    let receiver = start(&contender.receiver, place.reader(), reads, &place.host, port)?;
    until(|| listens(place.reader(), port), "no listener")?;
    let before = place.came(counted)?;
    let sender = start(&contender.sender, place.sender(), sends, &place.host, port)?;
    until(|| Ok(place.came(counted)? >= before + BEGUN_BYTES), "nothing comes")?;
    thread::sleep(RUN_UP);
    let (from, at) = (place.came(counted)?, Instant::now());
    thread::sleep(COUNTED);
    let (to, took) = (place.came(counted)?, at.elapsed());
    drop((sender, receiver));
    Ok(8.0 * (to - from) as f64 / took.as_secs_f64())
}

fn until(is: impl Fn() -> Result<bool, Failure>, otherwise: &str) -> Result<(), Failure> {
    let since = Instant::now();
    while !is()? {
        if since.elapsed() > PATIENCE {
            return Err(otherwise.into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether there is a socket with this port, of TCP or UDP.
fn listens(namespace: &Namespace, port: u16) -> Result<bool, Failure> {
    let sockets = namespace.run(|| {
        let read = |table: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        ["tcp", "tcp6", "udp", "udp6"].map(|table| read(table).unwrap_or_default()).concat()
    })?;
    let sign = format!(":{port:04X}");
    Ok(sockets.lines().any(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&sign))))
}

/// Starts a pipeline on a host, on one of its CPUs where one is given.
fn start(
    line: &Pipeline,
    namespace: &Namespace,
    cpu: Option<usize>,
    host: &str,
    port: u16,
) -> Result<Vec<Killed>, Failure> {
    let port = port.to_string();
    let started = namespace.run(|| -> io::Result<Vec<Killed>> {
        // The programs inherit both from this thread.
        cpu.map_or(Ok(()), cpu::pin).map_err(io::Error::other)?;
        let mut running = Vec::new();
        let mut input = Stdio::null();
        for (nth, command) in line.iter().enumerate() {
            let output = if nth + 1 < line.len() { Stdio::piped() } else { Stdio::null() };
            let words = command.iter().map(|word| word.replace("HOST", host).replace("PORT", &port));
            let words: Vec<String> = words.collect();
            let mut child = Command::new(&words[0])
                .args(&words[1..])
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::null())
                .spawn()?;
            input = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            running.push(Killed(child));
        }
        Ok(running)
    })?;
    Ok(started?)
}
