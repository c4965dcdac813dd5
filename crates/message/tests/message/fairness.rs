//! Who leaves before whom, seen on the bytes that leave, without sockets and clocks.

use netfathom_message::{
    Bytes, Limits,
    protocol::Outgoing,
    wire::{Control, Header, Kind},
};

const CHUNK: usize = 64 << 10;

/// Kind, channel and length of the frames of the next batch.
fn next(out: &mut Outgoing) -> Vec<(Kind, u16, u32)> {
    let batch = out.take().expect("there is more to send");
    let bytes = batch.parts().concat();
    let (mut rest, mut frames) = (&bytes[..], Vec::new());
    while let Some((header, _)) = Header::read(rest).expect("frames") {
        frames.push((header.kind, header.channel, header.length));
        rest = &rest[header.frame()..];
    }
    out.give_back(batch);
    frames
}

/// A half with a post of eight chunks on each of two channels, which may leave.
fn busy() -> Outgoing {
    let limits = Limits::default();
    let mut out = Outgoing::new(&limits);
    out.set_peer(limits.hello());
    for channel in [1, 2] {
        out.control(Control::Grant { channel, capacity: 1 << 20 }).unwrap();
        out.post(channel, Bytes::from(vec![0; 8 * CHUNK])).unwrap();
    }
    out
}

#[test]
fn a_message_passes_bulk_at_the_next_chunk() {
    let mut out = busy();
    let chunk = |kind, channel| (kind, channel, CHUNK as u32);
    assert_eq!(next(&mut out), [chunk(Kind::Chunk, 1)]);
    out.message(3, b"late").unwrap();
    assert_eq!(next(&mut out), [(Kind::Message, 3, 4), chunk(Kind::Chunk, 2)]);
}

#[test]
fn bulk_of_several_channels_takes_turns() {
    let mut out = busy();
    let channels: Vec<u16> = (0..16).flat_map(|_| next(&mut out)).map(|(_, channel, _)| channel).collect();
    assert_eq!(channels, [1, 2].repeat(8));
}

/// Messages leave in the order in which they were sent, whatever their channels: one that is late
/// with its own is late for all.
#[test]
fn messages_of_all_channels_keep_one_order() {
    let mut out = busy();
    for (channel, body) in [(5, "one"), (4, "three"), (5, "four"), (6, "")] {
        out.message(channel, body.as_bytes()).unwrap();
    }
    let messages: Vec<_> =
        next(&mut out).into_iter().filter(|frame| frame.0 == Kind::Message).map(|frame| frame.1).collect();
    assert_eq!(messages, [5, 4, 5, 6]);
}
