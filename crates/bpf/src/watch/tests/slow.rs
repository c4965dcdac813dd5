//! Single messages that take long.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use netfathom_model::record::{CpuStay, Holder, SlowMessage};
use netfathom_sys::cpu;
use netfathom_testkit::{Burner, Killed, needs};

use super::*;
use crate::contention::tests::CpuGroup;

/// Half of a pause: on a machine that is busy, further messages may take as long.
const BOUND_NS: u64 = PAUSE.as_nanos() as u64 / 2;
const MS: u64 = 1_000_000;

fn attach(selection: Selection, direction: Direction) -> Watch {
    Watch::attach(selection, &[direction], Detail { slow: true, ..Detail::default() }).unwrap()
}

fn listening(direction: Direction) -> (TcpListener, Watch) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(Selection::Port(listener.local_addr().unwrap().port()), direction);
    (listener, watch)
}

/// Their stages are their times, which are beyond the bound, and their sockets are known.
fn hold(messages: &[SlowMessage], listener: &TcpListener, bound_ns: u64) {
    let local = listener.local_addr().unwrap().to_string();
    for message in messages {
        let stages: i64 = message.stages.iter().map(|stage| stage.sum_ns).sum();
        assert_eq!(stages, message.total_ns(), "{message:?}");
        assert!(message.total_ns() >= bound_ns as i64, "{message:?}");
        assert_eq!(message.local.as_ref(), Some(&local));
        assert_eq!(message.process.as_ref().map(|process| process.pid), Some(std::process::id()));
    }
}

#[test]
fn messages_beyond_the_bound_are_kept_and_no_others() {
    needs_root!();
    let (listener, watch) = listening(Direction::Rx);
    // Without a bound nothing is slow.
    exchange(&listener, 3, || thread::sleep(PAUSE));
    assert_eq!(watch.slow().unwrap(), []);
    watch.set_slow(Direction::Rx, BOUND_NS);
    exchange(&listener, REQUESTS, || ());
    let by_chance = watch.slow().unwrap();
    hold(&by_chance, &listener, BOUND_NS);
    assert!(by_chance.len() as u64 <= REQUESTS / 10, "{by_chance:?}");
    exchange(&listener, 5, || thread::sleep(PAUSE));
    let slow = watch.slow().unwrap();
    hold(&slow, &listener, BOUND_NS);
    assert_eq!((slow.len(), watch.slow_lost()), (5, 0));
    assert!(slow.iter().all(|message| message.most().unwrap().stage == WatchStage::Blocked), "{slow:?}");
    assert!(slow.is_sorted_by_key(|message| message.end_ns));
    assert_eq!(watch.slow().unwrap(), []);
}

#[test]
fn what_is_sent_is_kept_with_what_held_it_and_its_process() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let (listener, watch) = listening(Direction::Tx);
    watch.set_slow(Direction::Tx, BOUND_NS);
    let (mut server, mut client) = connection(&listener);
    for _ in 0..20 {
        send::set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
        server.write_all(&[0; 10]).unwrap();
        thread::sleep(PAUSE);
        send::set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 0);
        client.read_exact(&mut [0; 10]).unwrap();
    }
    let slow = watch.slow().unwrap();
    hold(&slow, &listener, BOUND_NS);
    let peer = client.local_addr().unwrap().to_string();
    assert!(slow.iter().all(|message| message.peer.as_ref() == Some(&peer) && message.bytes == 10));
    assert!(slow.iter().all(|message| message.most().unwrap().stage == WatchStage::Cork), "{slow:?}");
    // Some may leave while no program runs.
    assert!(slow.len() >= 19, "{}", slow.len());
}

/// Two threads run before all ordinary ones and take turns, more often in a row than a CPU keeps stays.
const TURNS: &str = "import os, threading, time
print(0, flush=True)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
ends = [os.pipe(), os.pipe()]
def take(own, other):
    while True:
        for _ in range(100):
            os.write(other[1], b'x')
            os.read(own[0], 1)
        time.sleep(0.002)
for own, other in [ends, ends[::-1]]:
    threading.Thread(target=take, args=(own, other)).start()";

/// A script's process, which may use the last CPU alone, and that CPU.
fn serving_on_last_cpu(script: &str) -> (usize, Option<(Killed, u16)>) {
    let all = cpu::allowed().unwrap();
    let last = *all.last().unwrap();
    cpu::pin(last).unwrap();
    let serving = planted::serving(script);
    cpu::allow(&all).unwrap();
    (last, serving)
}

/// The reader shares its CPU with another process, and with threads that take turns.
#[test]
fn who_had_the_cpu_while_a_message_waited_is_kept_with_it() {
    needs_root!();
    // Without python3, or a real-time share of its control group, the other process alone.
    let (last, _turns) = serving_on_last_cpu(TURNS);
    let (listener, watch) = listening(Direction::Rx);
    watch.set_slow(Direction::Rx, MS);
    let burner = Burner::on(last);
    // Its time on the CPU is used up when it comes to read.
    let work = || {
        cpu::pin(last).unwrap();
        let end = thread_time_ns() + 5 * MS;
        while thread_time_ns() < end {}
    };
    exchange(&listener, 40, work);
    let slow = watch.slow().unwrap();
    hold(&slow, &listener, MS);
    let by = Holder::Process { name: Burner::NAME.into(), pid: burner.pid(), cgroup: None };
    let had = |message: &SlowMessage, of: &dyn Fn(&CpuStay) -> bool| -> i64 {
        let stays = message.stays.iter().filter(|stay| !stay.own && of(stay));
        stays.map(|stay| stay.within(message.begin_ns, message.end_ns) as i64).sum()
    };
    // Of what other programs of a busy machine leave.
    let named = |message: &&SlowMessage| {
        let burner_ns = had(message, &|stay| stay.by == by);
        burner_ns > 0 && 2 * burner_ns > message.waited_ns() as i64 - had(message, &|stay| stay.by != by)
    };
    let long = || slow.iter().filter(|message| message.waited_ns() > MS);
    println!("{} of {}", long().filter(named).count(), long().count());
    assert!(slow.iter().flat_map(|message| &message.stays).any(|stay| stay.own), "{slow:?}");
    assert!(long().count() > 0 && long().filter(named).count() * 2 > long().count(), "{slow:?}");
    // By the kernel's account.
    let waited_ns: u64 = slow.iter().map(SlowMessage::waited_ns).sum();
    let unknown_ns: u64 = slow.iter().map(SlowMessage::unknown_ns).sum();
    assert!(unknown_ns * 4 < waited_ns, "{unknown_ns} of {waited_ns}");
}

const BUSY: &str = "import socket, time
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while connection.recv(64, socket.MSG_PEEK):
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    connection.sendall(connection.recv(64))";

/// The reader is another process, and a thread of this one shares its CPU.
#[test]
fn what_this_process_had_of_the_cpu_is_netfathoms() {
    needs_root!();
    let (last, Some((_server, port))) = serving_on_last_cpu(BUSY) else { skip!("needs python3") };
    let watch = attach(Selection::Port(port), Direction::Rx);
    watch.set_slow(Direction::Rx, MS);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            cpu::pin(last).unwrap();
            let began = Instant::now();
            while !is_over.load(Relaxed) && began.elapsed() < Duration::from_secs(60) {
                std::hint::spin_loop();
            }
        });
        ask(TcpStream::connect(("127.0.0.1", port)).unwrap(), 40);
        is_over.store(true, Relaxed);
    });
    let (waits, slow) = (watch.waits().unwrap(), watch.slow().unwrap());
    assert!(waits.holders.iter().any(|held| held.by == Holder::Netfathom), "{waits:?}");
    let is_own =
        |message: &SlowMessage| message.holder().is_some_and(|(by, _)| *by.first == Holder::Netfathom);
    assert!(slow.iter().any(is_own), "{slow:?}");
}

/// Requests with a pause before each answer, and after it.
fn pauses(watch: &Watch, mut server: TcpStream, mut client: TcpStream, pauses: [Duration; 2]) {
    watch.set_slow_application(BOUND_NS);
    for _ in 0..5 {
        client.write_all(&[7; 64]).unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
        thread::sleep(pauses[0]);
        server.write_all(&[7; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
        thread::sleep(pauses[1]);
    }
}

#[test]
fn a_server_that_takes_long_to_answer_is_kept_with_where_its_thread_was() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let (listener, watch) = listening(Direction::Rx);
    let (server, client) = connection(&listener);
    pauses(&watch, server, client, [PAUSE, Duration::ZERO]);
    let slow = watch.slow().unwrap();
    if watch.account().unwrap().unseen_switches > 0 {
        skip!("a switch of the server was not seen");
    }
    hold(&slow, &listener, PAUSE.as_nanos() as u64);
    assert_eq!(slow.len(), 5, "{slow:?}");
    let is_blocked = |of: &SlowMessage| of.application && of.most().unwrap().stage == WatchStage::Blocked;
    assert!(slow.iter().all(is_blocked), "{slow:?}");
}

#[test]
fn what_a_client_does_before_its_next_request_is_no_answer() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(Selection::Marked, Direction::Rx);
    let (server, client) = connection(&listener);
    watch.mark(&client, false).unwrap();
    pauses(&watch, server, client, [Duration::ZERO, PAUSE]);
    assert_eq!(watch.slow().unwrap(), []);
}

#[test]
fn a_message_is_kept_with_how_long_its_reader_was_stopped() {
    needs_root!();
    let Some((server, port)) = planted::serving(planted::ECHO) else { skip!("needs python3") };
    let watch = attach(Selection::Port(port), Direction::Rx);
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&[7; 64]).unwrap();
    client.read_exact(&mut [0; 64]).unwrap();
    watch.set_slow(Direction::Rx, BOUND_NS);
    planted::stop(server.id(), &mut client, 2 * BOUND_NS / MS);
    let (slow, account) = (watch.slow().unwrap(), watch.account().unwrap());
    let stopped_ns: u64 = slow.iter().map(|message| message.stopped_ns).sum();
    println!("{stopped_ns} in {} messages; {account:?}", slow.len());
    assert!(stopped_ns > BOUND_NS, "{slow:?}");
    assert_eq!(stopped_ns, account.stopped_ns);
}

#[test]
fn a_message_is_kept_with_how_long_the_quota_of_its_reader_was_used_up() {
    needs_root!();
    let Some(group) = CpuGroup::new("netfathom-watch-slow-quota") else {
        skip!("needs a cgroup with the CPU controller")
    };
    let (listener, watch) = listening(Direction::Rx);
    watch.set_slow(Direction::Rx, BOUND_NS);
    exchange(&listener, 9, || {
        group.limit().unwrap();
        planted::work(5);
    });
    let (slow, throttled_ns) = (watch.slow().unwrap(), group.throttled_ns());
    let kept_ns: u64 = slow.iter().map(|message| message.throttled_ns).sum();
    println!("{kept_ns} of {throttled_ns} in {} messages", slow.len());
    // The reader of the first one is not known.
    assert!(throttled_ns > BOUND_NS && 2 * kept_ns >= throttled_ns, "{slow:?}");
    assert!(slow.iter().all(|message| message.throttled_ns <= message.waited_ns()), "{slow:?}");
}

#[test]
fn what_finds_no_room_is_counted_and_answers_apart() {
    needs_root!();
    const MESSAGES: u64 = 2000;
    let (listener, watch) = listening(Direction::Rx);
    watch.set_slow(Direction::Rx, 0);
    watch.set_slow_application(0);
    exchange(&listener, MESSAGES, || ());
    let (timed, application) = (watch.account().unwrap().timed, watch.application().unwrap());
    let answers = application.map_or(0, |times| times.moments.n);
    let (slow, lost, answers_lost) =
        (watch.slow().unwrap(), watch.slow_lost(), watch.slow_applications_lost());
    let kept = |slow: &[SlowMessage], application: bool| {
        slow.iter().filter(|message| message.application == application).count() as u64
    };
    println!("{} of {timed} messages and {answers} answers", slow.len());
    assert_eq!(kept(&slow, false) + lost - answers_lost, timed);
    assert_eq!(kept(&slow, true) + answers_lost, answers);
    assert!(slow.len() > 400 && lost > answers_lost);
    // Without the hook for answers there are none.
    assert_eq!(answers_lost > 0, answers > 0);
    exchange(&listener, 100, || ());
    assert_eq!(kept(&watch.slow().unwrap(), false), 100);
}
