//! What is sent comes: all of it, once, in order, with every strategy and transport.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use netfathom_message::{Arrival, Config, Wait, strategy::Choice};

use crate::rig::{Kind, LIMIT, blocking, config, pair};

/// Lengths around every border there is: headers, direct writes, batches, the longest.
const LENGTHS: [usize; 12] = [0, 1, 4, 255, 1000, 4095, 4096, 16_380, 16_384, 20_000, 65_535, 65_536];

fn body(number: usize) -> Vec<u8> {
    let length = if number.is_multiple_of(10) { LENGTHS[number / 10 % LENGTHS.len()] } else { number % 64 };
    (0..length).map(|at| (number * 7 + at) as u8).collect()
}

#[test]
fn every_strategy_over_every_transport_delivers_the_same() {
    const COUNT: usize = 3000;
    for kind in [Kind::Tcp, Kind::Unix] {
        for choice in Choice::ALL {
            let (here, there) = pair(kind, &config(choice));
            let sender = thread::spawn(move || {
                let here = blocking(here);
                for number in 0..COUNT {
                    here.send((number % 3) as u16, &body(number)).unwrap();
                }
                here.connection().close(LIMIT).unwrap();
            });
            let mut next = [0, 1, 2];
            loop {
                let polled = there.poll(Wait::within(LIMIT), |arrival| {
                    let Arrival::Message { channel, body: got } = arrival else { panic!("{arrival:?}") };
                    let number = &mut next[usize::from(channel)];
                    assert!(got == body(*number), "{choice} {kind:?}: message {number}");
                    *number += 3;
                });
                match polled {
                    Ok(count) => assert!(count > 0, "{choice} {kind:?}: nothing came; next are {next:?}"),
                    Err(netfathom_message::Error::PeerClosed) => break,
                    Err(error) => panic!("{choice} {kind:?}: {error}"),
                }
            }
            assert_eq!(next, [COUNT, COUNT + 1, COUNT + 2], "{choice} {kind:?}");
            there.close(LIMIT).unwrap();
            sender.join().unwrap();
        }
    }
}

#[test]
fn a_single_message_arrives_though_the_sender_does_nothing_more() {
    for choice in [Choice::Adaptive, Choice::Inline, Choice::Thread] {
        // No ping takes the message along.
        let config = Config { ping_after: None, ..config(choice) };
        let (here, there) = pair(Kind::Tcp, &config);
        // The last of a burst is staged; the connection's own thread must see it off.
        for count in [1, 2, 7, 100] {
            for _ in 0..count {
                here.send(0, b"news").unwrap();
            }
            let there = blocking(there.clone()).with_limit(Some(Duration::from_secs(20)));
            for _ in 0..count {
                assert_eq!(there.receive(0).unwrap(), b"news");
            }
        }
    }
}

#[test]
fn batches_are_sent_on_flush() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Batch));
    here.send(0, b"held").unwrap();
    assert_eq!(there.receive(0, Wait::within(Duration::from_millis(50)), |_| ()).unwrap(), None);
    here.flush().unwrap();
    assert_eq!(blocking(there).receive(0).unwrap(), b"held");
}

#[test]
fn another_strategy_takes_over_what_is_staged() {
    let (here, there) = pair(Kind::Unix, &config(Choice::Batch));
    here.send(0, b"one").unwrap();
    here.set_strategy(Choice::Inline).unwrap();
    here.send(0, b"two").unwrap();
    let there = blocking(there);
    assert_eq!(there.receive(0).unwrap(), b"one");
    assert_eq!(there.receive(0).unwrap(), b"two");
}

#[test]
fn requests_and_answers_go_back_and_forth() {
    for choice in [Choice::Adaptive, Choice::Inline, Choice::Thread] {
        let (here, there) = pair(Kind::Tcp, &config(choice));
        let echo = thread::spawn(move || {
            let there = blocking(there);
            while let Ok(request) = there.receive(5) {
                there.send(6, &request).unwrap();
            }
        });
        let here = blocking(here);
        for number in 0..2000_u32 {
            here.send(5, &number.to_le_bytes()).unwrap();
            assert_eq!(here.receive(6).unwrap(), number.to_le_bytes());
        }
        here.connection().close(Duration::from_secs(20)).unwrap();
        echo.join().unwrap();
    }
}

#[test]
fn threads_that_send_and_receive_on_channels_of_their_own_do_not_disturb_each_other() {
    const THREADS: u16 = 6;
    const COUNT: u32 = 2000;
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let begin = Instant::now();
    thread::scope(|scope| {
        for channel in 0..THREADS {
            let (here, there) = (blocking(here.clone()), blocking(there.clone()));
            scope.spawn(move || {
                for number in 0..COUNT {
                    here.send(channel, &number.to_le_bytes()).unwrap();
                }
            });
            scope.spawn(move || {
                for number in 0..COUNT {
                    let got = there.receive_with(channel, <[u8]>::to_vec).unwrap();
                    assert_eq!(got, number.to_le_bytes(), "channel {channel}");
                }
            });
        }
    });
    assert!(begin.elapsed() < LIMIT);
}

#[test]
fn a_listener_may_answer_out_of_its_handler_but_not_wait_there() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let answering = there.clone();
    let (tell, ended) = mpsc::channel();
    let waited = tell.clone();
    let listener = there.listen(
        move |arrival| {
            let Arrival::Message { channel, body } = arrival else { return };
            let wait = answering.receive(9, Wait::Forever, |_| ());
            waited.send(wait.unwrap_err().to_string()).unwrap();
            answering.send(channel, body).unwrap();
        },
        move |ended| tell.send(ended.to_string()).unwrap(),
    );
    let here = blocking(here);
    here.send(4, b"ping").unwrap();
    assert_eq!(here.receive(4).unwrap(), b"ping");
    assert!(ended.recv_timeout(LIMIT).unwrap().contains("within a handler"));
    here.connection().close(Duration::from_millis(100)).unwrap();
    assert!(ended.recv_timeout(LIMIT).unwrap().contains("closed"));
    listener.unwrap().join().unwrap();
}
