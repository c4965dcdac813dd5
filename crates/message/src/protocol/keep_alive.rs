//! When to ask whether anybody is there, and when to give up.

use std::time::Duration;

use super::ProtocolError;

/// What was heard of the peer up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Reads that brought something; only its change matters.
    pub reads: u64,
    /// Frames completed; only its change matters.
    pub frames: u64,
    /// Whether a frame is begun and not complete.
    pub inside_frame: bool,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAliveStep {
    /// Nothing before this long.
    Wait(Duration),
    /// A ping should be sent; then to be asked again after this long.
    Ping(Duration),
}

/// Watches the peer. Times are since any fixed moment.
#[derive(Clone, Debug)]
pub struct KeepAlive {
    ping_after: Option<Duration>,
    silent_after: Duration,
    frame_within: Duration,
    last: Beat,
    heard: Duration,
    framed: Duration,
    pinged: bool,
}

impl KeepAlive {
    /// Asks after `ping_after` of silence (never if `None`), gives up after `silent_after`, and
    /// allows `frame_within` from the begin of a frame to its end.
    pub fn new(ping_after: Option<Duration>, silent_after: Duration, frame_within: Duration) -> Self {
        Self {
            ping_after,
            silent_after,
            frame_within,
            last: Beat::default(),
            heard: Duration::ZERO,
            framed: Duration::ZERO,
            pinged: false,
        }
    }

    /// What is due at `now`.
    ///
    /// # Errors
    /// [`ProtocolError::Silent`] and [`ProtocolError::FrameTimeout`].
    pub fn look(&mut self, now: Duration, beat: Beat) -> Result<KeepAliveStep, ProtocolError> {
        if beat.reads != self.last.reads {
            (self.heard, self.pinged) = (now, false);
        }
        if beat.frames != self.last.frames || !beat.inside_frame || !self.last.inside_frame {
            self.framed = now;
        }
        self.last = beat;
        if beat.inside_frame && now - self.framed >= self.frame_within {
            return Err(ProtocolError::FrameTimeout { ms: self.frame_within.as_millis() as u64 });
        }
        let frame_check = self.frame_within / 2;
        let Some(ping_after) = self.ping_after else { return Ok(KeepAliveStep::Wait(frame_check)) };
        let silence = now - self.heard;
        if silence >= self.silent_after {
            return Err(ProtocolError::Silent { ms: self.silent_after.as_millis() as u64 });
        }
        if silence >= ping_after && !self.pinged {
            self.pinged = true;
            return Ok(KeepAliveStep::Ping(frame_check.min(self.silent_after - silence)));
        }
        let due = if self.pinged { self.silent_after } else { ping_after };
        Ok(KeepAliveStep::Wait(frame_check.min(due - silence)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn silence_is_asked_once_and_then_given_up() {
        let mut watch = KeepAlive::new(Some(S), 3 * S, 100 * S);
        let beat = Beat { reads: 1, ..Beat::default() };
        assert_eq!(watch.look(S, beat), Ok(KeepAliveStep::Wait(S)));
        assert_eq!(watch.look(2 * S, beat), Ok(KeepAliveStep::Ping(2 * S)));
        assert_eq!(watch.look(3 * S, beat), Ok(KeepAliveStep::Wait(S)));
        assert_eq!(watch.look(4 * S, beat), Err(ProtocolError::Silent { ms: 3000 }));
        let answered = Beat { reads: 2, ..beat };
        assert_eq!(watch.look(4 * S, answered), Ok(KeepAliveStep::Wait(S)));
        assert_eq!(watch.look(5 * S, answered), Ok(KeepAliveStep::Ping(2 * S)));
    }

    #[test]
    fn a_frame_in_drops_runs_out_of_time_though_something_always_comes() {
        let mut watch = KeepAlive::new(Some(S), 3 * S, 5 * S);
        let mut beat = Beat { inside_frame: true, ..Beat::default() };
        for second in 1..6 {
            beat.reads += 1;
            assert!(watch.look(second * S, beat).is_ok(), "second {second}");
        }
        beat.reads += 1;
        assert_eq!(watch.look(6 * S, beat), Err(ProtocolError::FrameTimeout { ms: 5000 }));
        beat.frames += 1;
        assert!(watch.look(6 * S, beat).is_ok());
    }
}
