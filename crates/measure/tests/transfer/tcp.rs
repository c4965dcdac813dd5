use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use netfathom_measure::kind::transfer::TransferError;
use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::Tcp;
use netfathom_model::record::{TransferEnd, TransferMethod};
use netfathom_model::verdict::Level;

use crate::here::{HANGS, Here, accepted, read_all, receiver, why};

/// Of buffers within a segment and over several.
#[test]
fn a_classic_receiver_gets_every_byte_and_the_end() {
    for (buffer_bytes, buffers) in [(1000, 77), (131_072, 50)] {
        let (here, from) = accepted(|plan| (plan.buffer_bytes, plan.buffers) = (buffer_bytes, buffers));
        let bytes = read_all(from).len() as u64;
        let result = here.result();
        let stream = &result.streams[0];
        assert_eq!((bytes, result.bytes(), stream.calls), (buffer_bytes * buffers, bytes, buffers));
        assert_eq!(result.end, TransferEnd::Whole);
        assert!(stream.closed_ns.unwrap() >= stream.duration_ns && stream.duration_ns > 0);
        let tcp = stream.tcp.unwrap();
        assert!(tcp.mss_bytes > 0 && tcp.cwnd > 0 && tcp.busy_us.is_some(), "{tcp:?}");
    }
}

#[test]
fn a_classic_sender_is_received_to_its_end_in_each_way() {
    for (discard, touch, way) in [
        (false, false, TransferMethod::Copied),
        (true, false, TransferMethod::Discarded),
        (false, true, TransferMethod::Copied),
    ] {
        let here = Here::start(TransferPlan { discard, touch, ..receiver(Tcp) });
        let mut to = TcpStream::connect(here.address()).unwrap();
        (0..50).for_each(|_| to.write_all(&[7; 3001]).unwrap());
        drop(to);
        let result = here.result();
        assert_eq!((result.bytes(), &result.end, result.way), (150_050, &TransferEnd::Whole, way));
        assert!(result.streams[0].calls >= 150_050 / 8192);
    }
}

#[test]
fn a_sender_that_only_ends_its_half_is_whole() {
    let here = Here::start(receiver(Tcp));
    let mut to = TcpStream::connect(here.address()).unwrap();
    to.write_all(&[1; 500]).unwrap();
    to.shutdown(Shutdown::Write).unwrap();
    let result = here.result();
    assert_eq!((result.bytes(), &result.end), (500, &TransferEnd::Whole));
    assert_eq!(to.read(&mut [0; 8]).unwrap(), 0, "the receiver closes as well");
}

#[test]
fn a_second_sender_is_refused_at_once() {
    let here = Here::start(receiver(Tcp));
    let at = here.address();
    let mut first = TcpStream::connect(at).unwrap();
    first.write_all(&[1; 10]).unwrap();
    // Taken, and so the door is shut: perhaps only after the second has knocked.
    let second = TcpStream::connect_timeout(&at, HANGS).and_then(|mut second| {
        second.set_read_timeout(Some(HANGS))?;
        second.read(&mut [0; 1])
    });
    // Not by our own patience: by its kernel.
    let refused = [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset];
    assert!(second.as_ref().is_err_and(|e| refused.contains(&e.kind())), "{second:?}");
    drop(first);
    assert_eq!(here.result().bytes(), 10);
}

#[test]
fn a_receiver_that_is_ended_reaches_the_sender() {
    let (here, mut from) = accepted(|plan| plan.buffers = 1_000_000);
    from.read_exact(&mut [0; 100_000]).unwrap();
    // What lies unread in a socket that is closed makes the kernel cut the connection.
    drop(from);
    let result = here.result();
    assert!(result.bytes() >= 100_000 && !why(&result).is_empty());
}

/// All is in the kernels' buffers when the receiver ends: the classic would call that done.
#[test]
fn a_receiver_that_never_reads_reaches_the_sender_too() {
    let (here, from) = accepted(|plan| (plan.buffer_bytes, plan.buffers) = (100, 3));
    thread::sleep(Duration::from_millis(200));
    drop(from);
    assert!(why(&here.result()).contains("other end"));
}

#[test]
fn a_receiver_that_does_not_close_is_waited_for_no_longer_than_the_idle_time() {
    let (here, mut from) = accepted(|plan| plan.idle_ns = 200_000_000);
    from.read_to_end(&mut Vec::new()).unwrap();
    let (result, verdict) = here.end().unwrap();
    assert_eq!((result.end, verdict.level), (TransferEnd::Acknowledged, Level::Degraded));
    drop(from);
}

/// What is in the buffers when its time is over would take this receiver for ever.
#[test]
fn a_transfer_of_a_given_time_is_cut_off_where_its_buffer_does_not_drain() {
    let (here, mut from) = accepted(|plan| (plan.time_ns, plan.idle_ns) = (Some(200_000_000), 300_000_000));
    // It moves all the time, so that it is never idle.
    let (hurry, over) = mpsc::channel::<()>();
    let reader = thread::spawn(move || {
        let mut bytes = 0;
        loop {
            match from.read(&mut [0; 512]) {
                Ok(0) => return Ok(bytes),
                Ok(some) => bytes += some as u64,
                Err(error) => return Err(error.kind()),
            }
            let _ = over.recv_timeout(Duration::from_millis(5));
        }
    });
    let (result, verdict) = here.end().unwrap();
    let TransferEnd::CutOff { unacknowledged_bytes } = result.end else { panic!("{:?}", result.end) };
    assert!(unacknowledged_bytes > 0 && unacknowledged_bytes < result.bytes());
    assert_eq!(verdict.level, Level::Degraded);
    drop(hurry);
    // The receiver learns that it has not all of it.
    assert_eq!(reader.join().unwrap(), Err(std::io::ErrorKind::ConnectionReset));
}

/// An end that it announced before does not show that it has read.
#[test]
fn a_receiver_that_ended_its_own_half_first_confirms_nothing() {
    let (mut here, mut from) = accepted(|plan| plan.generated = false);
    from.shutdown(Shutdown::Write).unwrap();
    thread::sleep(Duration::from_millis(50));
    drop(here.input.take());
    from.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(here.result().end, TransferEnd::Acknowledged);
}

#[test]
fn who_is_ended_by_its_user_cuts_the_connection() {
    let (here, mut from) = accepted(|plan| plan.buffers = 1_000_000);
    // The sender is blocked by then: the peer does not read.
    thread::sleep(Duration::from_millis(300));
    here.stop.store(true, Relaxed);
    assert_eq!(here.result().end, TransferEnd::Interrupted);
    assert!(from.read_to_end(&mut Vec::new()).is_err(), "the receiver saw an end");
}

#[test]
fn a_receiver_without_a_sender_can_be_stopped() {
    let here = Here::start(receiver(Tcp));
    here.address();
    thread::sleep(Duration::from_millis(100));
    here.stop.store(true, Relaxed);
    assert!(matches!(here.end(), Err(TransferError::Interrupted)));
}
