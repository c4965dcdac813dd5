//! Buffers and windows that are too small, and what small segments wait for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::mpsc::channel;

use netfathom_model::record::Cause::{DelayedAcknowledgement, Elsewhere, Nagle, ReceiveWindow, SendBuffer};
use netfathom_sys::endpoint;
use netfathom_testkit::{needs_root, unless_disturbed};

use crate::both::{Between, Situation, TwoPrograms};

/// A receive buffer that is no limit to a window of 64 KiB. Where the kernel sizes it, the window stays there in some runs.
const AMPLE: Option<u32> = Some(1 << 20);

#[test]
fn a_send_buffer_smaller_than_a_write() {
    needs_root!();
    let small = Situation::after(5).with(|s| {
        (s.sends.buffer_bytes, s.sends.socket_buffer_bytes) = (65_536, Some(4096));
        s.receives.socket_buffer_bytes = AMPLE;
    });
    let Some(outcome) = small.shows(SendBuffer, Elsewhere) else { return };
    let explanation = outcome.explanation_there();
    assert!(explanation.evidence.iter().any(|e| e.contains("smaller than a write")), "{explanation:#?}");
    small.cured_by(|s| s.sends.socket_buffer_bytes = None, 2.0, &outcome);
}

#[test]
fn a_send_buffer_smaller_than_what_the_path_holds() {
    needs_root!();
    // On a busy machine it takes a while until the congestion window is as large as the buffer.
    let small = Situation::after(20).with(|s| {
        (s.sends.socket_buffer_bytes, s.sends.time_ns) = (Some(32_768), Some(3_000_000_000));
    });
    let Some(outcome) = small.shows(SendBuffer, Elsewhere) else { return };
    small.cured_by(|s| s.sends.socket_buffer_bytes = None, 1.3, &outcome);
}

#[test]
fn a_receive_buffer_smaller_than_what_the_path_holds() {
    needs_root!();
    let small = Situation::after(10).with(|s| s.receives.socket_buffer_bytes = Some(16_384));
    let Some(outcome) = small.shows(ReceiveWindow, ReceiveWindow) else { return };
    small.cured_by(|s| s.receives.socket_buffer_bytes = AMPLE, 3.0, &outcome);
}

#[test]
fn a_small_receive_buffer_is_not_taken_for_a_busy_cpu() {
    for bytes in [8192, 32_768] {
        let small = Situation::over(Between::Loopback).with(|s| {
            (s.sends.buffer_bytes, s.receives.buffer_bytes) = (65_536, 65_536);
            s.receives.socket_buffer_bytes = Some(bytes);
        });
        let found = unless_disturbed(|| {
            let outcome = small.run();
            let explanations =
                (outcome.explanation_there(), outcome.received.as_ref().unwrap().explanation.clone());
            // The receiver may run most of the time for its many reads.
            match explanations {
                (there, Some(here)) if there.cause == ReceiveWindow && here.remedy.contains("-b") => {
                    Ok(outcome)
                }
                others => Err(format!("{others:#?}")),
            }
        });
        let Some(outcome) = found else { continue };
        // The larger one is nearly enough for a busy machine.
        if bytes < 16_384 {
            small.cured_by(|s| s.receives.socket_buffer_bytes = None, 2.0, &outcome);
        }
    }
}

/// Reads, and has its kernel delay ACKs, as it does for a program that answers.
fn delays_acks(mut from: TcpStream) {
    let mut buffer = vec![0; 65_536];
    loop {
        endpoint::delay_acks(from.as_fd()).unwrap();
        if !from.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
            return;
        }
    }
}

#[test]
fn delayed_acks() {
    // Over loopback a write is one segment, and two do not fit into the least buffer.
    let small = Situation::over(Between::Loopback).with(|s| {
        s.sends.socket_buffer_bytes = Some(1);
        s.foreign = Some(delays_acks);
    });
    let Some(outcome) = small.shows(DelayedAcknowledgement, DelayedAcknowledgement) else { return };
    small.cured_by(|s| s.sends.socket_buffer_bytes = None, 3.0, &outcome);
}

/// A header, a body, and the next only when both have arrived.
fn converse() -> TwoPrograms {
    const HEADER: usize = 40;
    const BODY: usize = 400;
    let (arrived, next) = channel();
    let feeds = Box::new(move |mut into: std::io::PipeWriter| {
        for _ in 0..15 {
            into.write_all(&[1; HEADER]).unwrap();
            // Long enough for the header to be on its way alone, on a busy machine too, and short
            // beside the round trip.
            std::thread::sleep(std::time::Duration::from_millis(2));
            into.write_all(&[2; BODY]).unwrap();
            if next.recv().is_err() {
                return;
            }
        }
    });
    let takes = Box::new(move |mut from: std::io::PipeReader| {
        while from.read_exact(&mut [0; HEADER + BODY]).is_ok() {
            let _ = arrived.send(());
        }
    });
    (feeds, takes)
}

#[test]
fn small_pieces_that_wait_for_each_other() {
    needs_root!();
    let small = Situation::after(20).with(|s| {
        (s.sends.generated, s.sends.time_ns, s.receives.generated) = (false, None, false);
        s.programs = converse;
    });
    let Some(outcome) = small.shows(Nagle, Elsewhere) else { return };
    let Some(at_once) = small.cured_by(|s| s.sends.no_delay = true, 1.1, &outcome) else { return };
    assert_ne!(at_once.explanation_there().cause, Nagle);
}
