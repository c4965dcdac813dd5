//! Programs at either end that are slower than the network.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::Wire;
use netfathom_model::record::Cause::{Elsewhere, ReceiveWindow, SlowReceiver, SlowSender};
use netfathom_testkit::needs_root;

use crate::both::{Between, Situation};

#[test]
fn a_program_that_takes_its_time_to_read() {
    needs_root!();
    let slow = Situation::after(2).with(|s| {
        s.receives.generated = false;
        s.sends.time_ns = Some(500_000_000);
        s.programs = || {
            let takes = |mut from: std::io::PipeReader| {
                let mut buffer = vec![0; 16_384];
                while from.read(&mut buffer).unwrap() > 0 {
                    thread::sleep(Duration::from_millis(2));
                }
            };
            (Box::new(drop), Box::new(takes))
        };
    });
    slow.shows(SlowReceiver, SlowReceiver);
}

#[test]
fn a_program_that_takes_its_time_to_write() {
    needs_root!();
    let slow = Situation::after(2).with(|s| {
        (s.sends.generated, s.sends.time_ns) = (false, None);
        s.programs = || {
            let feeds = |mut into: std::io::PipeWriter| {
                for _ in 0..400 {
                    into.write_all(&[1; 4000]).unwrap();
                    thread::sleep(Duration::from_millis(2));
                }
            };
            (Box::new(feeds), Box::new(drop))
        };
    });
    slow.shows(SlowSender, Elsewhere);
}

/// How long the reader below stood still, in microseconds.
static STOOD_STILL_US: AtomicU64 = AtomicU64::new(0);

/// Reads for 700 ms, and then not for 300 ms.
fn stops_now_and_then(mut from: TcpStream) {
    STOOD_STILL_US.store(0, Relaxed);
    let mut buffer = vec![0; 65_536];
    let mut since = Instant::now();
    while from.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        if since.elapsed() > Duration::from_millis(700) {
            let stops = Instant::now();
            thread::sleep(Duration::from_millis(300));
            let stood_us = u64::try_from(stops.elapsed().as_micros()).unwrap();
            STOOD_STILL_US.fetch_add(stood_us, Relaxed);
            since = Instant::now();
        }
    }
}

#[test]
fn a_program_that_stops_reading_now_and_then_on_a_slow_path() {
    needs_root!();
    let wire = Wire { rate_bits_per_s: Some(200_000_000), ..Wire::long(2_000_000) };
    let stops = Situation::over(Between::Wire(wire)).with(|s| {
        s.sends.time_ns = Some(3_500_000_000);
        s.foreign = Some(stops_now_and_then);
    });
    let outcome = stops.run();
    let took_us = outcome.sent.streams[0].closed_ns.unwrap() / 1000;
    let stood_still = STOOD_STILL_US.load(Relaxed) as f64 / took_us as f64;
    let explanation = outcome.explanation_there();
    let named =
        [(explanation.cause, explanation.share)].into_iter().chain(explanation.others.iter().copied());
    let share: f64 = named.filter(|(cause, _)| *cause == SlowReceiver).map(|(_, share)| share).sum();
    // It is a moment until the kernel there notices, and another until what waits is read.
    assert!((0.7..1.3).contains(&(share / stood_still)), "{share} of {stood_still}: {explanation:#?}");
}

/// Reads all that the least window holds, and sleeps: the window is full about as long as it is closed.
fn sleeps_after_each_read(mut from: TcpStream) {
    let mut buffer = vec![0; 65_536];
    while from.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_that_sleeps_after_each_read_of_a_full_window() {
    let sleeps = Situation::over(Between::Loopback).with(|s| {
        s.sends.time_ns = Some(1_500_000_000);
        s.foreign = Some(sleeps_after_each_read);
    });
    let outcome = sleeps.run();
    let explanation = outcome.explanation_there();
    assert_eq!(explanation.cause, SlowReceiver, "{explanation:#?}");
    assert!(explanation.others.iter().all(|(cause, _)| *cause != ReceiveWindow), "{explanation:#?}");
}
