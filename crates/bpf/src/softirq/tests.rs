//! The same flood, looked at from several sides at once. Other tests send too meanwhile, so
//! that others have a lower bound only.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Command, id};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_sys::{cpu, endpoint};
use netfathom_testkit::{Killed, again_in_pid_namespace, host, needs_root, privileged};

use super::accounting::{Window, judged, tried_out};
use super::*;
use crate::lab::{FAR, Pair};

const FLOOD: Duration = Duration::from_millis(300);

/// What each of several lookers saw of some work.
struct Seen {
    wall_ns: u64,
    process: SoftirqTimes,
    thread: SoftirqTimes,
    /// One for a process that does nothing.
    idler: SoftirqTimes,
}

fn seen(work: impl FnOnce()) -> Seen {
    let idler = Killed(Command::new("sleep").arg("600").spawn().unwrap());
    let lookers = [
        Softirq::attach(id()).unwrap(),
        Softirq::attach_to_thread(cpu::thread_id()).unwrap(),
        Softirq::attach(idler.id()).unwrap(),
    ];
    let before = lookers.each_ref().map(|looker| looker.read().unwrap());
    let start = Instant::now();
    work();
    let [process, thread, idler] = [0, 1, 2].map(|i| lookers[i].read().unwrap().since(&before[i]));
    Seen { wall_ns: start.elapsed().as_nanos() as u64, process, thread, idler }
}

/// Sends datagrams without a reader, from this thread.
fn flood(socket: &UdpSocket, time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        (0..50).for_each(|_| drop(socket.send(&[7; 64])));
    }
}

fn all(times: SoftirqTimes) -> u64 {
    times.own_ns + times.others_ns
}

fn is_of_this_thread(seen: &Seen) {
    let Seen { wall_ns, process, thread, idler } = *seen;
    let cpus = thread::available_parallelism().unwrap().get() as u64;
    println!("wall {wall_ns}, process {process:?}, thread {thread:?}, idler {idler:?}");
    assert!(thread.own_ns > wall_ns / 200, "{thread:?}");
    assert!(process.own_ns > thread.own_ns / 2, "{process:?} {thread:?}");
    assert!([process, thread, idler].iter().all(|&t| all(t) < wall_ns * cpus && t.count > 100));
    // The others of one are the own of another.
    assert!(idler.own_ns < thread.own_ns / 20, "{idler:?} {thread:?}");
    assert!(idler.others_ns > thread.own_ns / 2, "{idler:?} {thread:?}");
    let sums = [process, thread, idler].map(all);
    assert!(sums.iter().max().unwrap() / 2 < *sums.iter().min().unwrap(), "{sums:?}");
}

fn loopback_flood() {
    let apart = host();
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        socket
    };
    let socket = apart.run(socket).unwrap();
    is_of_this_thread(&seen(|| flood(&socket, FLOOD)));
}

#[test]
fn a_flood_over_the_loopback_device_is_on_top_of_its_sender() {
    if privileged("soft interrupts of the loopback device") {
        loopback_flood();
    }
}

#[test]
fn a_flood_over_a_veth_pair_is_on_top_of_its_sender() {
    needs_root!();
    let pair = Pair::new();
    let reader = pair.far.run(|| UdpSocket::bind((FAR[0], 0)).unwrap()).unwrap();
    let sender = pair.near.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    sender.connect(reader.local_addr().unwrap()).unwrap();
    is_of_this_thread(&seen(|| flood(&sender, FLOOD)));
}

#[test]
fn a_transfer_by_other_threads_is_of_the_process_and_not_of_this_thread() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let reader = listener.accept().unwrap().0;
    let transfer = || {
        thread::scope(|s| {
            s.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < FLOOD {
                    endpoint::send(sender.as_fd(), &[7; 8192]).unwrap();
                }
                endpoint::end_sending(sender.as_fd()).unwrap();
            });
            s.spawn(|| while endpoint::discard(reader.as_fd(), 1 << 20).unwrap() > 0 {});
        });
    };
    let Seen { wall_ns, process, thread, .. } = seen(transfer);
    assert!(process.own_ns > wall_ns / 200, "{wall_ns} {process:?}");
    assert!(thread.own_ns < process.own_ns / 5, "{thread:?} {process:?}");
}

#[test]
fn what_began_before_anyone_looked_is_left_out() {
    needs_root!();
    let going = AtomicBool::new(true);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.connect(socket.local_addr().unwrap()).unwrap();
                while going.load(Relaxed) {
                    flood(&socket, Duration::from_millis(5));
                }
            });
        }
        let start = Instant::now();
        // Without an entry the time would be that since the machine started.
        let most = (0..20).map(|_| all(Softirq::attach(id()).unwrap().read().unwrap())).max();
        going.store(false, Relaxed);
        assert!(u128::from(most.unwrap()) < start.elapsed().as_nanos(), "{most:?}");
    });
}

#[test]
fn a_thread_that_sleeps_is_on_top_of_nothing() {
    needs_root!();
    let Seen { wall_ns, thread, .. } = seen(|| thread::sleep(FLOOD));
    assert!(thread.own_ns < wall_ns / 50, "{thread:?}");
}

#[test]
fn a_pid_namespace_of_its_own_is_no_obstacle() {
    needs_root!();
    again_in_pid_namespace("softirq::tests::a_flood_over_the_loopback_device_is_on_top_of_its_sender");
}

#[test]
fn the_kernels_account_is_tried_out() {
    needs_root!();
    let stated = accounting_splits_softirq();
    let tried = tried_out().unwrap();
    println!("stated {stated:?}, tried {tried:?}");
    // On a busy machine it may remain unknown.
    assert!(stated.is_some());
    assert!(tried.is_none() || tried == stated, "{tried:?} {stated:?}");
}

#[test]
fn what_is_missing_from_the_account_decides() {
    let window = |charged_ns, softirq_ns| Window { passed_ns: 1000, charged_ns, softirq_ns };
    assert_eq!(judged(&[window(990, 400); 5]), Some(false));
    assert_eq!(judged(&[window(610, 400); 5]), Some(true));
    assert_eq!(judged(&[window(960, 30); 5]), None);
    assert_eq!(judged(&[]), None);
    // Another machine had the processor in two of five.
    let [good, stolen] = [window(990, 400), window(300, 400)];
    assert_eq!(judged(&[good, stolen, good, stolen, good]), Some(false));
}
