//! The phases: what each does, and with what.

use std::hint::black_box;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::sync::mpsc;

use netfathom_sys::clock::{monotonic_ns, sleep_until_ns, wait_punctually};
use netfathom_sys::directory::Directory;
use netfathom_sys::probe::effective_user;
use netfathom_sys::splice::memory_file;

use super::memory::{BLOCK_WORDS, Stream};
use super::thread_pair::{Partner, round_trips};
use super::{Phase, Work};

const STEPS: u64 = 1_000;
const FILE_BYTES: u64 = 32 << 20;
/// Bytes of a unit of data: one call each to write and to read.
const BLOCK_BYTES: usize = 64 << 10;
const MESSAGE_BYTES: usize = 64;
/// What a sleep asks for: long enough that the thread really sleeps.
const ASKED_NS: u64 = 20_000;

pub static PHASES: [Phase; 8] = [
    Phase {
        name: "cpu",
        resource: "arithmetic: CPU time, clock frequency, sibling threads",
        unit: "thousand steps",
        constant_ns: 0,
        prepare: cpu,
    },
    Phase {
        name: "memory",
        resource: "memory bandwidth and the last-level cache",
        unit: "MiB",
        constant_ns: 0,
        prepare: memory,
    },
    Phase {
        name: "calls",
        resource: "system calls that do little: what traces or filters them costs most here",
        unit: "calls",
        constant_ns: 0,
        prepare: calls,
    },
    Phase {
        name: "switches",
        resource: "context switches between two threads on one CPU",
        unit: "round trips",
        constant_ns: 0,
        prepare: switches,
    },
    Phase {
        name: "metadata",
        resource: "names and attributes of files: locks and journal of the file system",
        unit: "names",
        constant_ns: 0,
        prepare: metadata,
    },
    Phase {
        name: "data",
        resource: "copying file data to and from the page cache, no disk",
        unit: "blocks of 64 KiB",
        constant_ns: 0,
        prepare: data,
    },
    Phase {
        name: "loopback",
        resource: "TCP round trips over 127.0.0.1 between two threads on one CPU",
        unit: "round trips",
        constant_ns: 0,
        prepare: loopback,
    },
    Phase {
        name: "timers",
        resource: "how late a sleeping thread wakes: timers, idle states, run queue",
        unit: "sleeps of 20 us",
        constant_ns: ASKED_NS,
        prepare: timers,
    },
];

/// Arithmetic of integers that never leaves the registers.
fn cpu(_place: &Directory) -> io::Result<Work> {
    let mut state = 1;
    Ok(Box::new(move |size| {
        for _ in 0..size {
            state = black_box(thousand_steps(state));
        }
        Ok(())
    }))
}

/// A chain in which each step waits for the one before (xorshift64, Marsaglia 2003); not from 0.
pub fn thousand_steps(mut state: u64) -> u64 {
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// Streaming through more memory than the caches hold.
fn memory(_place: &Directory) -> io::Result<Work> {
    let mut stream = Stream::new();
    Ok(Box::new(move |size| {
        (0..size).for_each(|_| stream.go_on(BLOCK_WORDS));
        Ok(())
    }))
}

/// System calls that do next to nothing.
fn calls(_place: &Directory) -> io::Result<Work> {
    Ok(Box::new(|size| {
        for _ in 0..size {
            black_box(effective_user());
        }
        Ok(())
    }))
}

/// Two threads on one processor that hand each other a byte.
fn switches(_place: &Directory) -> io::Result<Work> {
    let ((hears, to), (from, answers)) = (io::pipe()?, io::pipe()?);
    round_trips::<1>("light-switches", (to, from), (hears, answers))
}

/// Names of a file that are made, looked at, renamed and removed.
///
/// The file itself stays (they are links to it): ext4 does not use the place of a removed file again
/// for some seconds, and looks for another the longer the more were removed, so that the same work
/// would take several times as long on one run as on the next.
fn metadata(place: &Directory) -> io::Result<Work> {
    place.create_new("file")?;
    let place = place.clone();
    Ok(Box::new(move |size| {
        (0..size).try_for_each(|_| {
            place.link_again("file", "made")?;
            if !place.is_file("made") {
                return Err(io::ErrorKind::NotFound.into());
            }
            place.rename("made", "renamed")?;
            place.remove("renamed")
        })
    }))
}

/// A file's data, written and read through the page cache.
///
/// The file is in memory: one on a disk is written to it now and then, and who writes to it meanwhile waits for the disk.
fn data(_place: &Directory) -> io::Result<Work> {
    let (file, mut block, mut at) = (memory_file(&[])?, vec![0x5a; BLOCK_BYTES], 0);
    let mut work = move |size| {
        (0..size).try_for_each(|_| {
            file.write_all_at(&block, at)?;
            file.read_exact_at(&mut block, at)?;
            at = (at + BLOCK_BYTES as u64) % FILE_BYTES;
            Ok(())
        })
    };
    // The first to write has the system find a place for it.
    work(FILE_BYTES / BLOCK_BYTES as u64)?;
    Ok(Box::new(work))
}

/// A small message over TCP to another thread on the same processor and back.
fn loopback(_place: &Directory) -> io::Result<Work> {
    let (near, far) = connection()?;
    round_trips::<MESSAGE_BYTES>("light-loopback", (near.try_clone()?, near), (far.try_clone()?, far))
}

/// Two ends of one connection that no other program uses.
fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, from) = listener.accept()?;
    if from != near.local_addr()? {
        return Err(io::Error::other(format!("{from} connected instead of this program")));
    }
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

/// Short sleeps, one after the other.
///
/// Each sleep begins when the previous one is over, so oversleep adds up, and no sleep compensates for
/// another. The time of the phase is therefore the requested time, which is constant
/// ([`Phase::constant_ns`]), plus the oversleep: the timer interrupt, the exit from the CPU's idle
/// state, and the wait for the CPU. A load may shorten the oversleep: a CPU that is kept awake has no
/// idle state to exit.
///
/// The sleeper is a thread of its own, as it stays punctual. It is sent how often to sleep.
fn timers(_place: &Directory) -> io::Result<Work> {
    let ((sleep, asked), (say, awake)) = (mpsc::channel::<u64>(), mpsc::channel());
    let sleeper = move || {
        wait_punctually();
        // Until the other end is closed.
        for times in asked {
            (0..times).for_each(|_| sleep_until_ns(monotonic_ns() + ASKED_NS));
            if say.send(()).is_err() {
                break;
            }
        }
    };
    let mut sleeper = Partner::start("light-timers", (sleep, awake), sleeper)?;
    Ok(Box::new(move |size| {
        let died = || io::Error::other("the thread of the timers died");
        let (sleep, awake) = sleeper.near()?;
        sleep.send(size).map_err(|_| died())?;
        awake.recv().map_err(|_| died())
    }))
}
