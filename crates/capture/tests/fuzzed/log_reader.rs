//! Any bytes as a message log: unpacked, read, written and read again, and joined with packets
//! of the messages that it names.

use std::io::{Cursor, Read};

use netfathom_capture::error::CaptureError;
use netfathom_capture::input::Input;
use netfathom_capture::join::{Options, join};
use netfathom_capture::log::{LogFormat, LogReader, LogWriter, Message, Messages};
use netfathom_capture::packet::{LinkType, Packet, Packets, Resolution};
use netfathom_model::message::Header;
use netfathom_model::record::PacketKind;

/// What is unpacked at most: a few packed bytes can stand for very many.
const MOST_UNPACKED_BYTES: u64 = 1 << 18;
/// The shortest message: a line such as `1,` and its end, or the last one without it.
const LEAST_MESSAGE_BYTES: usize = 2;

pub fn run(data: &[u8]) {
    let Ok(input) = Input::new(Cursor::new(data.to_vec())) else { return };
    let mut bytes = Vec::new();
    // Packed bytes that cannot be unpacked to their end are as good as those that end there.
    let _ = input.take(MOST_UNPACKED_BYTES).read_to_end(&mut bytes);
    let mut reader = match LogReader::new(&bytes[..]) {
        Ok(reader) => reader,
        Err(error) => return check(&error, bytes.len()),
    };
    let mut messages = Vec::new();
    loop {
        match reader.next_message() {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => break,
            Err(error) => {
                check(&error, bytes.len());
                break;
            }
        }
    }
    assert!(messages.len() * LEAST_MESSAGE_BYTES <= bytes.len() + 1, "messages out of nothing");
    assert!(matches!(reader.next_message(), Ok(None)), "something after the end");
    for format in [LogFormat::Binary, LogFormat::Csv] {
        written_again(&messages, format, &reader);
    }
    joined(&bytes, &messages);
}

fn check(error: &CaptureError, length: usize) {
    assert!(!error.to_string().is_empty());
    if let CaptureError::Damaged { offset, .. } | CaptureError::Io { offset, .. } = error {
        assert!(*offset <= length as u64, "damage behind the end");
    }
}

fn written_again(messages: &[Message], format: LogFormat, reader: &LogReader<&[u8]>) {
    let mut writer = LogWriter::new(Vec::new(), format, reader.columns()).expect("columns");
    for message in messages {
        writer.write_block(message.flow, &[message.entry]).expect("memory");
    }
    let bytes = writer.finish().expect("memory");
    let mut again = LogReader::new(&bytes[..]).expect("what was just written");
    for message in messages {
        let read = again.next_message().expect("what was just written");
        // Half a step was added to what was read, so that what is written is in nanoseconds.
        assert_eq!(read.map(|read| (read.flow, read.entry)), Some((message.flow, message.entry)));
    }
}

struct Named<'a> {
    messages: &'a [Message],
    at: usize,
    data: [u8; 60],
}

impl Packets for Named<'_> {
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let Some(Message { flow, entry, .. }) = self.messages.get(self.at).copied() else { return Ok(None) };
        self.at += 2;
        self.data[..4].copy_from_slice(&[0x45, 0, 0, 60]);
        self.data[9] = 17;
        self.data[25] = 40;
        let header = Header {
            flow,
            sequence: entry.sequence,
            intended_ns: entry.intended_ns,
            sent_ns: entry.sent_ns.wrapping_add(entry.received_ns),
        };
        header.write(&mut self.data[28..]);
        let time_ns = entry.received_ns.wrapping_mul(3) as i64;
        let data = &self.data;
        let resolution = Resolution::NANOSECONDS;
        Ok(Some(Packet { time_ns, resolution, link: LinkType::Raw, way: None, original_bytes: 60, data }))
    }
}

fn joined(bytes: &[u8], messages: &[Message]) {
    let Ok(mut log) = LogReader::new(bytes) else { return };
    let mut packets = Named { messages, at: 0, data: [0; 60] };
    let mut seen = 0;
    let options = Options { window: 64, ..Options::default() };
    let joined = join(&mut packets, &mut log, &options, |sighting| {
        seen += 1;
        let _ = (sighting.out_ns(), sighting.in_ns());
    });
    let count = |kind| joined.kinds.of(kind);
    assert_eq!(joined.kinds.sum(), joined.packets);
    assert_eq!(joined.packets, messages.len().div_ceil(2) as u64);
    assert_eq!(joined.messages + joined.repeated, messages.len() as u64);
    assert_eq!(joined.messages, count(PacketKind::Joined) + joined.missing);
    assert!(seen <= count(PacketKind::Joined) + count(PacketKind::NotInLog), "more seen than there are");
    assert_eq!(count(PacketKind::Malformed) + count(PacketKind::Foreign), 0);
}
