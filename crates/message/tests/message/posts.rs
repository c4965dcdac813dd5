//! Bulk: it goes where the receiver says, and holds up no message for longer than one chunk.

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use netfathom_message::{Bytes, Config, Error, PostEnd, Wait, strategy::Choice};

use crate::rig::{Kind, LIMIT, blocking, config, pair, unequal};

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 3 + seed) as u8).collect()
}

#[test]
fn posts_of_every_size_arrive_in_the_buffers_they_were_offered() {
    for kind in [Kind::Tcp, Kind::Unix] {
        for choice in Choice::ALL {
            let (here, there) = pair(kind, &config(choice));
            let lengths = [0, 1, 1000, 8192, 8193, 65_536, 65_537, 1 << 20, 3_000_001];
            let poster = thread::spawn(move || {
                let here = blocking(here);
                for (seed, length) in lengths.into_iter().enumerate() {
                    assert_eq!(here.post(2, pattern(length, seed)).unwrap(), PostEnd::Written);
                }
                here
            });
            let there = blocking(there);
            for (seed, length) in lengths.into_iter().enumerate() {
                let buffer = vec![0; length + 5];
                let place = buffer.as_ptr();
                let received = there.fetch(2, buffer).unwrap();
                assert_eq!(received.buffer.as_ptr(), place, "the very buffer comes back");
                assert!(received.bytes() == pattern(length, seed), "{choice} {kind:?}: {length} bytes");
            }
            poster.join().unwrap();
        }
    }
}

#[test]
fn many_small_posts_keep_their_order() {
    const COUNT: usize = 5000;
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let poster = thread::spawn(move || {
        let here = blocking(here);
        for number in 0..COUNT {
            here.post_behind(0, pattern(1024, number), |end| assert!(end.is_ok())).unwrap();
        }
        here.connection().close(LIMIT).unwrap();
    });
    let there = blocking(there);
    for _ in 0..32 {
        there.connection().offer(0, vec![0; 1024]).unwrap();
    }
    for number in 0..COUNT {
        let received = there.receive_post(0).unwrap();
        assert!(received.bytes() == pattern(1024, number), "post {number}");
        there.connection().offer(0, received.buffer).unwrap();
    }
    there.connection().close(LIMIT).unwrap();
    poster.join().unwrap();
}

#[test]
fn a_post_is_written_to_its_end_though_the_sender_does_nothing_more() {
    const SIZE: usize = 24 << 20;
    // No ping takes it along.
    let config = Config { ping_after: None, ..config(Choice::Adaptive) };
    let (here, there) = pair(Kind::Tcp, &config);
    there.offer(3, vec![0; SIZE]).unwrap();
    let here = blocking(here);
    // The peer's offer has been heard by the time of its answer.
    there.send(0, b"offered").unwrap();
    here.receive(0).unwrap();
    here.post_behind(3, pattern(SIZE, 5), |_| ()).unwrap();
    let there = blocking(there).with_limit(Some(Duration::from_secs(20)));
    assert!(there.receive_post(3).unwrap().bytes() == pattern(SIZE, 5));
}

#[test]
fn a_post_too_long_for_its_buffer_ends_alone() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Inline));
    let fetcher = thread::spawn(move || blocking(there).fetch(1, vec![0; 100]).unwrap());
    let here = blocking(here);
    assert_eq!(here.post(1, vec![1; 101]).unwrap(), PostEnd::TooLong { capacity: 100 });
    assert_eq!(here.post(1, vec![2; 100]).unwrap(), PostEnd::Written);
    assert_eq!(fetcher.join().unwrap().bytes(), [2; 100]);
}

#[test]
fn two_posts_share_the_connection() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let size = 8 << 20;
    for channel in [1, 2] {
        there.offer(channel, vec![0; size]).unwrap();
        here.post(channel, pattern(size, channel.into()), |_| ()).unwrap();
    }
    let there = blocking(there);
    let helper = thread::spawn(move || here.poll(Wait::Forever, |_| ()));
    for channel in [2, 1] {
        let received = there.receive_post(channel).unwrap();
        assert!(received.bytes() == pattern(size, channel.into()));
    }
    drop(there);
    assert!(helper.join().unwrap().is_err());
}

/// While 64 MiB go one way, a thousand pings go there and back beside them. That a ping waits for
/// one chunk at most is seen in the order on the wire: between the moment it is sent and its
/// arrival no more than what the system holds, and one chunk, can have come of the post. A bare
/// queue would let all 64 MiB go first.
#[test]
fn pings_pass_a_large_post() {
    const SIZE: usize = 64 << 20;
    const PINGS: u32 = 1000;
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    there.offer(1, vec![0; SIZE]).unwrap();
    let (tell, ended) = mpsc::channel();
    here.post(1, Bytes::from(pattern(SIZE, 3)), move |end| drop(tell.send(end))).unwrap();
    let echo = thread::spawn(move || {
        let there = blocking(there);
        for _ in 0..PINGS {
            let ping = there.receive(2).unwrap();
            there.send(2, &ping).unwrap();
        }
        let received = there.receive_post(1).unwrap();
        assert!(received.bytes() == pattern(SIZE, 3));
    });
    let here = blocking(here);
    let mut before_the_post = 0;
    for number in 0..PINGS {
        here.send(2, &number.to_le_bytes()).unwrap();
        assert_eq!(here.receive(2).unwrap(), number.to_le_bytes());
        before_the_post += u32::from(matches!(ended.try_recv(), Err(mpsc::TryRecvError::Empty)));
    }
    // Each round trip lets some chunks pass, and there are 1024 of them: behind a whole post not
    // even the first ping would have come back before its end.
    assert!(before_the_post > 10, "only {before_the_post} pings came back while the post went on");
    echo.join().unwrap();
}

#[test]
fn posts_that_are_under_way_learn_of_the_end() {
    let (here, there) = pair(Kind::Tcp, &config(Choice::Adaptive));
    let (tell, ended) = mpsc::channel();
    here.post(0, vec![0; 10], move |end| drop(tell.send(end))).unwrap();
    drop(there);
    let error = here.poll(Wait::within(LIMIT), |_| ()).unwrap_err();
    assert!(matches!(error, Error::PeerVanished { .. }), "{error}");
    assert!(ended.recv_timeout(Duration::from_secs(10)).unwrap().is_err());
}

/// How often the thread of this name has gone to sleep.
fn sleeps(name: &str) -> u64 {
    let find = || {
        let threads = fs::read_dir("/proc/self/task").unwrap();
        let mut statuses = threads.filter_map(|one| fs::read_to_string(one.ok()?.path().join("status")).ok());
        statuses.find(|status| status.starts_with(&format!("Name:\t{name}\n")))
    };
    // It was not in the list once, while the threads of other tests came and went. Why is not known.
    let until = Instant::now() + Duration::from_secs(10);
    let mut status = find();
    while status.is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
        status = find();
    }
    let status = status.expect(name);
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// Who offers and then sends takes the offer along; the connection's own thread looks up once in a
/// millisecond at most, however many posts come.
#[test]
fn offers_do_not_wake_the_connection_s_thread_each() {
    const POSTS: u32 = 2000;
    let named = Config { name: "offering".into(), ..Config::default() };
    let (here, there) = unequal(Kind::Tcp, &named, &Config::default());
    let server = thread::spawn(move || {
        let there = blocking(there);
        while there.receive(0).is_ok() {
            there.connection().post(1, &[7; 100][..], |_| ()).unwrap();
        }
    });
    let here = blocking(here);
    let fetch = || {
        here.connection().offer(1, vec![0; 100]).unwrap();
        here.send(0, b"please").unwrap();
        assert_eq!(here.receive_post(1).unwrap().bytes(), [7; 100]);
    };
    fetch();
    let (begin, before) = (Instant::now(), sleeps("offering-mover"));
    (0..POSTS).for_each(|_| fetch());
    let (sleeps, most) = (sleeps("offering-mover") - before, 4 * begin.elapsed().as_millis() as u64 + 10);
    assert!(sleeps <= most, "{sleeps} times, {most} would be many");
    drop(here);
    server.join().unwrap();
}
