//! Back-pressure: what is kept is bounded, and an unread channel stalls itself only.

use std::{thread, time::Duration};

use netfathom_message::{Error, Wait, protocol::Refused, strategy::Choice};

use crate::rig::{Kind, LIMIT, against_bare, blocking, pair, small};

#[test]
fn an_unread_channel_stalls_itself_only() {
    let (here, there) = pair(Kind::Tcp, &small(4096, 1 << 20));
    let mut taken = 0;
    let refused = loop {
        match here.send(1, &[0; 100]) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Refused(Refused::NoCredit { channel: 1 })), "{refused}");
    assert_eq!(taken, 4096 / 104, "the window of the channel, and no more");
    let (here, there) = (blocking(here), blocking(there));
    for number in 0..1000_u32 {
        here.send(2, &number.to_le_bytes()).unwrap();
        assert_eq!(there.receive(2).unwrap(), number.to_le_bytes());
    }
    for _ in 0..taken {
        assert_eq!(there.receive(1).unwrap(), [0; 100]);
    }
    here.send(1, b"again").unwrap();
    assert_eq!(there.receive(1).unwrap(), b"again");
}

#[test]
fn a_peer_that_reads_nothing_leaves_the_send_queue_at_its_bound() {
    for choice in Choice::ALL {
        let queue = 10_000;
        let mut config = small(1 << 30, queue);
        config.strategy = choice;
        let (here, _bare) = against_bare(&config, config.limits.hello());
        let mut most = 0;
        let refused = loop {
            most = most.max(here.queued());
            match here.send(0, &[7; 900]) {
                Ok(()) => {}
                // The connection's own thread may be about to make room.
                Err(Error::Refused(Refused::Full)) => {
                    thread::sleep(Duration::from_millis(20));
                    if let Err(error) = here.send(0, &[7; 900]) {
                        break error;
                    }
                }
                Err(error) => panic!("{choice}: {error}"),
            }
        };
        assert!(matches!(refused, Error::Refused(Refused::Full)), "{choice}: {refused}");
        assert!(most <= queue && most > queue - 2000, "{choice}: {most} bytes were queued");
        let waited = netfathom_message::Blocking::from(here).with_limit(Some(Duration::from_millis(30)));
        // On a busy machine the system may still find some room, but not for ever.
        let refused = (0..1000).find_map(|_| waited.send(0, &[7; 900]).err());
        assert!(matches!(refused, Some(Error::TimedOut(_))), "{choice}: {refused:?}");
    }
}

#[test]
fn two_ends_that_send_before_they_read_do_not_wait_for_each_other() {
    const COUNT: usize = 20_000;
    let (here, there) = pair(Kind::Unix, &small(1 << 20, 64 << 10));
    let side = |end| {
        move || {
            let end = blocking(end);
            let mut read = 0;
            for _ in 0..COUNT {
                end.send(0, &[1; 1000]).unwrap();
                end.connection().receive(0, Wait::No, |_| read += 1).unwrap();
            }
            end.flush().unwrap();
            // The other end may still wait for room that only reading gives.
            for _ in read..COUNT {
                end.receive(0).unwrap();
            }
            end
        }
    };
    // An end that has read everything stays until the other one has, too.
    let (one, other) = (thread::spawn(side(here)), thread::spawn(side(there)));
    let _ends = (one.join().unwrap(), other.join().unwrap());
}

#[test]
fn what_cannot_be_sent_says_why_and_changes_nothing() {
    let (here, there) = pair(Kind::Tcp, &small(4096, 10_000));
    let refused = here.send(0, &[0; 1025]).unwrap_err();
    assert!(matches!(refused, Error::Refused(Refused::TooLong { length: 1025, limit: 1024 })), "{refused}");
    let refused = here.send(16, b"").unwrap_err();
    assert!(matches!(refused, Error::Refused(Refused::UnknownChannel { channels: 16, .. })), "{refused}");
    here.send(0, &[3; 1024]).unwrap();
    assert_eq!(blocking(there).receive(0).unwrap(), [3; 1024]);
}

#[test]
fn a_limited_wait_ends_and_the_connection_goes_on() {
    let (here, there) = pair(Kind::Tcp, &small(4096, 10_000));
    let brief = netfathom_message::Blocking::from(there.clone()).with_limit(Some(Duration::from_millis(20)));
    let timed_out = brief.receive(0).unwrap_err();
    assert!(matches!(timed_out, Error::TimedOut(_)) && timed_out.is_refusal(), "{timed_out}");
    here.send(0, b"late").unwrap();
    assert_eq!(blocking(there).receive(0).unwrap(), b"late");
    blocking(here).with_limit(Some(LIMIT)).flush().unwrap();
}
