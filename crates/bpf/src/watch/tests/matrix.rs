//! Delays of each kind in each size: how many are in the right stage by their size, and in no other.

use std::sync::mpsc;
use std::time::Instant;

use netfathom_model::path::Direction::{Rx, Tx};
use netfathom_sys::cpu;

use super::held::{Absent, hold_lock, watched};
use super::planted::{EACH, MS, SIZES_MS, median, planted, stop, stoppable, sum, work};
use super::send::{closed_window, set};
use super::wire::{self, watch_end};
use super::*;
use crate::contention::tests::CpuGroup;

/// One size of one kind.
struct Cell {
    /// Of all messages together, at least and at most, by the clocks of those who planted it.
    planted_ns: [u64; 2],
    /// `None` where no stage is to have it.
    measured_ns: Option<u64>,
    /// What a message has in the other stages.
    beside_ns: u64,
}

impl Cell {
    fn new(watch: &Watch, stage: WatchStage, planted_ns: [u64; 2]) -> Self {
        let direction = if WatchStage::of(Rx).contains(&stage) { Rx } else { Tx };
        let beside_ns = in_other_stages(watch, direction, Some(stage));
        Self { planted_ns, measured_ns: Some(sum(watch, stage)), beside_ns }
    }

    /// The stage has it within 5 %, and the others together change by less than 5 % of it. `bare`: with nothing planted.
    fn is_right(&self, bare: &Self, ms: u64) -> bool {
        let [least, most] = self.planted_ns;
        let moves = self.measured_ns.is_none_or(|ns| ns * 20 >= least * 19 && ns * 20 <= most * 21);
        let others_move = self.beside_ns.saturating_sub(bare.beside_ns) * 20 >= ms * MS;
        // What is planted by a quota depends on when the kernel looks.
        least * 4 >= EACH * ms * MS && moves && !others_move
    }
}

/// What a message has in the stages of a direction but for one, and but for the run queue, which is the machine's.
fn in_other_stages(watch: &Watch, direction: Direction, stage: Option<WatchStage>) -> u64 {
    let total = if direction == Rx { watch.total() } else { watch.send_total() };
    let messages = total.unwrap().moments.n.max(1);
    let others = WatchStage::of(direction).iter().copied();
    let others = others.filter(|&other| Some(other) != stage && other != WatchStage::Runqueue);
    others.map(|other| median(watch, other) * watch.stage(other).unwrap().moments.n / messages).sum()
}

/// Plants a delay of some milliseconds in each message; 0: nothing. `None` where it cannot; says so.
type Plant = fn(u64) -> Option<Cell>;

/// What is planted, and the stage that is to have it.
const KINDS: [(&str, &str, Plant); 14] = [
    ("sleeping reader", "blocked", sleeping_reader),
    ("busy reader", "sockqueue", busy_reader),
    ("burner", "runqueue", burner),
    ("quota", "runqueue", quota),
    ("SIGSTOP", "blocked", stopped_reader),
    ("lock held", "lock", lock_held),
    ("loss", "hole", loss),
    ("before the device", "none", before_the_device),
    ("closed window", "rwnd", closed),
    ("small send buffer", "sndbuf", small_buffer),
    ("pacing", "pacing", pacing),
    ("Nagle", "nagle", nagle),
    ("slow device", "qdisc", slow_device),
    ("behind the device", "acknowledged", behind_the_device),
];

fn sleeping_reader(ms: u64) -> Option<Cell> {
    let (watch, truth) = planted(|| thread::sleep(Duration::from_millis(ms)), || ());
    Some(Cell::new(&watch, WatchStage::Blocked, [truth.slept_ns; 2]))
}

fn busy_reader(ms: u64) -> Option<Cell> {
    let (watch, truth) = planted(|| work(ms), || ());
    Some(Cell::new(&watch, WatchStage::Sockqueue, [truth.held_ns, truth.held_until_read_ns]))
}

/// A thread that has the reader's CPU before it, whenever the reader wakes it.
fn burner(ms: u64) -> Option<Cell> {
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    thread::scope(|scope| {
        let (burn, burns) = mpsc::channel();
        scope.spawn(move || {
            cpu::pin(last).unwrap();
            cpu::before_all_others().unwrap();
            burns.iter().for_each(|()| work(ms));
        });
        let (watch, truth) = planted(|| burn.send(()).unwrap(), || cpu::pin(last).unwrap());
        Some(Cell::new(&watch, WatchStage::Runqueue, [truth.waited_ns, truth.all_waited_ns]))
    })
}

/// The reader works, and is stopped as long as it works.
fn quota(ms: u64) -> Option<Cell> {
    let Some(group) = CpuGroup::new("netfathom-watch-quotas") else {
        skipped("watch::tests::matrix", "needs a cgroup with the CPU controller");
        return None;
    };
    let limit = || {
        if ms > 0 {
            group.limit_to(1000 * ms, 2000 * ms).unwrap();
        }
    };
    let (watch, truth) = planted(|| work(ms), limit);
    let mut cell = Cell::new(&watch, WatchStage::Runqueue, [truth.waited_ns, truth.all_waited_ns]);
    cell.beside_ns = cell.beside_ns.saturating_sub(ms * MS);
    Some(cell)
}

fn stopped_reader(ms: u64) -> Option<Cell> {
    let (server, mut client, watch) = stoppable()?;
    let planted_ns = stop(server.id(), &mut client, ms);
    Some(Cell::new(&watch, WatchStage::Blocked, planted_ns))
}

fn lock_held(ms: u64) -> Option<Cell> {
    let Some(absent) = Absent::new() else {
        skipped("watch::tests::matrix", "needs CONFIG_USERFAULTFD");
        return None;
    };
    let (watch, server, client) = watched();
    let planted_ns = hold_lock(&absent, &server, &client, ms);
    Some(Cell::new(&watch, WatchStage::Lock, planted_ns))
}

fn loss(ms: u64) -> Option<Cell> {
    let (watch, planted_ns) = wire::lose(ms)?;
    Some(Cell::new(&watch, WatchStage::Hole, planted_ns))
}

fn before_the_device(ms: u64) -> Option<Cell> {
    let (watch, planted_ns) = wire::delay(Rx, ms)?;
    Some(Cell { planted_ns, measured_ns: None, beside_ns: in_other_stages(&watch, Rx, None) })
}

fn behind_the_device(ms: u64) -> Option<Cell> {
    let (watch, planted_ns) = wire::delay(Tx, ms)?;
    let measured_ns = Some(watch.acknowledged().unwrap().moments.sum as u64);
    Some(Cell { planted_ns, measured_ns, beside_ns: in_other_stages(&watch, Tx, None) })
}

fn slow_device(ms: u64) -> Option<Cell> {
    let (watch, planted_ns) = wire::slow_device(ms)?;
    Some(Cell::new(&watch, WatchStage::Qdisc, planted_ns))
}

fn closed(ms: u64) -> Option<Cell> {
    let (watch, _ends, planted_ns) = closed_window(EACH, Duration::from_millis(ms))?;
    Some(Cell::new(&watch, WatchStage::Rwnd, planted_ns))
}

fn small_buffer(ms: u64) -> Option<Cell> {
    let (watch, _end, planted_ns) = wire::full_buffer(EACH, Duration::from_millis(ms))?;
    Some(Cell::new(&watch, WatchStage::Sndbuf, planted_ns))
}

/// One message in the time `ms`.
fn pacing(ms: u64) -> Option<Cell> {
    const BYTES: usize = 10_000;
    let (mut server, mut client) = connection(&TcpListener::bind("127.0.0.1:0").unwrap());
    server.set_nodelay(true).unwrap();
    let mut message = [0; BYTES];
    // TCP does not pace the first ten segments.
    for _ in 0..10 {
        server.write_all(&message).unwrap();
        client.read_exact(&mut message).unwrap();
    }
    if let Some(bytes_per_s) = (BYTES as u64 * 1000).checked_div(ms) {
        set(&server, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_s as i32);
    }
    let watch = watch_end(Tx, &server);
    let (first, mut least, mut most) = (Instant::now(), 0, 0);
    for n in 0..=EACH {
        let begun = Instant::now();
        server.write_all(&message).unwrap();
        let returned_ns = first.elapsed().as_nanos() as u64;
        client.read_exact(&mut message).unwrap();
        most += begun.elapsed().as_nanos() as u64;
        // The first leaves at once, and what was idle before halves the time to the second.
        let leaves_ns = (2 * n).saturating_sub(1) * ms * MS / 2;
        least += leaves_ns.saturating_sub(returned_ns);
    }
    Some(Cell::new(&watch, WatchStage::Pacing, [least, most]))
}

/// The client acknowledges the first of two small messages after a while, with one of its own.
fn two_small_writes(mut server: &TcpStream, mut client: &TcpStream, ms: u64) -> [u64; 2] {
    client.write_all(&[0]).unwrap();
    server.read_exact(&mut [0]).unwrap();
    server.write_all(&[0; 10]).unwrap();
    let begun = Instant::now();
    server.write_all(&[0; 10]).unwrap();
    let held = Instant::now();
    thread::sleep(Duration::from_millis(ms));
    let least = held.elapsed().as_nanos() as u64;
    client.write_all(&[0]).unwrap();
    client.read_exact(&mut [0; 20]).unwrap();
    let most = begun.elapsed().as_nanos() as u64;
    server.read_exact(&mut [0]).unwrap();
    [least, most]
}

fn nagle(ms: u64) -> Option<Cell> {
    let (server, client) = connection(&TcpListener::bind("127.0.0.1:0").unwrap());
    client.set_nodelay(true).unwrap();
    // The first acknowledgments of a connection are not delayed.
    for _ in 0..EACH {
        two_small_writes(&server, &client, 0);
    }
    let watch = watch_end(Tx, &server);
    let each = (0..EACH).map(|_| two_small_writes(&server, &client, ms));
    let planted_ns = each.fold([0, 0], |sum, next| [sum[0] + next[0], sum[1] + next[1]]);
    Some(Cell::new(&watch, WatchStage::Nagle, planted_ns))
}

#[test]
fn a_planted_delay_is_in_its_stage_by_its_size_and_in_no_other() {
    needs_root!();
    needs_times!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let us = |ns: u64| ns / EACH / 1000;
    let (mut cells, mut right) = (0, 0);
    println!("kind, size, stage: planted, measured, in other stages with and without it, µs a message");
    for (kind, stage, plant) in KINDS {
        let Some(bare) = plant(0) else { continue };
        for ms in SIZES_MS {
            let Some(cell) = plant(ms) else { break };
            let is_right = cell.is_right(&bare, ms);
            let [least, most] = cell.planted_ns.map(us);
            let measured = cell.measured_ns.map_or("-".into(), |ns| us(ns).to_string());
            let [beside, without] = [&cell, &bare].map(|cell| cell.beside_ns / 1000);
            print!("{kind:17} {ms:2} ms {stage:12}: {least:6} to {most:6} {measured:>6} ");
            println!("{beside:5} {without:5} {}", if is_right { "right" } else { "wrong" });
            (cells, right) = (cells + 1, right + u32::from(is_right));
        }
    }
    assert!(cells > 0 && right * 20 >= cells * 19, "{right} of {cells} are right");
}
