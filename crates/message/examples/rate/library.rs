//! The same with the library.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use netfathom_message::{Blocking, Bytes, Config, Connection, Error, Wait, strategy::Choice};

use crate::{
    bare::{REQUEST, buffers, streams},
    compare::{Run, run},
    counted::Calls,
    place::{Place, pin},
};

/// Two ends; the other is served by a thread, until it is over.
pub fn ends(
    place: Place,
    choice: Choice,
    calls: &Calls,
    serve: impl FnOnce(Connection) -> Result<(), Error> + Send + 'static,
) -> (Connection, thread::JoinHandle<Result<(), Error>>) {
    let (here, there) = streams();
    let (here, there) = (calls.transport(here), calls.transport(there));
    let config = Config { strategy: choice, ..Config::default() };
    let other = config.clone();
    let server = thread::spawn(move || {
        pin(place.there);
        serve(Connection::open(there, &other)?)
    });
    pin(place.here);
    (Connection::open(here, &config).expect("hello"), server)
}

pub fn one_way(place: Place, size: usize, choice: Choice, calls: &Calls) -> Run {
    let (here, _) = ends(place, choice, calls, |there| {
        while there.poll(Wait::Forever, |_| ()).is_ok() {}
        Ok(())
    });
    let here = Blocking::from(here);
    let body = vec![1; size];
    let close = || here.connection().close(Duration::from_secs(5)).expect("close");
    let (run, count) = run(|| here.send(0, &body).expect("send"), close);
    calls.units(count);
    run
}

/// Sends; the strategy `batch` needs a flush.
fn send(end: &Blocking, choice: Choice, body: &[u8]) -> Result<(), Error> {
    end.send(0, body)?;
    if choice == Choice::Batch { end.flush() } else { Ok(()) }
}

pub fn trips(place: Place, size: usize, choice: Choice, calls: &Calls) -> impl FnMut() {
    let (here, _) = ends(place, choice, calls, move |there| {
        let there = Blocking::from(there);
        loop {
            // Out of the buffer it came in, as bare sockets do.
            there.receive_with(0, |request| {
                there.connection().send(0, request)?;
                if choice == Choice::Batch { there.connection().flush() } else { Ok(()) }
            })??;
        }
    });
    let here = Blocking::from(here);
    let body = vec![1; size];
    move || {
        send(&here, choice, &body).expect("send");
        here.receive_with(0, |body| assert_eq!(body.len(), size)).expect("receive");
    }
}

/// A request, and an answer with bulk, which goes where the buffer is that was offered.
pub fn requests(place: Place, size: usize, choice: Choice, calls: &Calls) -> impl FnMut() {
    let (here, _) = ends(place, choice, calls, move |there| {
        let there = Blocking::from(there);
        let body = Bytes::from(vec![3; size]);
        loop {
            there.receive_with(0, |request| assert_eq!(request.len(), REQUEST))?;
            there.connection().post(1, body.clone(), |_| ())?;
        }
    });
    let here = Blocking::from(here);
    let mut buffer = vec![0; size];
    move || {
        here.connection().offer(1, std::mem::take(&mut buffer)).expect("offer");
        send(&here, choice, &[1; REQUEST]).expect("send");
        buffer = here.receive_post(1).expect("receive").buffer;
    }
}

pub fn bulk(place: Place, size: usize, choice: Choice, calls: &Calls) -> Run {
    let (here, server) = ends(place, choice, calls, move |there| {
        let there = Blocking::from(there);
        for _ in 0..buffers(size) {
            there.connection().offer(1, vec![0; size])?;
        }
        loop {
            let received = there.receive_post(1)?;
            there.connection().offer(1, received.buffer)?;
        }
    });
    let here = Blocking::from(here);
    let body = Bytes::from(vec![1; size]);
    let written = Arc::new(AtomicU64::new(0));
    let post = || {
        let written = Arc::clone(&written);
        let done = move |_| {
            written.fetch_add(1, Ordering::Relaxed);
        };
        here.post_behind(1, body.clone(), done).expect("post");
    };
    let (run, count) = run(post, || here.connection().close(Duration::from_secs(60)).expect("close"));
    assert_eq!(written.load(Ordering::Relaxed), count, "all posts were written");
    assert!(server.join().expect("no panic").is_err());
    calls.units(count);
    run
}
