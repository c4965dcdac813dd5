use std::net::SocketAddr;

use super::*;

fn evidence<'a>(sent: u64, read: &'a Read, counted: &'a SideCounters) -> Evidence<'a> {
    Evidence {
        sent,
        refused: 1,
        without_room: 0,
        read,
        drops: None,
        counted,
        ways: Ways::SOCKETS,
        place: Place::Lab,
        devices: (Some("a".into()), Some("b".into())),
        family: Family::Ipv4,
    }
}

fn reasons(drops: &[(&str, u64)]) -> BTreeMap<String, u64> {
    drops.iter().map(|&(reason, n)| (reason.to_owned(), n)).collect()
}

fn account(sent: u64, delivered: u64, socket_drops: u64, drops: Option<&[(&str, u64)]>) -> Accounting {
    let read = Read { delivered, dropped: socket_drops, ..Read::default() };
    let drops = drops.map(reasons);
    let counted = SideCounters::default();
    Evidence { drops: drops.as_ref(), ..evidence(sent, &read, &counted) }.account()
}

/// What the sender's host counted: errors of the send buffer, and packets that its device dropped.
fn of_sender(sndbuf_errors: u64, tx_dropped: u64) -> SideCounters {
    let device = DeviceCounters { tx_dropped, ..DeviceCounters::default() };
    let sender = Counters {
        devices: [("a".to_owned(), device)].into(),
        udp4: UdpCounters { sndbuf_errors, ..UdpCounters::default() },
        ..Counters::default()
    };
    SideCounters { sender, ..SideCounters::default() }
}

fn of_reader(in_csum_errors: u64) -> SideCounters {
    let udp4 = UdpCounters { in_csum_errors, ..UdpCounters::default() };
    SideCounters { reader: Counters { udp4, ..Counters::default() }, ..SideCounters::default() }
}

fn elsewhere() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 9))
}

#[test]
fn every_message_has_one_fate() {
    let drops = [
        ("SOCKET_RCVBUFF", 7, Fate::SocketBufferFull),
        ("UDP_CSUM", 3, Fate::ChecksumError),
        ("CPU_BACKLOG", 2, Fate::BacklogFull),
        ("FULL_RING", 4, Fate::DeviceDrop),
        ("QDISC_DROP", 6, Fate::QueueDrop),
        ("NETFILTER_DROP", 1, Fate::KernelDrop("NETFILTER_DROP".into())),
    ];
    let a = account(100, 77, 0, Some(&drops.each_ref().map(|(reason, n, _)| (*reason, *n))));
    assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0));
    for (reason, n, fate) in drops {
        assert_eq!(a.count(&fate), n, "{reason}");
    }
}

#[test]
fn unobserved_losses_are_unexplained() {
    assert_eq!(account(100, 90, 0, Some(&[("SOCKET_RCVBUFF", 7)])).count(&Fate::Unexplained), 3);
    assert_eq!(account(100, 90, 4, None).count(&Fate::Unexplained), 6);
}

#[test]
fn more_losses_than_messages_leave_a_gap() {
    assert_eq!(account(100, 95, 0, Some(&[("SOCKET_RCVBUFF", 7)])).gap(), -2);
}

#[test]
fn a_message_that_a_filter_refuses_was_never_sent() {
    let a = account(100, 100, 0, Some(&[("NETFILTER_DROP", 1)]));
    assert_eq!((a.gap(), a.fates.len()), (0, 1));
}

#[test]
fn a_capture_that_loses_its_copy_loses_no_message() {
    assert_eq!(account(100, 100, 0, Some(&[("PACKET_SOCK_ERROR", 40)])).gap(), 0);
}

#[test]
fn a_queue_explains_at_most_what_is_missing() {
    let read = Read { delivered: 60, ..Read::default() };
    let ended = |sndbuf_errors| {
        let counted = of_sender(sndbuf_errors, 0);
        let a = evidence(100, &read, &counted).account();
        assert_eq!(a.gap(), 0);
        [Fate::QueueDrop, Fate::Unexplained].map(|fate| a.count(&fate))
    };
    assert_eq!([ended(30), ended(40), ended(50)], [[30, 10], [40, 0], [40, 0]]);
}

#[test]
fn an_error_of_the_send_buffer_is_not_always_a_queue() {
    let read = Read { delivered: 60, ..Read::default() };
    let counted = of_sender(40, 0);
    let dropped = |change: fn(&mut Evidence<'_>)| {
        let mut evidence = evidence(100, &read, &counted);
        change(&mut evidence);
        evidence.account().count(&Fate::QueueDrop)
    };
    assert_eq!(dropped(|_| ()), 40);
    assert_eq!(dropped(|e| e.without_room = 15), 25, "send(2) failed");
    assert_eq!(dropped(|e| e.ways.engine = Engine::AfXdp), 0, "past UDP");
    assert_eq!(dropped(|e| e.ways.transport = Transport::Tcp), 0);
    assert_eq!(dropped(|e| e.place = Place::Listen(elsewhere())), 0, "the sender is on another host");
    let by_device = of_sender(40, 40);
    let a = evidence(100, &read, &by_device).account();
    assert_eq!((a.count(&Fate::DeviceDrop), a.count(&Fate::QueueDrop)), (40, 0));
}

#[test]
fn a_dropped_buffer_of_gso_is_many_messages() {
    let read = Read { delivered: 40, ..Read::default() };
    let counted = of_sender(1, 0);
    let mut evidence = evidence(100, &read, &counted);
    evidence.ways.engine = Engine::Gso;
    assert_eq!(evidence.account().count(&Fate::QueueDrop), 60);
}

#[test]
fn what_a_queue_dropped_is_not_expected_at_the_device() {
    let read = Read { delivered: 60, ..Read::default() };
    let counted = of_sender(40, 0);
    for place in [Place::Lab, Place::Loopback] {
        let a = Evidence { place, ..evidence(100, &read, &counted) }.account();
        let out = a.counters.iter().filter(|c| c.counter.starts_with("sender: "));
        assert_eq!(out.map(|c| c.expected).collect::<Vec<_>>(), [60, 60], "{:?}", a.counters);
    }
}

#[test]
fn what_a_queue_dropped_is_known_without_a_report() {
    let read = Read { unreported: true, ..Read::default() };
    let counted = of_sender(40, 0);
    let a = Evidence { place: Place::To(elsewhere()), ..evidence(100, &read, &counted) }.account();
    assert_eq!((a.count(&Fate::QueueDrop), a.count(&Fate::Unknown), a.gap()), (40, 60, 0));
}

#[test]
fn a_wrong_checksum_is_no_full_buffer() {
    let read = Read { delivered: 80, dropped: 15, corrupted: 5, ..Read::default() };
    let counted = of_reader(10);
    let of = |place| {
        let a = Evidence { place, ..evidence(100, &read, &counted) }.account();
        [Fate::ChecksumError, Fate::SocketBufferFull, Fate::OnTheWay].map(|fate| a.count(&fate))
    };
    assert_eq!(of(Place::Lab), [10, 5, 0]);
    assert_eq!(of(Place::To(elsewhere())), [5, 10, 5], "the other host counts its own");
}

#[test]
fn a_counter_does_not_explain_again_what_the_kernel_has_named() {
    let drops = reasons(&[("SOCKET_RCVBUFF", 7)]);
    let read = Read { delivered: 80, dropped: 7, ..Read::default() };
    let counted = SideCounters::default();
    let place = Place::Listen(elsewhere());
    let a = Evidence { drops: Some(&drops), place, ..evidence(100, &read, &counted) }.account();
    assert_eq!((a.count(&Fate::SocketBufferFull), a.count(&Fate::OnTheWay)), (7, 13));
}
