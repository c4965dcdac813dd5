//! Data that is to go without a copy: it arrives intact, and copies are reported.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::Tcp;
use netfathom_model::record::{TransferEnd, TransferMethod, TransferResult, ZeroCopied};
use netfathom_sys::endpoint::{self, SocketBuffer};

use crate::here::{HANGS, Here, read_all, receiver, sender, why};

fn zero_copied(result: &TransferResult) -> ZeroCopied {
    result.streams[0].zero_copy.unwrap()
}

fn to(listener: &TcpListener) -> TransferPlan {
    // Without an alignment the pattern begins with its first character.
    TransferPlan { zero_copy: true, align: 0, ..sender(Tcp, listener.local_addr().unwrap()) }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// The printable characters over and over, as the classic has them, from anew in each buffer.
fn generated(buffer_bytes: u64, buffers: u64) -> Vec<u8> {
    let buffer: Vec<u8> = (b' '..=b'~').cycle().take(buffer_bytes as usize).collect();
    buffer.repeat(buffers as usize)
}

#[test]
fn every_byte_arrives_and_the_kernel_reports_a_copy() {
    // Within a page, over several, and more than a call can take at once.
    for (buffer_bytes, buffers) in [(100, 3000), (70_001, 100), (5 << 20, 4)] {
        let listener = listener();
        let plan = TransferPlan { buffer_bytes, buffers, ..to(&listener) };
        let here = Here::start(plan);
        let bytes = read_all(listener.accept().unwrap().0);
        let result = here.result();
        assert!(bytes == generated(buffer_bytes, buffers), "{} bytes came", bytes.len());
        assert_eq!((result.bytes(), &result.end), (buffer_bytes * buffers, &TransferEnd::Whole));
        assert_eq!(result.streams[0].calls, buffers);
        let all = ZeroCopied { copied_bytes: result.bytes(), ..ZeroCopied::default() };
        assert_eq!(zero_copied(&result), all, "over loopback all is copied");
    }
}

/// The kernel does not report data that waits for the receiver's window. The sender neither waits for
/// the report forever, nor takes it for something to read.
#[test]
fn a_receiver_that_reads_late_and_does_not_close_is_not_waited_for() {
    let listener = listener();
    endpoint::set_buffer(listener.as_fd(), SocketBuffer::Receive, 20_000).unwrap();
    let plan = TransferPlan { socket_buffer_bytes: Some(1 << 20), idle_ns: 300_000_000, ..to(&listener) };
    let here = Here::start(TransferPlan { buffers: 30, ..plan });
    let mut from = listener.accept().unwrap().0;
    from.set_read_timeout(Some(HANGS)).unwrap();
    thread::sleep(Duration::from_millis(900));
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    let result = here.result();
    assert!(bytes == generated(8192, 30));
    assert_eq!(result.end, TransferEnd::Acknowledged);
    assert_eq!(zero_copied(&result).copied_bytes, result.bytes(), "reported in the end");
    drop(from);
}

#[test]
fn a_wait_for_the_kernel_can_be_stopped_and_a_cut_is_reported() {
    for cut in [false, true] {
        let listener = listener();
        endpoint::set_buffer(listener.as_fd(), SocketBuffer::Receive, 20_000).unwrap();
        let here = Here::start(TransferPlan { buffers: 1_000_000, ..to(&listener) });
        let from = listener.accept().unwrap().0;
        thread::sleep(Duration::from_millis(200));
        if cut {
            drop(from);
            let result = here.result();
            assert!(why(&result).contains("other end"), "{result:?}");
        } else {
            here.stop.store(true, Relaxed);
            let result = here.result();
            assert_eq!(result.end, TransferEnd::Interrupted);
            assert!(zero_copied(&result).unknown_bytes > 0, "what was not sent: {result:?}");
        }
    }
}

/// Pages of the pipe or the file are sent as they are, also over loopback; no program looks at their bytes.
#[test]
fn a_pipe_is_spliced_and_counted_by_the_device() {
    let listener = listener();
    let mut here = Here::start(TransferPlan { generated: false, ..to(&listener) });
    let mut into = here.input.take().unwrap();
    let writes = thread::spawn(move || into.write_all(&[7; 300_000]).unwrap());
    let bytes = read_all(listener.accept().unwrap().0);
    writes.join().unwrap();
    let result = here.result();
    assert_eq!((bytes.len(), result.way), (300_000, TransferMethod::Spliced));
    assert_eq!(zero_copied(&result), ZeroCopied { uncopied_bytes: 300_000, ..ZeroCopied::default() });
}

#[test]
fn a_receiver_says_what_it_knows() {
    let none = ZeroCopied::default();
    for (generated, discard, expected) in [
        (true, true, ZeroCopied { uncopied_bytes: 5000, ..none }),
        (true, false, ZeroCopied { copied_bytes: 5000, ..none }),
        (false, false, ZeroCopied { unknown_bytes: 5000, ..none }),
    ] {
        let here = Here::start(TransferPlan { generated, discard, zero_copy: true, ..receiver(Tcp) });
        let mut to = std::net::TcpStream::connect(here.address()).unwrap();
        to.write_all(&[1; 5000]).unwrap();
        drop(to);
        assert_eq!(zero_copied(&here.result()), expected);
    }
}
