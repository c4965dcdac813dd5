//! TCP.

use super::*;

fn round_trip(client: &mut TcpStream, message: &[u8]) {
    client.write_all(message).unwrap();
    let mut back = vec![0; message.len()];
    client.read_exact(&mut back).unwrap();
    assert!(back == message);
}

#[test]
fn an_echo_sends_every_byte_back_and_counts_it() {
    needs_root!();
    for length in [1_usize, 64, 1000, 16_384, 300_000] {
        let [mut client, server] = tcp_pair();
        let end = attach(&server, ECHO, length as u32);
        (0..20).for_each(|n| round_trip(&mut client, &pattern(length, n)));
        let report = end.detach().unwrap();
        println!("{length}: {} calls", report.calls);
        assert_eq!((report.messages, report.bytes), (20, 20 * length as u64), "{report:?}");
        assert_eq!((report.returned_bytes, report.together), (report.bytes, 0), "{report:?}");
        assert!(report.calls >= 20);
        adds_up(&report);
    }
}

#[test]
fn a_message_in_pieces_is_one_message() {
    needs_root!();
    let [mut client, server] = tcp_pair();
    let end = attach(&server, ECHO, 10);
    for n in 1..=10_u64 {
        round_trip(&mut client, &[7; 3]);
        round_trip(&mut client, &[8; 6]);
        assert_eq!(end.messages(), n - 1);
        round_trip(&mut client, &[9; 1]);
        assert_eq!(end.messages(), n);
    }
    let report = end.report();
    assert_eq!((report.calls, report.bytes, report.messages), (30, 100, 10));
    adds_up(&report);
    // Three in one call.
    round_trip(&mut client, &[1; 30]);
    let report = end.report();
    assert_eq!((report.messages, report.together), (13, 2));
    adds_up(&report);
}

#[test]
fn an_echo_keeps_the_last_message_of_the_book() {
    needs_root!();
    let [mut client, server] = tcp_pair();
    let end = attach(&server, Work::Echo { until: Some(4) }, 8);
    (0..3).for_each(|n| round_trip(&mut client, &pattern(8, n)));
    (0..2).for_each(|n| client.write_all(&pattern(8, n)).unwrap());
    assert!(await_that(|| end.messages() == 5));
    client.set_nonblocking(true).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(end.report().returned_bytes, 24);
}

#[test]
fn a_sink_takes_all_and_sends_nothing() {
    needs_root!();
    const TIMES: u64 = 3000;
    let [mut client, server] = tcp_pair();
    let end = attach(&server, Work::Sink, 8192);
    let message = pattern(8192, 1);
    (0..TIMES).for_each(|_| client.write_all(&message).unwrap());
    assert!(await_that(|| end.messages() == TIMES), "{:?}", end.report());
    let report = end.detach().unwrap();
    assert_eq!((report.bytes, report.returned_bytes), (TIMES * 8192, 0));
    assert!(report.calls > 1, "{report:?}");
    adds_up(&report);
    client.set_nonblocking(true).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_message_bounces_by_itself() {
    needs_root!();
    for length in [8_u32, 40_000] {
        let [mut client, server] = tcp_pair();
        let near = attach(&client, Work::Echo { until: Some(2000) }, length);
        let far = attach(&server, ECHO, length);
        client.write_all(&pattern(length as usize, 3)).unwrap();
        assert!(await_that(|| near.messages() == 2000), "{:?} {:?}", near.report(), far.report());
        let (near, far) = (near.report(), far.report());
        println!("{length}: mean {:?}, {} calls", near.mean_interval_ns(), near.calls);
        assert_eq!((near.messages, far.messages), (2000, 2000));
        assert_eq!((near.bytes, near.returned_bytes), (far.bytes, far.bytes - u64::from(length)));
        for report in [&near, &far] {
            assert_eq!((report.intervals.count(), report.together), (1999, 0));
            adds_up(report);
        }
    }
}

#[test]
fn the_kernels_client_times_the_server_of_user_space() {
    needs_root!();
    let [mut client, mut server] = tcp_pair();
    let end = attach(&client, Work::Echo { until: Some(20) }, 100);
    client.write_all(&[5; 100]).unwrap();
    let mut message = [0; 100];
    for _ in 0..20 {
        server.read_exact(&mut message).unwrap();
        thread::sleep(Duration::from_millis(5));
        server.write_all(&message).unwrap();
    }
    assert!(await_that(|| end.messages() == 20));
    let report = end.report();
    // The server held it for 5 ms each time; a bucket is 3.2 % wide.
    assert!(report.intervals.quantile(0.0).unwrap() > 4_840_000, "{report:?}");
    assert!(report.mean_interval_ns().unwrap() > 5e6);
    adds_up(&report);
}

#[test]
fn what_a_client_does_not_read_is_refused_in_the_end() {
    needs_root!();
    const MOST_UNREAD: u64 = 64 << 20;
    let [mut client, server] = tcp_pair();
    let end = attach(&server, ECHO, 1 << 16);
    client.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    let block = pattern(1 << 16, 1);
    let mut written = 0;
    while end.report().refused == 0 && written < 4 * MOST_UNREAD {
        client.write_all(&block).unwrap();
        written += block.len() as u64;
    }
    let report = end.report();
    assert!(report.refused > 0 && report.returned_bytes >= MOST_UNREAD, "{report:?}");
    // What was not refused is there, every byte.
    end.stop();
    thread::sleep(Duration::from_millis(20));
    let returned = end.report().returned_bytes;
    assert_eq!(io::copy(&mut (&client).take(returned), &mut io::sink()).unwrap(), returned);
}
