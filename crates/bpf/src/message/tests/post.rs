//! Posts: a small request, and a reply of many bytes.

use netfathom_sys::endpoint::set_wake_threshold;

use super::*;

fn reply(n: u32) -> Work {
    Work::Reply { bytes: bytes(n) }
}

fn ask(n: u32, until: Option<u64>) -> Work {
    Work::Ask { bytes: bytes(n), until }
}

#[test]
fn a_request_is_answered_by_a_reply_of_that_length() {
    needs_root!();
    for (request, length) in
        [(4, 4), (8, 3), (8, 1000), (1, 16_000), (8, 16_001), (8, 128_000), (100, 1_000_000)]
    {
        let [mut client, server] = tcp_pair();
        let end = attach(&server, reply(length), request);
        let mut answer = vec![0; length as usize];
        for n in 0..20 {
            client.write_all(&pattern(request as usize, n)).unwrap();
            client.read_exact(&mut answer).unwrap();
        }
        // And no more.
        client.set_nonblocking(true).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let report = end.detach().unwrap();
        assert_eq!((report.messages, report.bytes), (20, 20 * u64::from(request)), "{report:?}");
        assert_eq!(report.returned_bytes, 20 * u64::from(length), "{report:?}");
        adds_up(&report);
    }
}

#[test]
fn a_reply_is_answered_by_its_last_bytes() {
    needs_root!();
    for (length, request) in [(9, 8), (1000, 8), (40_000, 100), (2_000_000, 8)] {
        let [client, mut server] = tcp_pair();
        let end = attach(&client, ask(request, Some(21)), length);
        let mut question = vec![0; request as usize];
        let mut answer = pattern(length as usize, 1);
        for n in 0..20 {
            *answer.last_mut().unwrap() = n;
            server.write_all(&answer).unwrap();
            server.read_exact(&mut question).unwrap();
            assert!(answer.ends_with(&question));
        }
        server.write_all(&answer).unwrap();
        assert!(await_that(|| end.messages() == 21));
        server.set_nonblocking(true).unwrap();
        assert_eq!(server.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let report = end.detach().unwrap();
        assert_eq!((report.bytes, report.returned_bytes), (21 * u64::from(length), 20 * u64::from(request)));
        adds_up(&report);
    }
}

/// Both ends come to the thousandth reply, and have counted the same until then.
fn posted_1000(near: &KernelEnd, far: &KernelEnd, request: u32, length: u32) {
    assert!(await_that(|| near.messages() == 1000), "{:?} {:?}", near.report(), far.report());
    let (near, far) = (near.report(), far.report());
    assert_eq!((far.messages, far.bytes), (1000, 1000 * u64::from(request)));
    assert_eq!((near.bytes, near.returned_bytes), (1000 * u64::from(length), 999 * u64::from(request)));
    [near, far].iter().for_each(adds_up);
}

#[test]
fn posts_go_to_and_fro_by_themselves() {
    needs_root!();
    for (request, length) in [(8, 1000), (8, 100_000)] {
        let [mut client, server] = tcp_pair();
        let near = attach(&client, ask(request, Some(1000)), length);
        let far = attach(&server, reply(length), request);
        client.write_all(&pattern(request as usize, 3)).unwrap();
        posted_1000(&near, &far, request, length);
        assert_eq!(far.report().returned_bytes, near.report().bytes);
    }
}

#[test]
fn datagrams_are_made_longer_and_shorter() {
    needs_root!();
    for (request, length) in [(8, 9), (8, 1400), (1, 16_000), (2000, 9)] {
        let [client, server] = udp_pair();
        let near = attach(&client, ask(request, Some(1000)), length);
        let far = attach(&server, reply(length), request);
        client.send(&pattern(request as usize, 3)).unwrap();
        posted_1000(&near, &far, request, length);
    }
}

#[test]
fn what_the_kernel_cannot_answer_is_reported() {
    needs_root!();
    let [client, _server] = tcp_pair();
    let [udp, _far] = udp_pair();
    let refused = |work, message_bytes, socket: BorrowedFd<'_>| {
        let programs = Programs::load(work, bytes(message_bytes)).unwrap();
        programs.attach(socket).err().unwrap().to_string()
    };
    assert!(refused(reply(128_001), 8, client.as_fd()).contains("needs a request of at least 9"));
    assert!(refused(reply(10), 16_001, client.as_fd()).contains("may have 16000 bytes at most"));
    assert!(refused(ask(8, None), 8, client.as_fd()).contains("must be shorter than the reply"));
    assert!(refused(reply(16_001), 8, udp.as_fd()).contains("at most 16000 bytes long"));
    // None of it left the socket in a map.
    attach(&client, ECHO, 8);
}

#[test]
fn whoever_has_the_socket_of_a_post_may_close_it_or_have_it_back() {
    needs_root!();
    for (work, message_bytes) in [(reply(1000), 8), (ask(8, None), 1000)] {
        let [mut client, mut server] = tcp_pair();
        let end = attach(&server, work, message_bytes);
        client.write_all(&pattern(message_bytes as usize, 1)).unwrap();
        let mut answer = vec![0; 1008 - message_bytes as usize];
        client.read_exact(&mut answer).unwrap();
        drop(end);
        client.write_all(b"reader").unwrap();
        let mut message = [0; 6];
        server.read_exact(&mut message).unwrap();
        assert_eq!(&message, b"reader");

        let end = attach(&server, work, message_bytes);
        drop(client);
        assert_eq!(server.read(&mut message).unwrap(), 0);
        drop(server);
        assert_eq!(end.detach().unwrap().messages, 0);
    }
}

/// The pieces of a reply wait in the socket until all are here: in one packet, or in some that end in the midst of a piece
/// that is cut out.
#[test]
fn pieces_that_waited_together_are_all_worked_on() {
    needs_root!();
    for length in [40_000, 390_000] {
        let [client, mut server] = tcp_pair();
        set_wake_threshold(client.as_fd(), 2 * length).unwrap();
        let end = attach(&client, ask(8, Some(20)), length);
        let answer = pattern(length as usize, 3);
        // A segment that nearly fills the window is not waited with.
        answer.chunks(10_000).for_each(|chunk| server.write_all(chunk).unwrap());
        set_wake_threshold(client.as_fd(), 1).unwrap();
        let mut question = [0; 8];
        server.read_exact(&mut question).unwrap();
        assert!(answer.ends_with(&question));
        assert_eq!(end.messages(), 1);
        adds_up(&end.report());
    }
}
