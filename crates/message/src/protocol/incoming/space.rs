//! Where the next bytes from the socket go.
//!
//! A post is read to its place. While a piece of it is under way that is simple: the rest of the
//! piece, and behind it room for the next header. Before its header is read the place is
//! unknown; but a post is mostly followed by one like it. So the next piece is guessed: room for its
//! header, then the place where it would go. A right guess saves a system call, or a copy; after
//! a wrong one what was read is moved to where it would have come without it.

use super::{Incoming, Piece};
use crate::wire::{Header, Kind, WIDE_HEADER};

/// Bytes read beside a post that is under way: enough for the next header, so that one system call
/// brings a piece and what follows it, and few, since they are copied once more.
const READ_AHEAD: usize = 64;
/// Pieces up to this size are read with whatever else is there and copied to their place: that
/// costs less than a read for each.
const SMALL_PIECE: usize = 4 << 10;

/// Where the next bytes from the socket belong: each part is filled before the next.
#[derive(Debug)]
pub struct Space<'a> {
    /// Room for the header of a post, in the connection's own buffer. Often empty.
    pub header: &'a mut [u8],
    /// The rest of a piece of a post, or a piece that is expected, in the buffer that waits for it.
    /// Often empty.
    pub posted: &'a mut [u8],
    /// The connection's own buffer. Never empty.
    pub buffer: &'a mut [u8],
}

/// A piece of a post that may come next: like the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    channel: u16,
    header: usize,
    length: usize,
}

impl Guess {
    pub(super) fn like(piece: Piece) -> Self {
        let header = Header { kind: Kind::LastChunk, channel: piece.channel, length: piece.length as u32 };
        Self { channel: piece.channel, header: header.size(), length: piece.length }
    }

    fn fits(&self, header: Header, size: usize) -> bool {
        size == self.header
            && header.kind.body().is_none()
            && header.kind != Kind::Message
            && header.channel == self.channel
    }
}

impl Incoming {
    /// Where the next bytes from the socket belong. To be asked only when [`Incoming::next`] has
    /// nothing more.
    pub fn space(&mut self) -> Space<'_> {
        self.guessed = None;
        if let Some(piece) = self.piece {
            // A piece is only begun where a buffer waits, and it stays until the piece is done.
            let waiting = &mut self.channels[usize::from(piece.channel)].waiting[0];
            let posted = &mut waiting.buffer[waiting.filled..waiting.filled + piece.left];
            let buffer = &mut self.buffer.room(READ_AHEAD)[..READ_AHEAD];
            return Space { header: &mut [], posted, buffer };
        }
        if let Some(guess) = self.expected.filter(|guess| guess.length > SMALL_PIECE) {
            return self.space_for(guess);
        }
        let missing = self.missing();
        Space { header: &mut [], posted: &mut [], buffer: self.buffer.room(missing) }
    }

    fn space_for(&mut self, guess: Guess) -> Space<'_> {
        let missing = self.missing();
        let Guess { channel, header, length } = guess;
        // What is read there in vain must find room in the connection's own buffer.
        let room = self.buffer.is_empty() && header + length + READ_AHEAD <= self.buffer.capacity();
        let waiting = self.channels.get_mut(usize::from(channel)).and_then(|state| state.waiting.front_mut());
        match waiting.filter(|waiting| room && waiting.buffer.len() - waiting.filled >= length) {
            Some(waiting) => {
                self.guessed = Some(guess);
                let posted = &mut waiting.buffer[waiting.filled..waiting.filled + length];
                let (header, rest) = self.buffer.room(header + READ_AHEAD).split_at_mut(header);
                Space { header, posted, buffer: &mut rest[..READ_AHEAD] }
            }
            None => {
                let buffer = self.buffer.room(missing);
                let most = buffer.len().min(missing + READ_AHEAD);
                Space { header: &mut [], posted: &mut [], buffer: &mut buffer[..most] }
            }
        }
    }

    /// Bytes until the frame that is begun is whole, at least one.
    fn missing(&self) -> usize {
        let bytes = self.buffer.filled();
        let frame = match Header::read(bytes) {
            Ok(Some((header, size))) if header.kind == Kind::Message => size + header.length as usize,
            _ => WIDE_HEADER * 2,
        };
        frame.saturating_sub(bytes.len()).max(1)
    }

    /// Books `bytes` as read into [`Incoming::space`].
    pub fn filled(&mut self, mut bytes: usize) {
        if let Some(guess) = self.guessed.take() {
            return self.settle(guess, bytes);
        }
        if let Some(piece) = &mut self.piece
            && let Some(waiting) = self.channels[usize::from(piece.channel)].waiting.front_mut()
        {
            let posted = bytes.min(piece.left);
            waiting.filled += posted;
            piece.left -= posted;
            bytes -= posted;
        }
        self.buffer.add(bytes);
    }

    /// What was read as if the guess were right stays where it is as far as it was.
    fn settle(&mut self, guess: Guess, bytes: usize) {
        let header = bytes.min(guess.header);
        self.buffer.add(header);
        let posted = (bytes - header).min(guess.length);
        let behind = bytes - header - posted;
        if posted == 0 {
            return;
        }
        let right = match Header::read(self.buffer.filled()) {
            Ok(Some((header, size))) if guess.fits(header, size) => {
                // What is wrong with it is found where every other frame is looked at.
                self.begin_piece(header, size).is_ok()
            }
            _ => false,
        };
        let kept = self.piece.as_mut().filter(|_| right).map_or(0, |piece| {
            let kept = posted.min(piece.left);
            piece.left -= kept;
            kept
        });
        let Some(waiting) = self.channels[usize::from(guess.channel)].waiting.front_mut() else { return };
        let surplus = &waiting.buffer[waiting.filled + kept..waiting.filled + posted];
        self.buffer.insert(surplus, behind);
        waiting.filled += kept;
    }

    /// Copies bytes to where they belong, as many as there is space for, and says how many: for
    /// who has no socket to read from.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let space = self.space();
        let mut rest = bytes;
        for part in [space.header, space.posted, space.buffer] {
            let (now, later) = rest.split_at(rest.len().min(part.len()));
            part[..now.len()].copy_from_slice(now);
            rest = later;
        }
        let count = bytes.len() - rest.len();
        self.filled(count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Want, *};
    use crate::protocol::{Event, Limits};

    const SIZE: usize = 6000;

    fn receiver(buffers: usize) -> Incoming {
        let limits = Limits { channels: 2, ..Limits::default() };
        let mut incoming = Incoming::new(&limits);
        incoming.set_peer(limits.hello()).unwrap();
        for _ in 0..buffers {
            incoming.wait_with(0, vec![0; SIZE]);
            incoming.wait_with(1, vec![0; SIZE]);
        }
        incoming
    }

    fn put(frames: &mut Vec<u8>, kind: Kind, channel: u16, length: usize) {
        Header { kind, channel, length: length as u32 }.put(frames);
        let seed = frames.len();
        frames.extend((0..length).map(|at| (seed + at / 3) as u8));
    }

    fn first(frames: &[u8]) -> Incoming {
        let mut incoming = receiver(8);
        assert_eq!(incoming.feed(frames), frames.len());
        assert!(matches!(incoming.next(Want::Any), Ok(Some(Event::Post(_)))));
        incoming
    }

    #[test]
    fn a_post_like_the_one_before_is_read_to_its_place_with_its_header() {
        let mut frame = Vec::new();
        put(&mut frame, Kind::LastChunk, 0, SIZE);
        let mut incoming = first(&frame);
        let space = incoming.space();
        assert_eq!([space.header.len(), space.posted.len(), space.buffer.len()], [4, SIZE, READ_AHEAD]);
        let place = space.posted.as_ptr();
        incoming.feed(&frame);
        let Ok(Some(Event::Post(received))) = incoming.next(Want::Any) else { panic!("no post") };
        assert_eq!(received.buffer.as_ptr(), place);
        assert_eq!(received.bytes(), &frame[4..]);
    }

    /// What was sent, as it must come out.
    fn all(incoming: &mut Incoming, into: &mut Vec<(u16, Vec<u8>)>) {
        while let Some(event) = incoming.next(Want::Any).unwrap() {
            match event {
                Event::Message { channel, body } => into.push((channel, body.to_vec())),
                Event::Post(received) => into.push((received.channel, received.bytes().to_vec())),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_wrong_guess_changes_nothing_however_the_bytes_are_cut() {
        use Kind::{Chunk, LastChunk, Message};
        let mut frames = Vec::new();
        let sent = [
            (LastChunk, 0, SIZE),
            (LastChunk, 0, SIZE - 1),
            (LastChunk, 0, 5000),
            (LastChunk, 0, SIZE),
            (LastChunk, 1, 4500),
            (Message, 0, 5500),
            (LastChunk, 1, 4500),
            (LastChunk, 1, 10),
            (Chunk, 0, 4500),
            (Message, 1, 3),
            (LastChunk, 0, 1000),
            (LastChunk, 0, 0),
            (Message, 1, 20_000),
        ];
        for (kind, channel, length) in sent {
            put(&mut frames, kind, channel, length);
        }
        let mut whole = Vec::new();
        let mut incoming = receiver(8);
        for byte in &frames {
            incoming.feed(&[*byte]);
            all(&mut incoming, &mut whole);
        }
        assert_eq!(whole.len(), sent.len() - 1, "a post of two pieces among them");
        for piece in [2, 3, 5, 63, 64, 68, 4504, 5999, 6003, 6004, 6005, 6068, 7001, 12_000, 20_000, 90_000] {
            let (mut incoming, mut seen) = (receiver(8), Vec::new());
            // The first alone, so that there is something to guess by and nothing else is here.
            let (alone, others) = frames.split_at(4 + SIZE);
            for mut rest in [alone].into_iter().chain(others.chunks(piece)) {
                while !rest.is_empty() {
                    rest = &rest[incoming.feed(rest)..];
                    all(&mut incoming, &mut seen);
                }
            }
            assert!(seen == whole, "cut into pieces of {piece}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_guessed_piece_is_found() {
        let mut frame = Vec::new();
        put(&mut frame, Kind::LastChunk, 0, 5000);
        let mut incoming = first(&frame);
        let mut wrong = Vec::new();
        put(&mut wrong, Kind::LastChunk, 0, SIZE + 1);
        incoming.feed(&wrong[..100]);
        let expected = crate::protocol::ProtocolError::PostTooLong { channel: 0, capacity: SIZE as u64 };
        assert_eq!(incoming.next(Want::Any), Err(expected));
    }
}
