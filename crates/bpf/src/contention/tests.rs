//! A thread that always wants its processor, beside processes that take it.

use std::time::Instant;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_testkit::{Burner, needs_root};

use super::*;

/// As in abi.h.
const LEAST_STINT_NS: u64 = 5000;
const LONG: Duration = Duration::from_millis(600);

/// What this thread waited so far, by the kernel's own account.
fn waited_ns() -> u64 {
    cpu::scheduling(thread_id()).unwrap().run_delay_ns
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

fn is_within_a_tenth(a: u64, b: u64) -> bool {
    a.abs_diff(b) * 10 <= a.max(b)
}

#[test]
fn a_wait_has_the_names_and_the_times_of_those_who_had_the_processor() {
    needs_root!();
    let contention = Contention::attach().unwrap();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    cpu::pin(last).unwrap();
    let burners = [Burner::on(last), Burner::on(last)];
    let followed = contention.follow().expect("followed");
    let ran = || burners.each_ref().map(Burner::ran_ns);
    let (ran_before, before) = (ran(), waited_ns());
    spin(LONG);
    let (ran_after, after, account) = (ran(), waited_ns(), followed.account().unwrap());
    println!("{account:?}; by the kernel: waited {}", after - before);
    assert!(account.waited_ns > LONG.as_nanos() as u64 / 4, "the burners did not burn");
    // It also waited while it began to be followed, and a moment before it is asked.
    assert!(is_within_a_tenth(account.waited_ns, after - before));
    for ((burner, since), until) in burners.iter().zip(ran_before).zip(ran_after) {
        let holder = account.holders.iter().find(|holder| holder.process == burner.pid()).expect("named");
        println!("{} ran {} by the kernel", burner.pid(), until - since);
        assert_eq!(holder.name, Burner::NAME);
        assert!(is_within_a_tenth(holder.ns, until - since));
    }
    let named: u64 = account.holders.iter().map(|holder| holder.ns).sum();
    let all = named + account.waiting.stolen_ns + account.waiting.interrupted_ns;
    assert!(all <= account.waited_ns + account.waited_ns / 1000, "more than it waited: {all}");
    assert!(is_within_a_tenth(all, account.waited_ns), "without a name: {}", account.waited_ns - all);
}

#[test]
fn a_thread_that_sleeps_waits_for_nobody() {
    needs_root!();
    let contention = Contention::attach().unwrap();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    let _burner = Burner::on(last);
    cpu::pin(last).unwrap();
    let followed = contention.follow().expect("followed");
    let before = followed.account().unwrap();
    std::thread::sleep(LONG);
    let slept_ns = LONG.as_nanos() as u64;
    let waited_ns = followed.account().unwrap().waited_ns - before.waited_ns;
    assert!(waited_ns < slept_ns / 4, "{waited_ns}");
    drop(followed);
    let again = contention.follow().expect("followed anew");
    assert!(again.account().unwrap().waited_ns < slept_ns / 4);
}

#[test]
fn what_others_had_the_processor_for_is_known_by_its_time() {
    needs_root!();
    let contention = Contention::attach().unwrap();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    cpu::pin(last).unwrap();
    let followed = contention.follow().expect("followed");
    let burner = Burner::on(last);
    // Pieces of a run, with what the kernel says that this thread waited in each.
    let (end, mut pieces) = (monotonic_ns() + 300_000_000, Vec::new());
    // In an emulator it takes long to ask what it waited: a wait may come before or after that, between the two clocks.
    let look = || {
        let before = monotonic_ns();
        (before, waited_ns(), monotonic_ns())
    };
    let mut last_seen = look();
    while last_seen.0 < end {
        spin(Duration::from_micros(100));
        let now = look();
        let disturbed = contention.is_disturbed(last, last_seen.0, now.2);
        pieces.push((disturbed, now.1 - last_seen.1));
        last_seen = now;
    }
    drop(burner);
    let (waits, runs): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.1 > 2 * LEAST_STINT_NS);
    let [of_waits, of_runs] = [&waits, &runs].map(|pieces| pieces.iter().filter(|piece| piece.0).count());
    println!("disturbed: {of_waits} of {} waits, {of_runs} of {} runs", waits.len(), runs.len());
    assert!(!waits.is_empty(), "the burner did not burn");
    // A switch that no program saw hides who came before it.
    assert!(of_waits * 10 >= waits.len() * 9, "{of_waits} of {}", waits.len());
    assert!(of_runs * 2 < runs.len(), "{of_runs} of {}", runs.len());
    drop(followed);
    assert!(contention.is_disturbed(last + 1, end, end), "what is not followed is not known");
}
