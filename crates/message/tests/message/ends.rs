//! How connections end, and what is known afterwards.

use std::{
    io::{self, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    thread,
    time::Duration,
};

use netfathom_message::{
    Config, Connection, Error, Limits, Wait,
    protocol::{ProtocolError, Refused},
    strategy::Choice,
    transport::{Tcp, Transport},
    wire::{Control, Header, Kind as Frame},
};

use crate::rig::{Kind, LIMIT, against_bare, blocking, config, pair, streams, unequal};

#[test]
fn a_close_waits_until_all_is_read() {
    for choice in Choice::ALL {
        let (here, there) = pair(Kind::Tcp, &config(choice));
        for number in 0..100_u32 {
            here.send(0, &number.to_le_bytes()).unwrap();
        }
        let closer = thread::spawn(move || {
            here.close(LIMIT).unwrap();
            here
        });
        let there = blocking(there);
        for number in 0..100_u32 {
            assert_eq!(there.receive(0).unwrap(), number.to_le_bytes(), "{choice}");
        }
        let ended = there.receive(0).unwrap_err();
        assert!(matches!(ended, Error::PeerClosed), "{choice}: {ended}");
        there.connection().close(LIMIT).unwrap();
        let here = closer.join().unwrap();
        assert!(matches!(here.send(0, b""), Err(Error::Ended)), "{choice}");
    }
}

#[test]
fn a_peer_that_leaves_right_after_its_close_has_closed() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut sent = Limits::default().hello().encode().to_vec();
    Control::Close.put(&mut sent);
    far.write_all(&sent).unwrap();
    let here = Connection::unix(near, &Config::default()).unwrap();
    // No peer is left to read the answer to the close.
    drop(far);
    let ended = blocking(here).receive(0).unwrap_err();
    assert!(matches!(ended, Error::PeerClosed), "{ended}");
}

#[test]
fn both_may_close_at_once() {
    let (here, there) = pair(Kind::Unix, &config(Choice::Adaptive));
    here.send(0, b"from here").unwrap();
    there.send(0, b"from there").unwrap();
    let other = thread::spawn(move || there.close(LIMIT));
    here.close(LIMIT).unwrap();
    other.join().unwrap().unwrap();
}

#[test]
fn a_close_that_the_peer_does_not_read_times_out() {
    let (here, _bare) = against_bare(&Config::default(), Limits::default().hello());
    let ended = here.close(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(ended, Error::TimedOut(_)), "{ended}");
}

#[test]
fn after_a_close_nothing_is_sent() {
    let (here, bare) = against_bare(&Config::default(), Limits::default().hello());
    let closing = here.clone();
    let closer = thread::spawn(move || closing.close(Duration::from_millis(300)));
    thread::sleep(Duration::from_millis(50));
    let refused = here.send(0, b"late").unwrap_err();
    assert!(matches!(refused, Error::Refused(Refused::Closed)), "{refused}");
    assert!(closer.join().unwrap().is_err());
    drop(bare);
}

#[test]
fn an_abort_tells_its_code_and_ends_waits_of_both_sides() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let waiting = here.clone();
    let waiter = thread::spawn(move || waiting.poll(Wait::Forever, |_| ()).unwrap_err());
    thread::sleep(Duration::from_millis(20));
    here.abort(77);
    let ended = blocking(there).receive(0).unwrap_err();
    assert!(matches!(ended, Error::Aborted { code: 77 }), "{ended}");
    let ended = waiter.join().unwrap();
    assert!(matches!(ended, Error::Ended), "{ended}");
}

#[test]
fn a_drop_without_a_close_is_not_taken_for_one() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Batch));
    here.send(0, b"last words").unwrap();
    drop(here);
    let there = blocking(there);
    assert_eq!(there.receive(0).unwrap(), b"last words");
    let ended = there.receive(0).unwrap_err();
    assert!(matches!(ended, Error::PeerVanished { inside_frame: false }), "{ended}");
    let again = there.send(0, b"").unwrap_err();
    assert!(matches!(again, Error::PeerVanished { .. }), "every later call says the same: {again}");
}

#[test]
fn a_drop_waits_for_the_write_that_is_under_way() {
    let (near, far) = streams();
    let far = thread::spawn(move || Connection::tcp(far, &Config::default()).unwrap());
    let here = Connection::open(Lingering(Tcp::new(near).unwrap()), &config(Choice::Thread)).unwrap();
    let there = blocking(far.join().unwrap());
    here.send(0, b"under way").unwrap();
    assert_eq!(there.receive(0).unwrap(), b"under way");
    here.send(0, b"staged behind it").unwrap();
    drop(here);
    assert_eq!(there.receive(0).unwrap(), b"staged behind it");
}

/// A socket with a writer that the system keeps after its bytes were sent.
#[derive(Debug)]
struct Lingering(Tcp);

impl AsFd for Lingering {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transport for Lingering {
    fn send(&self, parts: &[&[u8]]) -> io::Result<usize> {
        let sent = self.0.send(parts);
        thread::sleep(Duration::from_millis(100));
        sent
    }
}

#[test]
fn a_peer_that_vanishes_inside_a_frame_is_reported() {
    let (here, mut bare) = against_bare(&Config::default(), Limits::default().hello());
    let mut frame = Vec::new();
    Header { kind: Frame::Message, channel: 0, length: 10 }.put(&mut frame);
    frame.extend([0; 9]);
    bare.write_all(&frame).unwrap();
    bare.shutdown(Shutdown::Both).unwrap();
    let ended = blocking(here).receive(0).unwrap_err();
    assert!(matches!(ended, Error::PeerVanished { inside_frame: true }), "{ended}");
}

fn impatient() -> Config {
    Config {
        ping_after: Some(Duration::from_millis(40)),
        silent_after: Duration::from_millis(120),
        frame_within: Duration::from_millis(120),
        ..Config::default()
    }
}

/// Half-open: the socket lives, but the peer does not answer, and the application neither reads nor writes.
#[test]
fn a_silent_peer_is_given_up_though_the_application_does_nothing() {
    let (here, _bare) = against_bare(&impatient(), Limits::default().hello());
    let mut waited = 0;
    let ended = loop {
        if let Some(ended) = here.failure() {
            break ended;
        }
        thread::sleep(Duration::from_millis(10));
        waited += 1;
        assert!(waited < 3000, "the peer was never given up");
    };
    assert!(matches!(ended, Error::Protocol(ProtocolError::Silent { ms: 120 })), "{ended}");
}

#[test]
fn peers_that_have_nothing_to_say_keep_each_other_alive() {
    let (here, there) = pair(Kind::Tcp, &impatient());
    thread::sleep(Duration::from_millis(600));
    here.send(0, b"still there").unwrap();
    assert_eq!(blocking(there).receive(0).unwrap(), b"still there");
}

#[test]
fn a_frame_that_comes_in_drops_runs_out_of_time() {
    let (here, mut bare) = against_bare(&impatient(), Limits::default().hello());
    let mut frame = Vec::new();
    Header { kind: Frame::Message, channel: 0, length: 60_000 }.put(&mut frame);
    let dripper = thread::spawn(move || {
        while bare.write_all(&frame).is_ok() {
            frame = vec![0];
            thread::sleep(Duration::from_millis(5));
        }
    });
    let ended = blocking(here).receive(0).unwrap_err();
    assert!(matches!(ended, Error::Protocol(ProtocolError::FrameTimeout { .. })), "{ended}");
    dripper.join().unwrap();
}

#[test]
fn a_peer_that_says_no_hello_or_half_of_one_is_given_up() {
    let config = Config { handshake: Duration::from_millis(50), ..Config::default() };
    for sent in [0, 1, 23] {
        let (near, mut far) = streams();
        far.write_all(&Limits::default().hello().encode()[..sent]).unwrap();
        let refused = Connection::tcp(near, &config).unwrap_err();
        assert!(matches!(refused, Error::Handshake(_)), "{refused}");
    }
}

#[test]
fn a_peer_that_aborted_is_heard_though_writing_failed_first() {
    let (here, mut bare) = against_bare(&config(Choice::Inline), Limits::default().hello());
    let mut frame = Vec::new();
    Control::Abort { code: 5 }.put(&mut frame);
    bare.write_all(&frame).unwrap();
    drop(bare);
    let ended = loop {
        if let Err(ended) = here.send(0, b"anybody?") {
            break ended;
        }
    };
    // A reset may have swallowed the abort; but it is never taken for an orderly end.
    assert!(matches!(ended, Error::Aborted { code: 5 } | Error::PeerVanished { .. }), "{ended}");
}

#[test]
fn a_callback_that_panics_ends_the_connection_and_not_in_silence() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    // The buffer is offered later, and the application makes no call: the connection's own thread reads that.
    here.set_strategy(Choice::Thread).unwrap();
    here.post(0, vec![0; 10], |_| panic!("in a callback, as the test wants")).unwrap();
    there.offer(0, vec![0; 10]).unwrap();
    let waiting = here.clone();
    let waiter = thread::spawn(move || waiting.poll(Wait::Forever, |_| ()));
    let ended = waiter.join();
    let failed = match ended {
        Ok(result) => matches!(result, Err(Error::Panicked)),
        // The thread that waited found the post done before the other did.
        Err(_) => true,
    };
    assert!(failed);
}

/// The names of this process's threads, as `top` shows them.
fn thread_names() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while they are looked through.
    threads.filter_map(|one| std::fs::read_to_string(one.ok()?.path().join("comm")).ok()).collect()
}

#[test]
fn a_connection_s_threads_bear_its_name() {
    let named = Config { name: "parcels".into(), ..Config::default() };
    let (here, _there) = unequal(Kind::Unix, &named, &Config::default());
    let listener = here.listen(|_| (), |_| ()).unwrap();
    let (mover, listening) = ("parcels-mover\n".to_owned(), "parcel-listener\n".to_owned());
    // A thread takes its name itself, once it runs.
    let mut names = thread_names();
    for _ in 0..1000 {
        if names.contains(&mover) && names.contains(&listening) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
        names = thread_names();
    }
    assert!(names.contains(&mover) && names.contains(&listening), "{names:?}");
    here.abort(0);
    listener.join().unwrap();
}
