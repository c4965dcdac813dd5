use std::time::Duration;

use super::super::tests::pair_at;
use super::*;

/// Numbered messages, some of a batch, arrive with their content, in order, with their sender.
fn numbered_messages_arrive(bind: &str) {
    let Some((sender, reader)) = pair_at(bind) else { return };
    let mut out = SendBatch::new(8, 16);
    for message in 0..out.count() {
        out.payload(message).fill(message as u8);
    }
    // Moved, to show that the headers still lead to the buffers.
    let mut out = Box::new(out);
    assert_eq!(out.send(&sender, 2..7).unwrap(), 5);
    out.payload(0)[0] = 77;
    assert_eq!(out.send(&sender, 0..1).unwrap(), 1);
    let mut into = Box::new(ReceiveBatch::new(8, 16));
    assert_eq!(into.receive(&reader, Wait::ForOne).unwrap(), 6);
    let first: Vec<u8> = into.datagrams().map(|d| d.payload[0]).collect();
    assert_eq!(first, [2, 3, 4, 5, 6, 77]);
    for datagram in into.datagrams() {
        assert_eq!((datagram.payload.len(), datagram.truncated), (16, false));
        assert_eq!(datagram.from, Some(sender.local_addr().unwrap()));
    }
}

#[test]
fn numbered_messages_arrive_over_ipv4() {
    numbered_messages_arrive("127.0.0.1:0");
}

#[test]
fn numbered_messages_arrive_over_ipv6() {
    numbered_messages_arrive("[::1]:0");
}

#[test]
fn what_is_too_long_says_so_and_only_that() {
    let (sender, reader) = pair_at("127.0.0.1:0").unwrap();
    sender.send(&[1; 40]).unwrap();
    sender.send(&[2; 3]).unwrap();
    let mut into = ReceiveBatch::new(4, 16);
    assert_eq!(into.receive(&reader, Wait::ForOne).unwrap(), 2);
    let seen: Vec<_> = into.datagrams().map(|d| (d.payload.to_vec(), d.truncated)).collect();
    assert_eq!(seen, [(vec![1; 16], true), (vec![2; 3], false)]);
}

#[test]
fn an_empty_queue_is_an_error_and_clears_old_datagrams() {
    let (sender, reader) = pair_at("127.0.0.1:0").unwrap();
    let mut into = ReceiveBatch::new(4, 16);
    sender.send(&[1; 4]).unwrap();
    assert_eq!(into.receive(&reader, Wait::ForOne).unwrap(), 1);
    assert_eq!(into.receive(&reader, Wait::No).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(into.datagrams().len(), 0);
    reader.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert_eq!(into.receive(&reader, Wait::ForOne).unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn an_error_before_the_first_message_is_returned() {
    let lonely = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = SendBatch::new(2, 8).send(&lonely, 0..2).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EDESTADDRREQ));
}
