//! Two ends that keep to the protocol, a network that cuts as it likes, and a model of what must
//! come out: a queue for each channel. The bytes say what is done, one after another.

use std::collections::VecDeque;

use bytes::Bytes;
use netfathom_message::{
    Limits,
    protocol::{Batch, Event, Incoming, Outgoing, Refused, Want},
};

const CHANNELS: u16 = 3;
const LIMITS: Limits =
    Limits { channels: CHANNELS, max_message: 300, chunk: 64, window: 640, send_queue: 900 };

/// One end, and what the model says it is still to receive.
struct End {
    out: Outgoing,
    incoming: Incoming,
    wire: VecDeque<u8>,
    messages: Vec<VecDeque<Vec<u8>>>,
    posts: Vec<VecDeque<Vec<u8>>>,
    next: u8,
}

impl End {
    fn new() -> Self {
        let (mut out, mut incoming) = (Outgoing::new(&LIMITS), Incoming::new(&LIMITS));
        out.set_peer(LIMITS.hello());
        incoming.set_peer(LIMITS.hello()).expect("the limits can be kept");
        let messages = vec![VecDeque::new(); CHANNELS.into()];
        Self { out, incoming, wire: VecDeque::new(), posts: messages.clone(), messages, next: 0 }
    }

    fn body(&mut self, length: usize) -> Vec<u8> {
        self.next = self.next.wrapping_add(1);
        (0..length).map(|at| self.next.wrapping_mul(31).wrapping_add(at as u8)).collect()
    }
}

/// Does what the bytes say, then lets everything through, and sees that all has come.
pub fn run(data: &[u8]) {
    let mut ends = [End::new(), End::new()];
    let mut data = data.iter().copied();
    while let (Some(what), Some(amount)) = (data.next(), data.next()) {
        let side = usize::from(what >> 7);
        let channel = u16::from(what >> 4 & 7) % CHANNELS;
        step(&mut ends, side, what & 7, channel, usize::from(amount));
    }
    settle(&mut ends);
}

fn step(ends: &mut [End; 2], side: usize, what: u8, channel: u16, amount: usize) {
    match what {
        0 | 1 => send(ends, side, channel, amount * 2),
        2 => post(ends, side, channel, amount),
        3 => offer(&mut ends[side], channel, amount.max(200)),
        4 => write(&mut ends[side]),
        5 => carry(ends, side, amount, Want::Nothing),
        6 => carry(ends, side, amount, Want::Message(channel)),
        _ => carry(ends, side, amount, Want::Any),
    }
}

fn send(ends: &mut [End; 2], side: usize, channel: u16, length: usize) {
    let body = ends[side].body(length);
    match ends[side].out.message(channel, &body) {
        Ok(()) => ends[1 - side].messages[usize::from(channel)].push_back(body),
        Err(Refused::TooLong { .. }) => assert!(length > LIMITS.max_message as usize),
        Err(Refused::Full | Refused::NoCredit { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    assert!(ends[side].out.queued() <= LIMITS.send_queue);
}

/// Posts no longer than any buffer, so that none is turned away.
fn post(ends: &mut [End; 2], side: usize, channel: u16, length: usize) {
    let body = ends[side].body(length.min(200));
    if ends[side].out.post(channel, Bytes::from(body.clone())).is_ok() {
        ends[1 - side].posts[usize::from(channel)].push_back(body);
    }
}

fn offer(end: &mut End, channel: u16, capacity: usize) {
    if end.out.grant(channel, capacity as u64).is_ok() {
        end.incoming.wait_with(channel, vec![0; capacity]);
    }
}

fn write(end: &mut End) {
    let Some(mut batch) = end.out.take() else { return };
    check_fairness(&batch);
    while batch.left() > 0 {
        let bytes = batch.one_frame().concat();
        end.wire.extend(&bytes);
        batch.wrote(bytes.len());
    }
    end.out.give_back(batch);
    end.out.ended().for_each(drop);
}

/// No more than one chunk's worth of posts leaves before the next message may.
fn check_fairness(batch: &Batch) {
    let mut batch: &[u8] = &batch.parts().concat();
    let mut bulk = 0;
    while let Ok(Some((header, _))) = netfathom_message::wire::Header::read(batch) {
        if matches!(
            header.kind,
            netfathom_message::wire::Kind::Chunk | netfathom_message::wire::Kind::LastChunk
        ) {
            bulk += header.length;
        }
        batch = &batch[header.frame()..];
    }
    assert!(bulk <= LIMITS.chunk, "{bulk} bytes of posts in one batch");
}

/// Lets bytes through to the other end, which takes what it wants.
fn carry(ends: &mut [End; 2], side: usize, amount: usize, want: Want) {
    let count = amount.min(ends[side].wire.len());
    let bytes: Vec<u8> = ends[side].wire.drain(..count).collect();
    let mut rest = &bytes[..];
    loop {
        take(&mut ends[1 - side], want);
        if rest.is_empty() {
            return;
        }
        let fed = ends[1 - side].incoming.feed(rest);
        rest = &rest[fed..];
    }
}

fn take(end: &mut End, want: Want) {
    while let Some(event) = end.incoming.next(want).expect("the other end keeps to the protocol") {
        match event {
            Event::Message { channel, body } => {
                let expected = end.messages[usize::from(channel)].pop_front();
                assert_eq!(Some(body), expected.as_deref(), "the next of channel {channel}");
            }
            Event::Post(received) => {
                end.out.granted(received.channel);
                let expected = end.posts[usize::from(received.channel)].pop_front();
                assert_eq!(Some(received.bytes()), expected.as_deref());
            }
            Event::Control(control) => end.out.control(control).expect("the other end may send this"),
            Event::Hello(_) => panic!("a second hello"),
        }
    }
    while let Some(reply) = end.incoming.replies() {
        end.out.reply(reply);
    }
}

fn settle(ends: &mut [End; 2]) {
    for side in [0, 1] {
        for channel in 0..CHANNELS {
            for _ in 0..ends[side].posts[usize::from(channel)].len() {
                offer(&mut ends[side], channel, 200);
            }
        }
    }
    while ends.iter().any(|end| end.out.has_work() || !end.wire.is_empty()) {
        for side in [0, 1] {
            write(&mut ends[side]);
            carry(ends, side, usize::MAX, Want::Any);
        }
    }
    for end in ends {
        // Once more: what was kept before is wanted now.
        take(end, Want::Any);
        assert!(end.messages.iter().all(VecDeque::is_empty), "a message did not come");
        assert!(end.posts.iter().all(VecDeque::is_empty), "a post did not come");
        assert!(!end.incoming.inside_frame());
        assert_eq!(end.incoming.stashed(), 0);
    }
}
