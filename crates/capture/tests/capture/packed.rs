//! Packed files, and telling what a file is.

use std::io::{self, Cursor, Read, Write};

use netfathom_capture::input::{Content, Input, Packing};

use crate::made::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 0).expect("memory")
}

#[test]
fn unpacked_on_the_way() {
    let file = Bytes::new(false).pcap(MICROSECONDS, 1).record(1, 1, &[1; 900]).record(2, 2, &[2; 900]).bytes;
    // A frame to be skipped, as pzstd writes it.
    let skipped = Bytes::new(false).u32(0x184d_2a50).u32(4).u32(0).bytes;
    for (packed, packing, name) in [
        (file.clone(), Packing::None, None),
        (gzip(&file), Packing::Gzip, Some("gzip")),
        ([gzip(&file[..100]), gzip(b""), gzip(&file[100..])].concat(), Packing::Gzip, Some("gzip")),
        (zstd(&file), Packing::Zstd, Some("zstd")),
        ([zstd(&file[..100]), zstd(b""), zstd(&file[100..])].concat(), Packing::Zstd, Some("zstd")),
        ([skipped, zstd(&file)].concat(), Packing::Zstd, Some("zstd")),
    ] {
        let mut input = Input::new(Cursor::new(packed)).expect("it can be unpacked");
        assert_eq!((input.packing(), input.packing().name()), (packing, name));
        assert_eq!(input.content(), Content::Capture);
        let mut all = Vec::new();
        input.read_to_end(&mut all).expect("it can be unpacked");
        assert_eq!(all, file);
    }
}

#[test]
fn the_first_bytes_identify_the_content() {
    for (bytes, content) in [
        (&b""[..], Content::Text),
        (b"seq", Content::Text),
        (b"nfmsglo", Content::Text),
        (b"nfmsglog", Content::Log),
        (b"nfmsglog and more", Content::Log),
        (b"\xa1\xb2\xc3\xd4", Content::Capture),
        (b"\x4d\x3c\xb2\xa1and more", Content::Capture),
        (b"\n\r\r\n", Content::Capture),
        (b"\n\r\n\r", Content::Text),
    ] {
        for packed in [bytes.to_vec(), gzip(bytes), zstd(bytes)] {
            let mut input = Input::new(Cursor::new(packed)).expect("it can be unpacked");
            assert_eq!(input.content(), content, "{bytes:?}");
            let mut all = Vec::new();
            input.read_to_end(&mut all).expect("it can be unpacked");
            assert_eq!(all, bytes, "what was looked at is still to be read");
        }
    }
}

/// Gives a byte at a time, and is interrupted before each.
struct Slow<R>(R, bool);

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = into.len().min(1);
        self.0.read(&mut into[..most])
    }
}

#[test]
fn a_slow_pipe() {
    let file =
        Bytes::new(false).section().interface(1, 0, None).enhanced(0, 1, b"abc").enhanced(0, 2, b"d").bytes;
    for packed in [file.clone(), gzip(&file), zstd(&file)] {
        let input = Input::new(Slow(Cursor::new(packed), false)).expect("it can be read");
        assert_eq!(read_whole(input).len(), 2);
    }
}

struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn a_disk_that_breaks() {
    let file = Bytes::new(false).pcap(MICROSECONDS, 1).record(1, 1, b"abc").record(2, 2, b"abc").bytes;
    let input = Input::new(Broken(Cursor::new(file[..50].to_vec()))).expect("it can be read");
    let (packets, error) = read(input);
    assert_eq!(packets.len(), 1);
    let message = error.expect("it breaks").to_string();
    assert_eq!(message, "cannot read on at byte 50: Input/output error (os error 5)");
    let message = Input::new(Broken(Cursor::new(vec![]))).expect_err("it breaks").to_string();
    assert_eq!(message, "cannot read on at byte 0: Input/output error (os error 5)");
}
