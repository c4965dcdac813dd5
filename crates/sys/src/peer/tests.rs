use std::net::Ipv4Addr;
use std::thread;

use netfathom_testkit::{privileged, skipped};

use super::*;
use crate::lab::{DEVICE, Lab};
use crate::{counters, cpu};

type Load = fn() -> Result<Box<dyn Library>, PeerError>;

const ALL: [Load; 2] = [|| Ok(Box::new(Zmq::load()?)), || Ok(Box::new(Nng::load()?))];

fn installed(test: &str) -> Vec<Box<dyn Library>> {
    let loaded = ALL.map(|load| load().map_err(|error| skipped(test, &error.to_string())).ok());
    loaded.into_iter().flatten().collect()
}

fn text(pair: &mut dyn Pair) -> Option<Vec<u8>> {
    let mut came = Vec::new();
    let length = (0..100).find_map(|_| pair.receive(&mut |bytes| came = bytes.to_vec()).unwrap())?;
    assert_eq!(length, came.len());
    Some(came)
}

/// Two ends that have found each other.
fn pair(library: &dyn Library, bytes: usize) -> [Box<dyn Pair>; 2] {
    let [mut client, mut server] = [library.end(bytes).unwrap(), library.end(bytes).unwrap()];
    client.connect(server.listen(Ipv4Addr::LOCALHOST.into()).unwrap()).unwrap();
    [client, server]
}

#[test]
fn messages_come_whole_and_in_order_of_every_length() {
    for library in installed("messages_come_whole_and_in_order_of_every_length") {
        let [mut client, mut server] = pair(&*library, 100_000);
        for length in [1, 0, 33, 34, 255, 256, 3 << 20] {
            let message: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            assert!(client.send(&message).unwrap());
            assert_eq!(text(&mut *server), Some(message.clone()), "{length}");
            let bulk = Arc::new(message);
            assert!(server.send_bulk(&bulk).unwrap());
            assert_eq!(text(&mut *client).as_ref(), Some(&*bulk), "{length}");
        }
    }
}

#[test]
fn a_lent_message_comes_back_and_one_that_has_no_room_at_once() {
    for library in installed("a_lent_message_comes_back_and_one_that_has_no_room_at_once") {
        let bulk = Arc::new(vec![1_u8; 1 << 20]);
        let [mut client, mut server] = pair(&*library, bulk.len());
        // Nobody reads: beyond both queues and the socket's buffers it has no room.
        let sent = (0..200).take_while(|_| client.send_bulk(&bulk).unwrap()).count();
        assert!((2..200).contains(&sent), "{sent} went without a reader");
        for _ in 0..sent {
            assert_eq!(text(&mut *server).map(|came| came.len()), Some(bulk.len()));
        }
        assert!(server.receive(&mut |_| {}).unwrap().is_none(), "one came that was not sent");
        drop((client, server));
        assert_eq!(Arc::strong_count(&bulk), 1);
    }
}

#[test]
fn each_end_has_threads_of_its_own_which_end_with_it() {
    for library in installed("each_end_has_threads_of_its_own_which_end_with_it") {
        // Often enough for what is left behind to be seen.
        for _ in 0..20 {
            let [mut client, mut server] = pair(&*library, 4);
            assert!(client.send(b"here").unwrap());
            assert_eq!(text(&mut *server).as_deref(), Some(&b"here"[..]));
            let (ours, theirs) = (client.threads(), server.threads());
            assert!(!ours.is_empty() && !theirs.is_empty());
            assert!(ours.iter().all(|thread| !theirs.contains(thread)), "{ours:?} {theirs:?}");
            drop((client, server));
            let left = || {
                let threads = threads_named("").unwrap();
                ours.iter().chain(&theirs).any(|thread| threads.contains(thread))
            };
            // One that was joined may be listed for a moment.
            assert!(
                (0..100).any(|_| !left() || {
                    thread::sleep(PATIENCE);
                    false
                }),
                "{ours:?} {theirs:?}"
            );
        }
    }
}

#[test]
fn an_end_stands_where_it_is_made() {
    if !privileged("an_end_stands_where_it_is_made") {
        return;
    }
    for library in installed("an_end_stands_where_it_is_made") {
        let lab = Lab::create();
        let serve = || {
            let mut server = library.end(1000).unwrap();
            let at = server.listen(Lab::address(1)).unwrap();
            (server, at)
        };
        let (mut server, at) = lab.hosts[1].run(serve).unwrap();
        let call = || {
            let mut client = library.end(1000).unwrap();
            client.connect(at).unwrap();
            client
        };
        let mut client = lab.hosts[0].run(call).unwrap();
        let came = || lab.hosts[1].run(counters::read).unwrap().unwrap().devices[DEVICE].rx_bytes;
        let before = came();
        for _ in 0..100 {
            assert!(client.send(&[7; 1000]).unwrap());
            assert_eq!(text(&mut *server), Some(vec![7; 1000]));
        }
        assert!(came() - before > 100 * 1000, "they do not meet over the device");
    }
}

#[test]
fn an_ends_threads_are_on_the_processor_of_the_one_that_made_it() {
    let cpu = *cpu::allowed().unwrap().last().unwrap();
    for library in installed("an_ends_threads_are_on_the_processor_of_the_one_that_made_it") {
        let made = thread::scope(|scope| {
            let make = || {
                cpu::pin(cpu).unwrap();
                pair(&*library, 4)
            };
            scope.spawn(make).join().unwrap()
        });
        for thread in made.iter().flat_map(|end| end.threads()) {
            let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
            assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")), "{status}");
        }
    }
}

#[test]
fn what_is_no_such_library_is_refused_with_the_package() {
    for (file, said) in
        [("libnone.so.0", "libnone.so.0"), ("/proc/self/status", "status"), ("libc.so.6", "undefined symbol")]
    {
        let errors = [Zmq::load_from(file).err(), Nng::load_from(file).err()];
        for (error, package) in errors.into_iter().zip(["libzmq5", "libnng1"]) {
            let error = error.expect(file).to_string();
            assert!(error.contains(said) && error.contains(&format!("apt install {package}")), "{error}");
        }
    }
}

#[test]
fn a_queue_holds_a_megabyte_about_and_two_messages_at_least() {
    assert_eq!([0, 4, 1024, 16 << 20, usize::MAX].map(queue_messages), [16_384, 15_420, 963, 2, 2]);
}

#[test]
fn an_end_waits_no_longer_than_it_says() {
    for library in installed("an_end_waits_no_longer_than_it_says") {
        let [mut client, _server] = pair(&*library, 4);
        thread::scope(|scope| {
            let waited = scope.spawn(move || client.receive(&mut |_| {}).unwrap());
            assert_eq!(waited.join().unwrap(), None);
        });
    }
}
