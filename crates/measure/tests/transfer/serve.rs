//! A receiver that takes sender after sender.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::Transport::Tcp;
use netfathom_model::plan::{Service, TransferPlan};
use netfathom_model::record::{Served, TransferEnd, TransferMethod, TransferResult};
use netfathom_model::verdict::Level;
use netfathom_sys::endpoint;

use crate::here::{HANGS, Here, receiver, sender, why};

const SERVICE: Service = Service { most_clients: 8, most_bytes: None, timeout_ns: 60_000_000_000 };

fn serving(service: Service) -> (Here, SocketAddr) {
    let here = Here::start(TransferPlan { serve: Some(service), ..receiver(Tcp) });
    let at = here.address();
    (here, at)
}

fn connect(to: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(HANGS)).unwrap();
    socket
}

/// Sends so much, ends its half, and waits until the service has closed: it was counted by then.
fn client(to: SocketAddr, bytes: usize) {
    let mut socket = connect(to);
    socket.write_all(&vec![1; bytes]).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
}

/// Waits until a socket is cut off by the other end.
fn is_cut(socket: &mut TcpStream) {
    let error = socket.read(&mut [0; 1]).expect_err("a connection that was cut");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

fn stopped(here: Here) -> (TransferResult, Served) {
    here.stop.store(true, Relaxed);
    let (result, verdict) = here.end().unwrap();
    assert_eq!((&result.end, verdict.level), (&TransferEnd::Stopped, Level::Valid), "{verdict:?}");
    let served = result.served.unwrap();
    (result, served)
}

#[test]
fn senders_one_after_the_other_and_at_once_are_all_counted() {
    let (here, at) = serving(SERVICE);
    (0..3).for_each(|_| client(at, 1000));
    // Held open until all are there.
    let mut four: Vec<_> = (0..4).map(|_| connect(at)).collect();
    four.iter_mut().for_each(|socket| socket.write_all(&[1; 500]).unwrap());
    thread::sleep(Duration::from_millis(200));
    for mut socket in four {
        socket.shutdown(Shutdown::Write).unwrap();
        assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
    }
    let (result, served) = stopped(here);
    let all = Served { whole: 7, most_at_once: 4, bytes: 5000, ..Served::default() };
    assert_eq!((served, result.streams.len(), result.bytes()), (all, 7, 5000));
    assert_eq!((result.way, result.plan.serve), (TransferMethod::Copied, Some(SERVICE)));
}

/// Senders of our own, which wait for the receiver to close, and with all that a plan may have.
#[test]
fn our_own_senders_are_whole_also_with_several_streams_and_checksums() {
    for (checksum, discard) in [(false, true), (true, false)] {
        let plan = TransferPlan { serve: Some(SERVICE), checksum, discard, ..receiver(Tcp) };
        let here = Here::start(plan);
        let at = here.address();
        let senders: Vec<_> = [1, 3]
            .map(|streams| Here::start(TransferPlan { streams, checksum, buffers: 100, ..sender(Tcp, at) }))
            .into_iter()
            .map(Here::result)
            .collect();
        assert!(senders.iter().all(|result| result.end == TransferEnd::Whole), "{senders:?}");
        let (result, served) = stopped(here);
        assert_eq!((served.whole, served.broken, served.bytes), (4, 0, 4 * 819_200));
        assert!(result.streams.iter().all(|s| s.checksum.is_some() == checksum));
    }
}

#[test]
fn who_comes_beyond_is_cut_and_counted_and_there_is_room_again_after() {
    let (here, at) = serving(Service { most_clients: 2, ..SERVICE });
    let mut two = [connect(at), connect(at)];
    // One byte is not enough to know that they were taken, but the third's end is.
    let mut third = connect(at);
    is_cut(&mut third);
    for socket in &mut two {
        socket.shutdown(Shutdown::Write).unwrap();
        assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
    }
    client(at, 10);
    let (_, served) = stopped(here);
    assert_eq!((served.whole, served.turned_away, served.most_at_once), (3, 1, 2));
}

#[test]
fn a_client_may_send_as_much_as_it_may_and_not_a_byte_more() {
    for discard in [false, true] {
        let service = Service { most_bytes: Some(100_000), ..SERVICE };
        let here = Here::start(TransferPlan { serve: Some(service), discard, ..receiver(Tcp) });
        let at = here.address();
        client(at, 100_000);
        let mut long = connect(at);
        let _ = long.write_all(&[1; 100_001]);
        is_cut(&mut long);
        let (result, served) = stopped(here);
        assert_eq!((served.whole, served.too_long, served.broken, served.bytes), (1, 1, 0, 200_000));
        assert!(matches!(&result.streams[1].end, TransferEnd::Broken { why } if why.contains("--max-bytes")));
    }
}

#[test]
fn the_checksum_behind_the_data_is_none_of_the_bytes() {
    let service = Service { most_bytes: Some(81_920), ..SERVICE };
    let here = Here::start(TransferPlan { serve: Some(service), checksum: true, ..receiver(Tcp) });
    let at = here.address();
    let ends = [10, 100]
        .map(|buffers| Here::start(TransferPlan { buffers, checksum: true, ..sender(Tcp, at) }).result());
    assert_eq!(ends[0].end, TransferEnd::Whole);
    assert!(!why(&ends[1]).is_empty());
    let (_, served) = stopped(here);
    assert_eq!((served.whole, served.too_long), (1, 1));
}

#[test]
fn who_sends_nothing_is_cut_and_who_sends_slowly_is_not() {
    let (here, at) = serving(Service { timeout_ns: 400_000_000, ..SERVICE });
    let mut silent = connect(at);
    let mut slow = connect(at);
    let began = Instant::now();
    let slowly = thread::spawn(move || {
        for _ in 0..10 {
            slow.write_all(&[1]).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        slow.shutdown(Shutdown::Write).unwrap();
        assert_eq!(slow.read(&mut [0; 1]).unwrap(), 0);
    });
    is_cut(&mut silent);
    assert!(began.elapsed() >= Duration::from_millis(350), "{:?}", began.elapsed());
    // Others are served meanwhile.
    client(at, 10);
    slowly.join().unwrap();
    let (result, served) = stopped(here);
    assert_eq!((served.whole, served.broken, served.bytes), (2, 1, 20));
    let broken = result.streams.iter().find(|s| s.end != TransferEnd::Whole).unwrap();
    assert!(matches!(&broken.end, TransferEnd::Broken { why } if why.contains("--timeout")), "{broken:?}");
}

#[test]
fn clients_that_cut_their_own_connection_do_no_harm() {
    let (here, at) = serving(SERVICE);
    for bytes in [0, 1, 100_000] {
        let mut socket = connect(at);
        socket.write_all(&vec![1; bytes]).unwrap();
        endpoint::cut_on_close(socket.as_fd(), true).unwrap();
        drop(socket);
    }
    client(at, 10);
    // The cut ones are noticed; when is unknown.
    thread::sleep(Duration::from_millis(300));
    let (result, served) = stopped(here);
    assert_eq!((served.whole, served.broken), (1, 3), "{result:?}");
}

#[test]
fn an_unused_service_ends_as_well() {
    let (here, _) = serving(SERVICE);
    let (result, served) = stopped(here);
    assert_eq!((served, result.streams.len(), result.peer), (Served::default(), 0, None));
}

/// Nothing grows with the number of those who came.
#[test]
fn a_flood_is_counted_whole_and_the_record_keeps_the_last() {
    let (here, at) = serving(SERVICE);
    (0..1100).for_each(|n| client(at, n % 7));
    let (result, served) = stopped(here);
    assert_eq!((served.whole, served.turned_away, result.streams.len()), (1100, 0, 1000));
    assert_eq!(served.bytes, (0..1100).map(|n| n % 7).sum::<u64>());
    // Those of the last 1000, and not of the first.
    assert_eq!(result.bytes(), (100..1100).map(|n| n % 7).sum::<u64>());
}
