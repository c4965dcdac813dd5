//! Programs at either end that are slower than the network.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use netfathom_model::record::Cause::{Elsewhere, SlowReceiver, SlowSender};
use netfathom_testkit::privileged;

use crate::both::Situation;

#[test]
fn a_program_that_takes_its_time_to_read() {
    if !privileged("explanation of a slow reader") {
        return;
    }
    let slow = Situation::after(2).with(|s| {
        s.receives.made_up = false;
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
    if !privileged("explanation of a slow writer") {
        return;
    }
    let slow = Situation::after(2).with(|s| {
        (s.sends.made_up, s.sends.time_ns) = (false, None);
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
