//! The server answers each small request with a bulk reply, to where the client wants it.

use netfathom_sys::clock::monotonic_ns;

use super::end::End;
use super::error::EndError;
use super::task::{Done, Next, Task};

pub const REQUEST_BYTES: usize = 4;

/// Fetches until there were enough replies, or time is over.
pub fn client(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut done = Done::nothing();
    let first_ns = monotonic_ns();
    let mut now = first_ns;
    (done.first_ns, done.last_ns) = (Some(first_ns), now);
    let mut next = Next::Go;
    while next == Next::Go {
        next = task.next(done.messages, now - first_ns);
        if next != Next::Go {
            task.announce(done.messages + 1);
        }
        end.fetch()?;
        now = monotonic_ns();
        done.times.add(now as i64 - done.last_ns as i64);
        done.last_ns = now;
        done.messages += 1;
    }
    done.timed = done.messages;
    done.cut_short = next == Next::CutShort;
    Ok(done)
}

/// Sends as many replies as requests came.
pub fn answer(end: &mut dyn End, came: u64) -> Result<(), EndError> {
    (0..came).try_for_each(|_| end.post())
}
