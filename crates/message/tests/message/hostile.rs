//! A peer that breaks the rules. Each breach ends the connection, with its name.

use std::io::{Read, Write};

use netfathom_message::{
    Config, Connection, Error, Limits, Wait,
    protocol::{MOST_POSTS, ProtocolError as Breach},
    wire::{Control, Header, Kind, WireError},
};

use crate::rig::{against_bare, blocking, streams};

fn small() -> Config {
    let limits = Limits { channels: 4, max_message: 1000, chunk: 2000, window: 4000, ..Limits::default() };
    Config { limits, ..Config::default() }
}

fn frame(kind: Kind, channel: u16, length: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { kind, channel, length }.put(&mut bytes);
    bytes.extend(vec![0; length.min(5000) as usize]);
    bytes
}

fn control(control: Control) -> Vec<u8> {
    let mut bytes = Vec::new();
    control.put(&mut bytes);
    bytes
}

/// How the connection ends that receives these bytes, and the code that its peer gets.
fn end_of(bytes: &[u8], offered: usize) -> (Breach, u32) {
    let (here, mut bare) = against_bare(&small(), small().limits.hello());
    for _ in 0..offered {
        here.offer(1, vec![0; 100]).unwrap();
    }
    // It may hang up before it has read all.
    let _ = bare.write_all(bytes);
    let ended = loop {
        match blocking(here.clone()).connection().poll(Wait::within(crate::rig::LIMIT), |_| ()) {
            Ok(count) => assert!(count > 0, "nothing came of it"),
            Err(Error::Protocol(breach)) => break breach,
            Err(other) => panic!("{other}"),
        }
    };
    let mut reply = Vec::new();
    let _ = bare.read_to_end(&mut reply);
    let code = reply.split_off(reply.len().saturating_sub(4));
    (ended, code.try_into().map_or(0, u32::from_le_bytes))
}

#[test]
fn every_breach_has_a_name_and_its_code_is_sent() {
    let message = Breach::MessageTooLong { length: 1001, limit: 1000 };
    let cases = [
        (vec![0x0e, 0, 0, 0], 0, Breach::Wire(WireError::UnknownKind { kind: 14 })),
        (vec![0x20, 0, 0, 0], 0, Breach::Wire(WireError::Reserved { byte: 0x20 })),
        (frame(Kind::Message, 0, 1001)[..8].to_vec(), 0, message),
        (frame(Kind::Message, 4, 1), 0, Breach::UnknownChannel { channel: 4, channels: 4 }),
        (frame(Kind::Message, 65_535, 0), 0, Breach::UnknownChannel { channel: 65_535, channels: 4 }),
        (frame(Kind::Chunk, 9, 1)[..4].to_vec(), 0, Breach::UnknownChannel { channel: 9, channels: 4 }),
        (frame(Kind::Chunk, 1, 2001)[..8].to_vec(), 1, Breach::ChunkTooLong { length: 2001, limit: 2000 }),
        (frame(Kind::Chunk, 1, 10)[..4].to_vec(), 0, Breach::PostWithoutBuffer { channel: 1 }),
        (frame(Kind::Chunk, 1, 101)[..4].to_vec(), 1, Breach::PostTooLong { channel: 1, capacity: 100 }),
        (frame(Kind::Chunk, 1, 0), 1, Breach::EmptyChunk { channel: 1 }),
        (control(Control::Credit { channel: 2, bytes: 1 }), 0, Breach::CreditOverflow { channel: 2 }),
        (control(Control::Credit { channel: 2, bytes: u32::MAX }), 0, Breach::CreditOverflow { channel: 2 }),
        (
            control(Control::Grant { channel: 2, capacity: 1 }).repeat(MOST_POSTS + 1),
            0,
            Breach::TooManyBuffers { channel: 2 },
        ),
        (control(Control::CloseAck), 0, Breach::AckWithoutClose),
    ];
    for (bytes, offered, breach) in cases {
        let (ended, code) = end_of(&bytes, offered);
        assert_eq!(ended, breach);
        assert_eq!(code, breach.code(), "{breach}");
    }
}

#[test]
fn data_after_a_close_is_a_breach() {
    let (here, mut bare) = against_bare(&small(), small().limits.hello());
    bare.write_all(&[control(Control::Close), frame(Kind::Message, 0, 1)].concat()).unwrap();
    let ended = here.close(crate::rig::LIMIT).unwrap_err();
    assert!(matches!(ended, Error::Protocol(Breach::AfterClose)), "{ended}");
}

#[test]
fn messages_beyond_the_credit_are_a_breach_before_they_are_kept() {
    let (here, mut bare) = against_bare(&small(), small().limits.hello());
    let frames = frame(Kind::Message, 3, 996).repeat(5);
    let _ = bare.write_all(&frames);
    // Channel 3 is not read: four fill its window.
    let ended = blocking(here).receive(0).unwrap_err();
    let breach = Breach::CreditExceeded { channel: 3, excess: 1000 };
    assert!(matches!(&ended, Error::Protocol(found) if *found == breach), "{ended}");
}

#[test]
fn a_flood_of_pings_is_answered_without_a_queue_of_answers() {
    let (here, mut bare) = against_bare(&small(), small().limits.hello());
    let pings = control(Control::Ping).repeat(20_000);
    bare.write_all(&[pings, frame(Kind::Message, 0, 1)].concat()).unwrap();
    let here = blocking(here);
    assert_eq!(here.receive(0).unwrap(), [0]);
    // The peer reads none of the pongs; there is at most one a read.
    assert!(here.connection().queued() < 100, "{} bytes queued", here.connection().queued());
    here.send(0, b"still fine").unwrap();
}

/// What else a hello may have wrong is named in `wire/hello.rs`.
#[test]
fn strangers_are_refused_at_the_door() {
    let (near, mut far) = streams();
    far.write_all(b"GET / HTTP/1.1\r\n\r\n......").unwrap();
    let refused = Connection::tcp(near, &small()).unwrap_err();
    let breach = Breach::Wire(WireError::NotThisProtocol { at: 0, byte: b'G' });
    assert!(matches!(&refused, Error::Protocol(found) if *found == breach), "{refused}");
}

#[test]
fn limits_that_cannot_be_kept_are_refused_before_anything_is_sent() {
    let (near, _far) = streams();
    let mut config = small();
    config.limits.window = 1000;
    assert!(matches!(Connection::tcp(near, &config), Err(Error::Limits(WireError::BadHello { .. }))));
}
