//! UDP.

use super::*;

pub(super) fn round_trip(client: &UdpSocket, message: &[u8]) {
    client.send(message).unwrap();
    let mut back = vec![0; 65_536];
    let length = client.recv(&mut back).unwrap();
    assert_eq!(length, message.len());
    assert!(back[..length] == *message);
}

pub(super) fn echoed_20(report: &EndReport, length: u64) {
    assert_eq!((report.calls, report.messages, report.bytes), (20, 20, 20 * length));
    assert_eq!(report.returned_bytes, report.bytes);
    adds_up(report);
}

/// Two echoes; the near one kept the last message.
pub(super) fn bounced_2000([near, far]: [&EndReport; 2], length: u64) {
    assert_eq!((near.messages, near.bytes, far.bytes), (2000, 2000 * length, near.bytes));
    for report in [near, far] {
        assert_eq!((report.calls, report.intervals.count()), (2000, 1999));
        adds_up(report);
    }
}

#[test]
fn an_echo_sends_every_datagram_back_whole() {
    needs_root!();
    for length in [1_usize, 64, 1400, 9000, 17_000, 40_000, 65_507] {
        let [client, server] = udp_pair();
        let end = attach(&server, ECHO, 1);
        (0..20).for_each(|n| round_trip(&client, &pattern(length, n)));
        let report = end.detach().unwrap();
        println!("{length}: {report:?}");
        echoed_20(&report, length as u64);
    }
}

#[test]
fn an_empty_datagram_cannot_go_back_and_is_counted_as_refused() {
    needs_root!();
    let [client, server] = udp_pair();
    let end = attach(&server, ECHO, 1);
    client.send(&[]).unwrap();
    assert!(await_that(|| end.messages() == 1));
    let report = end.report();
    assert_eq!((report.calls, report.refused, report.bytes), (1, 1, 0), "{report:?}");
}

#[test]
fn a_sink_takes_every_datagram() {
    needs_root!();
    let [client, server] = udp_pair();
    let end = attach(&server, Work::Sink, 1);
    (0..1000).for_each(|n| assert_eq!(client.send(&pattern(n, n)).unwrap(), n));
    assert!(await_that(|| end.messages() == 1000), "{:?}", end.report());
    let report = end.report();
    assert_eq!((report.calls, report.bytes, report.returned_bytes), (1000, 999 * 500, 0));
    adds_up(&report);
}

#[test]
fn a_datagram_bounces_by_itself() {
    needs_root!();
    for length in [8_usize, 1400, 20_000] {
        let [client, server] = udp_pair();
        let near = attach(&client, Work::Echo { until: Some(2000) }, 1);
        let far = attach(&server, ECHO, 1);
        client.send(&pattern(length, 3)).unwrap();
        assert!(await_that(|| near.messages() == 2000), "{:?} {:?}", near.report(), far.report());
        let (near, far) = (near.report(), far.report());
        println!("{length}: mean {:?}", near.mean_interval_ns());
        bounced_2000([&near, &far], length as u64);
    }
}
