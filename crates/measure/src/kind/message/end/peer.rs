//! Other projects' libraries, by pairs of ends over TCP.
//!
//! A message is one of theirs, in frames of their own: there is no header of ours in it. A reply
//! is read where their library has it, without the copy to a place of the reader's choice that
//! the other layers make or spare, which favours them.

use std::sync::Arc;
use std::time::Duration;

use netfathom_model::layer::End as Whose;
use netfathom_sys::peer::{Library, Pair};

use super::{End, Load, pattern};
use crate::kind::message::error::EndError;
use crate::kind::message::rendezvous::Rendezvous;

/// What the two ends tell each other before they are measured: a connection is there.
const GREETING: &[u8] = b"!";
/// What the client says in the end; no other message is empty.
const GOODBYE: &[u8] = b"";
/// How long it may take to arrive: what is under way is little.
const CLOSING: Duration = Duration::from_secs(2);

pub struct Peer {
    pair: Box<dyn Pair>,
    whose: Whose,
    meeting: Arc<Rendezvous>,
    message: Vec<u8>,
    bulk: Arc<Vec<u8>>,
    sent: u64,
    received: u64,
    has_goodbye: bool,
}

impl Peer {
    /// Makes it where the calling thread is, and waits for the other end, which is made at the same
    /// time.
    pub fn new(
        library: &dyn Library,
        meeting: &Arc<Rendezvous>,
        whose: Whose,
        load: Load,
    ) -> Result<Self, EndError> {
        let mut pair = library.end(load.message_bytes.max(load.bulk_bytes))?;
        match whose {
            Whose::Server => meeting.server_is_at(pair.listen(meeting.host())?),
            Whose::Client => pair.connect(meeting.await_server()?)?,
        }
        let mut end = Self {
            pair,
            whose,
            meeting: Arc::clone(meeting),
            message: pattern(load.message_bytes),
            bulk: Arc::new(pattern(load.bulk_bytes)),
            sent: 0,
            received: 0,
            has_goodbye: false,
        };
        end.say(GREETING)?;
        let heard = end.hear()?;
        end.expect(heard, GREETING.len())?;
        Ok(end)
    }

    fn say(&mut self, message: &[u8]) -> Result<(), EndError> {
        while !self.pair.send(message)? {
            self.meeting.goes_on()?;
        }
        Ok(())
    }

    /// How long the next message is.
    fn hear(&mut self) -> Result<usize, EndError> {
        loop {
            if let Some(length) = self.pair.receive(&mut |_| {})? {
                return Ok(length);
            }
            self.meeting.goes_on()?;
        }
    }

    fn expect(&self, length: usize, wanted: usize) -> Result<(), EndError> {
        if length == wanted {
            return Ok(());
        }
        let text = format!("a message of {length} bytes came to the {}, not of {wanted}", self.whose.name());
        Err(EndError::Unexpected(text))
    }

    fn has_received(&mut self) {
        self.received += 1;
        self.meeting.has_received(self.whose, self.received);
    }

    fn other(&self) -> Whose {
        match self.whose {
            Whose::Client => Whose::Server,
            Whose::Server => Whose::Client,
        }
    }
}

impl End for Peer {
    fn send(&mut self) -> Result<u64, EndError> {
        while !self.pair.send(&self.message)? {
            self.meeting.goes_on()?;
        }
        self.sent += 1;
        Ok(1)
    }

    fn drain(&mut self) -> Result<(), EndError> {
        // The libraries do not tell what their threads still have: what has arrived has left.
        self.meeting.await_received(self.other(), self.sent)
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        if self.has_goodbye {
            return Ok(0);
        }
        let length = self.hear()?;
        if length == GOODBYE.len() {
            self.has_goodbye = true;
            return Ok(0);
        }
        self.expect(length, self.message.len())?;
        self.has_received();
        Ok(1)
    }

    fn post(&mut self) -> Result<(), EndError> {
        while !self.pair.send_bulk(&self.bulk)? {
            self.meeting.goes_on()?;
        }
        self.sent += 1;
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), EndError> {
        self.send()?;
        let length = self.hear()?;
        self.expect(length, self.bulk.len())?;
        self.has_received();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), EndError> {
        if self.whose == Whose::Server {
            self.meeting.server_has_ended();
            return Ok(());
        }
        self.say(GOODBYE)?;
        // An end that is closed takes with it what it has not sent.
        if self.meeting.await_server_end(CLOSING)? {
            return Ok(());
        }
        Err(EndError::Unexpected("the server has not heard the end of it".into()))
    }

    fn threads(&self) -> Option<Vec<u32>> {
        Some(self.pair.threads())
    }
}
