//! What is wrong with a file, and where, to the word.

use std::io::{Cursor, Write};

use netfathom_capture::decode::{self, Skipped};
use netfathom_capture::input::Input;

use crate::made::*;

fn le() -> Bytes {
    Bytes::new(false)
}

fn pcap() -> Bytes {
    le().pcap(MICROSECONDS, 1)
}

fn pcapng() -> Bytes {
    le().section().interface(1, 0, None)
}

/// This number of packets is read of a file, and this is the error after them.
#[track_caller]
fn check(file: Vec<u8>, count: usize, expected: &str) {
    let (packets, error) = match Input::new(Cursor::new(file)) {
        Ok(input) => read(input),
        Err(error) => (Vec::new(), Some(error)),
    };
    let message = error.map(|error| error.to_string()).unwrap_or_default();
    assert_eq!((packets.len(), message.as_str()), (count, expected));
}

/// The same, where the damage has a place.
#[track_caller]
fn damaged(file: Vec<u8>, count: usize, at: usize, what: &str) {
    check(file, count, &format!("damaged at byte {at}: {what}"));
}

#[test]
fn no_capture() {
    check(vec![], 0, "it is empty: not even the header of a capture is there");
    check(vec![0xd4, 0xc3, 0xb2], 0, "it is no capture: it has only 3 bytes, d4 c3 b2");
    let text = "it is no capture: it begins with 73 65 71 75, which is neither pcap nor pcapng";
    check(b"sequence,sent_ns\n".to_vec(), 0, text);
    let old = le().u32(MICROSECONDS).u16(2).u16(2).raw(&[0; 16]).bytes;
    let remedy = "and only 2.4 can be read; `editcap -F pcap OLD NEW` may convert it";
    check(old, 0, &format!("it is pcap of version 2.2, {remedy}"));
}

#[test]
fn damaged_pcap() {
    let second = 24 + 16 + 10;
    let cut = |bytes: usize| {
        let mut file = pcap().record(1, 0, &[7; 10]).record(2, 0, &[7; 10]).bytes;
        file.truncate(bytes);
        file
    };
    damaged(cut(12), 0, 0, "the file ends within its header: 12 of 24 bytes");
    check(cut(24), 0, "");
    damaged(cut(second + 15), 1, 50, "the file ends within a packet: 15 of 16 bytes of its header");
    damaged(cut(second + 16), 1, 50, "the file ends within a packet: 0 of 10 bytes of its captured bytes");
    damaged(cut(second + 25), 1, 50, "the file ends within a packet: 9 of 10 bytes of its captured bytes");
    check(cut(second + 26), 2, "");
    let absurd = pcap().record(1, 0, b"x").u32(1).u32(0).u32(u32::MAX).u32(u32::MAX).bytes;
    damaged(absurd, 1, 41, "a packet claims 4294967295 captured bytes; there can be 262144");
    let more = pcap().u32(1).u32(0).u32(5).u32(4).raw(b"12345").bytes;
    damaged(more, 0, 24, "a packet claims 5 captured bytes of the 4 that it had");
    let whole_second = pcap().record(1, 999_999, b"").record(1, 1_000_000, b"").bytes;
    damaged(whole_second, 1, 40, "a packet's time has 1000000 of 1000000 parts of a second");
    let whole_second = le().pcap(NANOSECONDS, 1).record(1, 999_999_999, b"").record(1, 1_000_000_000, b"");
    damaged(whole_second.bytes, 1, 40, "a packet's time has 1000000000 of 1000000000 parts of a second");
}

#[test]
fn damaged_pcapng() {
    let interface = 28;
    let packet = interface + le().interface(1, 0, None).bytes.len();
    assert_eq!(packet, 60);
    let with = |at: usize, value: u32| {
        let mut file = pcapng().enhanced(0, 1, b"1234").enhanced(0, 2, b"1234").bytes;
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        file
    };
    let cut = |bytes: usize| with(0, SECTION)[..bytes].to_vec();
    damaged(cut(4), 0, 0, "the file ends within a section header");
    damaged(cut(20), 0, 0, "the file ends within a block: 20 of 28 bytes");
    damaged(with(8, 0), 0, 0, "a section header has no byte order: [00, 00, 00, 00]");
    damaged(with(12, 2), 0, 0, "a section of pcapng 2.0; only 1.0 is known");
    damaged(with(4, 24), 0, 0, "a section header claims 24 bytes; it has 28 or more");
    damaged(with(packet + 4, 0), 0, 60, "a block claims 0 bytes; it has 12 or more");
    damaged(with(packet + 4, 37), 0, 60, "a block claims 37 bytes, which is not a multiple of 4");
    let behind = "a block has 36 bytes by the length before it, 40 by the one behind it";
    damaged(with(packet + 32, 40), 0, 60, behind);
    let absurd = "a block claims 4294967292 bytes; one of type 0x6 can have 524288";
    damaged(with(packet + 4, 0xffff_fffc), 0, 60, absurd);
    let unknown = pcapng().u32(99).u32(0xffff_fffc).raw(&[0; 100]).bytes;
    damaged(unknown, 0, 60, "the file ends within a block: 108 of 4294967292 bytes");
    let unknown = pcapng().u32(99).u32(16).raw(&[0; 4]).u32(12).bytes;
    damaged(unknown, 0, 60, "a block has 16 bytes by the length before it, 12 by the one behind it");
    damaged(cut(packet + 6), 0, 60, "the file ends within a block, 6 bytes into it");
    damaged(cut(packet + 71), 1, 96, "the file ends within a block: 35 of 36 bytes");
    let undescribed = "a packet of interface 3, which no block before describes; 1 are described";
    damaged(with(packet + 36 + 8, 3), 1, 96, undescribed);
    let more = pcapng().enhanced_of(0, 1, 5, 5, b"1234").bytes;
    damaged(more, 0, 60, "a packet claims 5 captured bytes; its block has room for 4");
    let absurd = pcapng().enhanced_of(0, 1, u32::MAX, u32::MAX, b"1234").bytes;
    damaged(absurd, 0, 60, "a packet claims 4294967295 captured bytes; there can be 262144");
    let short = pcapng().block(ENHANCED_PACKET, |body| body.raw(&[0; 16])).bytes;
    damaged(short, 0, 60, "a packet's block has 16 bytes of the 20 before its data");
    let late = le().section().interface(1, 0, Some(9)).enhanced(0, u64::MAX, b"").bytes;
    let years = "a packet's time, 18446744073709551615 ticks, is not within the years 1823 to 2116";
    damaged(late, 0, 68, years);
}

#[test]
fn damaged_options() {
    let described = |options: fn(Bytes) -> Bytes| {
        le().section().block(INTERFACE, |body| options(body.u16(1).u16(0).u32(0))).bytes
    };
    let beyond = described(|body| body.u16(2).u16(9).raw(b"eth0"));
    damaged(beyond, 0, 28, "option 2 claims 9 bytes; its block has room for 4");
    let two = described(|body| body.option(9, &[9, 9]));
    damaged(two, 0, 28, "a resolution of times has 2 bytes instead of 1");
    let four = described(|body| body.option(14, &[0; 4]));
    damaged(four, 0, 28, "an offset of times has 4 bytes instead of 8");
    let years = described(|body| body.option(14, &i64::MIN.to_le_bytes()));
    damaged(years, 0, 28, "an offset of times of -9223372036854775808 s is beyond 292 years");
    let flags = pcapng().block(ENHANCED_PACKET, |body| body.raw(&[0; 20]).option(2, &[1, 0])).bytes;
    damaged(flags, 0, 60, "a packet's flags have 2 bytes instead of 4");
}

#[test]
fn damaged_packing() {
    let file = pcap().record(1, 0, &frame(&[1; 400])).record(2, 0, &frame(&[2; 400])).bytes;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(&file).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = zstd::encode_all(&file[..], 0).expect("memory");
    let changed = |packed: &[u8], at: usize| {
        let mut packed = packed.to_vec();
        packed[at] ^= 0xff;
        packed
    };
    check(gzip[..600].to_vec(), 1, "cannot read on at byte 585: the gzip file is cut off");
    check(gzip[..gzip.len() - 1].to_vec(), 2, "cannot read on at byte 940: the gzip file is cut off");
    let damaged = "the gzip file is damaged: corrupt gzip stream does not have a matching checksum";
    check(changed(&gzip, gzip.len() - 8), 2, &format!("cannot read on at byte 940: {damaged}"));
    check(zstd[..zstd.len() - 1].to_vec(), 0, "cannot read on at byte 0: the zstd file is cut off");
    let damaged = "cannot read on at byte 0: the zstd file is damaged: Data corruption detected";
    check(changed(&zstd, 8), 0, damaged);
}

#[test]
fn odd_but_right() {
    let packets =
        read_whole(&pcap().record(5, 0, b"").record(3, 1, b"").record(u32::MAX, 999_999, b"").bytes[..]);
    let times: Vec<_> = packets.iter().map(|packet| packet.time_ns).collect();
    assert_eq!(times, [5_000_000_000, 3_000_001_000, 4_294_967_295_999_999_000]);
    assert!(packets.iter().all(|packet| packet.data.is_empty()));
}

#[test]
fn headers_that_were_not_captured() {
    let whole = frame(&[0; 64]);
    let snapped = pcap().u32(1).u32(0).u32(40).u32(whole.len() as u32).raw(&whole[..40]).bytes;
    let packets = read_whole(&snapped[..]);
    assert_eq!((packets[0].data.len(), packets[0].original_bytes), (40, 106));
    assert_eq!(decode::udp(packets[0].link, &packets[0].data), Err(Skipped::CutOff));
}

#[test]
fn no_such_file() {
    let error = Input::open("/nonexistent/x.pcap").expect_err("it is not there").to_string();
    assert_eq!(error, "cannot open /nonexistent/x.pcap: No such file or directory (os error 2)");
    let error = Input::open("/").expect_err("a directory").to_string();
    assert_eq!(error, "cannot open /: it is a directory");
}
