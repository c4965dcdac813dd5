//! A peer that sends anything at all. What it meant must not depend on how its bytes were cut, and
//! what is kept of them stays within the limits.

use netfathom_message::{
    Limits,
    protocol::{Event, Incoming, Want},
};

const LIMITS: Limits = Limits { channels: 4, max_message: 60, chunk: 100, window: 400, send_queue: 1000 };

/// What one event was, to be compared.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Message(u16, Vec<u8>),
    Post(u16, Vec<u8>),
    Other(String),
}

/// The first byte chooses whether a hello came before, and what is read.
pub fn run(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let whole = read(choice, data, data.len().max(1));
    for piece in [1, 7, 64] {
        let cut = read(choice, data, piece);
        assert_eq!(cut, whole, "cut into pieces of {piece}");
    }
}

fn read(choice: u8, data: &[u8], piece: usize) -> (Vec<Seen>, Option<String>) {
    let mut incoming = Incoming::new(&LIMITS);
    if choice & 1 == 0 {
        incoming.set_peer(LIMITS.hello()).expect("the limits can be kept");
    }
    let want = match choice >> 1 & 3 {
        0 | 1 => Want::Any,
        2 => Want::Message(1),
        _ => Want::Nothing,
    };
    for channel in 0..2 {
        incoming.wait_with(channel, vec![0; 150]);
        incoming.wait_with(channel, vec![0; 3]);
    }
    let mut seen = Vec::new();
    for mut rest in data.chunks(piece) {
        while !rest.is_empty() {
            let taken = incoming.feed(rest);
            assert!(taken > 0, "there is always room for more");
            rest = &rest[taken..];
            if let Err(error) = drain(&mut incoming, want, &mut seen) {
                return (seen, Some(error));
            }
        }
    }
    (seen, None)
}

fn drain(incoming: &mut Incoming, want: Want, seen: &mut Vec<Seen>) -> Result<(), String> {
    loop {
        match incoming.next(want) {
            Ok(None) => break,
            Ok(Some(Event::Message { channel, body })) => seen.push(Seen::Message(channel, body.to_vec())),
            Ok(Some(Event::Post(received))) => {
                seen.push(Seen::Post(received.channel, received.bytes().to_vec()));
            }
            Ok(Some(other)) => seen.push(Seen::Other(format!("{other:?}"))),
            Err(error) => return Err(error.to_string()),
        }
    }
    // An inbox doubles its memory as it grows, and keeps what was taken until half of it is.
    let most = 4 * usize::from(LIMITS.channels) * LIMITS.window as usize;
    assert!(incoming.stash_memory() <= most, "{} bytes kept", incoming.stash_memory());
    while incoming.replies().is_some() {}
    Ok(())
}
