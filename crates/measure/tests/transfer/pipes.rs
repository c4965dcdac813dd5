//! Standard input and output that are pipes, byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::mpsc::channel;
use std::thread;

use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::Tcp;
use netfathom_model::record::{TransferEnd, TransferMethod, TransferResult};
use netfathom_sys::endpoint;

use crate::here::{HANGS, Here, accepted, receiver, sender, why};

/// Bytes that betray any that is missing, doubled or out of place.
fn telling(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

fn through(length: usize, full_blocks: bool, buffer_named: bool) -> (Vec<u8>, [TransferResult; 2]) {
    transferred(length, full_blocks, buffer_named, [false; 2])
}

/// `checksum` is of the sender and of the receiver.
fn transferred(
    length: usize,
    full_blocks: bool,
    buffer_named: bool,
    checksum: [bool; 2],
) -> (Vec<u8>, [TransferResult; 2]) {
    let plan = TransferPlan { generated: false, full_blocks, checksum: checksum[1], ..receiver(Tcp) };
    let mut to = Here::start(plan);
    let plan = TransferPlan { buffer_bytes: 4000, buffer_named, ..sender(Tcp, to.address()) };
    let mut from = Here::start(TransferPlan { generated: false, checksum: checksum[0], ..plan });
    let mut input = from.input.take().unwrap();
    let feeding =
        thread::spawn(move || telling(length).chunks(7777).for_each(|c| input.write_all(c).unwrap()));
    let mut output = to.output.take().unwrap();
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).unwrap();
        bytes
    });
    feeding.join().unwrap();
    let results = [from.result(), to.result()];
    (reading.join().unwrap(), results)
}

#[test]
fn every_byte_arrives_of_any_length_spliced_and_copied() {
    for length in [0, 1, 8191, 8192, 65_537, 3_000_001] {
        for full_blocks in [false, true] {
            let (bytes, [from, to]) = through(length, full_blocks, length % 2 == 1);
            assert!(bytes == telling(length), "{length} bytes are not what they were");
            assert_eq!([&from.end, &to.end], [&TransferEnd::Whole; 2]);
            assert_eq!([from.bytes(), to.bytes()], [length as u64; 2]);
            assert_eq!(
                (from.way, to.way),
                (
                    TransferMethod::Spliced,
                    if full_blocks { TransferMethod::Copied } else { TransferMethod::Spliced }
                )
            );
        }
    }
}

#[test]
fn both_ends_report_a_closed_output() {
    for full_blocks in [false, true] {
        let mut to = Here::start(TransferPlan { generated: false, full_blocks, ..receiver(Tcp) });
        let from = Here::start(TransferPlan { buffers: 100_000, ..sender(Tcp, to.address()) });
        let mut output = to.output.take().unwrap();
        output.read_exact(&mut [0; 10_000]).unwrap();
        drop(output);
        let (from, to) = (from.result(), to.result());
        assert!(why(&to).contains("reads standard output has ended"), "{to:?}");
        assert!(why(&from).contains("other end"), "{from:?}");
    }
}

#[test]
fn the_output_can_be_read_while_nothing_comes_and_left_before_the_end() {
    for full_blocks in [false, true] {
        let plan = TransferPlan { generated: false, full_blocks, buffer_bytes: 5, ..receiver(Tcp) };
        let mut to = Here::start(plan);
        let mut peer = TcpStream::connect(to.address()).unwrap();
        peer.write_all(b"first").unwrap();
        let mut output = to.output.take().unwrap();
        // Read and closed in a thread, because a pipe with a held lock blocks both.
        let (tell, first) = channel();
        thread::spawn(move || {
            let mut some = [0; 5];
            output.read_exact(&mut some).unwrap();
            drop(output);
            tell.send(some).unwrap();
        });
        assert_eq!(first.recv_timeout(HANGS).expect("what came is there to be read"), *b"first");
        peer.shutdown(Shutdown::Write).unwrap();
        let to = to.result();
        assert_eq!((&to.end, to.bytes()), (&TransferEnd::Whole, 5), "nothing was left for who had ended");
    }
}

#[test]
fn a_checksum_is_compared_and_confirmed_and_no_part_of_the_data() {
    for length in [0, 1, 39, 40, 41, 8192, 1_000_001] {
        for full_blocks in [false, true] {
            let (bytes, [from, to]) = transferred(length, full_blocks, true, [true; 2]);
            assert!(bytes == telling(length), "{length} bytes are not what they were");
            assert_eq!([from.bytes(), to.bytes()], [length as u64; 2]);
            let sums = [&from, &to].map(|result| result.streams[0].checksum.clone().unwrap());
            assert!(sums[0].agrees && sums[0] == sums[1]);
        }
    }
    // That of no bytes at all is known.
    let none = transferred(0, false, false, [true; 2]).1[0].streams[0].checksum.clone().unwrap();
    assert_eq!(none.sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn a_checksum_that_one_end_alone_knows_of_fails_that_end() {
    let (bytes, [from, to]) = transferred(5000, false, true, [false, true]);
    assert!(why(&to).contains("give the sender --checksum too"), "{to:?}");
    assert!(!why(&from).is_empty() && bytes == telling(5000), "what came is kept");
    let (_, [from, _]) = transferred(5000, false, true, [true, false]);
    assert!(why(&from).contains("give it --checksum too"), "{from:?}");
}

#[test]
fn data_that_was_changed_on_its_way_fails_both_ends() {
    let to = Here::start(TransferPlan { checksum: true, ..receiver(Tcp) });
    let (from, mut near) = accepted(|plan| (plan.checksum, plan.buffers) = (true, 3));
    let mut far = TcpStream::connect(to.address()).unwrap();
    let mut bytes = Vec::new();
    near.read_to_end(&mut bytes).unwrap();
    bytes[12_345] ^= 1;
    far.write_all(&bytes).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    assert!(why(&to.result()).contains("changed on its way"));
    // A relay passes on what it saw: that the connection was cut.
    assert!(far.read(&mut [0; 40]).is_err());
    endpoint::cut_on_close(near.as_fd(), true).unwrap();
    drop(near);
    assert!(why(&from.result()).contains("cut the connection"));
}
