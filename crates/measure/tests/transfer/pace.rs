//! Rates that are asked for: ratios to what was asked, never times.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::{self, Tcp, Udp};
use netfathom_model::record::{TransferEnd, TransferResult};

use crate::here::{Here, receiver, sender};

/// Both ends of a transfer with this rate, the sender's first.
fn paced(protocol: Transport, change: impl Fn(&mut TransferPlan)) -> [TransferResult; 2] {
    let mut plan = receiver(protocol);
    change(&mut plan);
    let to = Here::start(TransferPlan { time_ns: None, pace_bits_per_s: None, ..plan });
    let mut plan = sender(protocol, to.address());
    change(&mut plan);
    [Here::start(plan).result(), to.result()]
}

fn is_about(result: &TransferResult, asked_bits: f64) {
    let share = result.bytes_per_s().unwrap() * 8.0 / asked_bits;
    assert!((0.8..1.08).contains(&share), "{share} of {asked_bits}: {} bytes", result.bytes());
}

#[test]
fn either_protocol_keeps_the_rate_at_both_ends() {
    for (protocol, bits) in [(Tcp, 40_000_000), (Udp, 40_000_000), (Tcp, 400_000_000)] {
        for end in paced(protocol, |plan| {
            (plan.pace_bits_per_s, plan.time_ns) = (Some(bits), Some(1_500_000_000));
        }) {
            is_about(&end, bits as f64);
        }
    }
}

#[test]
fn the_rate_is_that_of_each_stream_and_of_data_with_a_checksum() {
    let asked = |plan: &mut TransferPlan| {
        (plan.pace_bits_per_s, plan.time_ns) = (Some(20_000_000), Some(1_000_000_000));
    };
    let [from, _] = paced(Tcp, |plan| {
        asked(plan);
        plan.streams = 2;
    });
    is_about(&from, 40_000_000.0);
    let [from, _] = paced(Tcp, |plan| {
        asked(plan);
        plan.checksum = true;
    });
    is_about(&from, 20_000_000.0);
}

/// Minutes between two calls: whoever waits for its time still ends when it is to.
#[test]
fn a_slow_rate_does_not_keep_from_ending() {
    for protocol in [Tcp, Udp] {
        let to = Here::start(receiver(protocol));
        let plan = TransferPlan { pace_bits_per_s: Some(8_000), ..sender(protocol, to.address()) };
        let from = Here::start(TransferPlan { buffer_bytes: 60_000, ..plan });
        thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        from.stop.store(true, Relaxed);
        to.stop.store(true, Relaxed);
        assert_eq!(from.result().end, TransferEnd::Interrupted);
        assert!(asked.elapsed() < Duration::from_secs(10));
        let _ = to.end();
    }
}
