//! Bytes that are sent over TCP: generated, or from standard input.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::TransferMethod;
use netfathom_sys::endpoint;
use netfathom_sys::splice::{Leads, enlarge_pipe, leads, send_file, splice};

use super::account::Meter;
use super::pace::Pace;
use super::segments::Segments;
use super::tcp::{LARGE, at_once, file, pump, read};
use super::timing::Timing;
use super::{Around, Broken, Buffer};

/// Where streams are more than CPUs, one of them sends so much before another may: what the others and the receivers
/// are to read is still in the cache then. A whole time slice of the scheduler is several megabytes.
const TURN_BYTES: usize = 128 << 10;

struct Turn {
    alone: bool,
    left: usize,
}

impl Turn {
    fn of(plan: &TransferPlan) -> Self {
        Self { alone: plan.streams == 1, left: TURN_BYTES }
    }

    /// Whether it is over with so much.
    fn ends(&mut self, bytes: usize) -> bool {
        self.left = self.left.saturating_sub(bytes);
        let ends = self.left == 0 && !self.alone;
        if ends {
            self.left = TURN_BYTES;
        }
        ends
    }
}

/// Sends the same buffer over and over, by a call that says how much of what is left it took.
pub(super) fn send_generated(
    plan: &TransferPlan,
    around: Around<'_>,
    (socket, buffer): (BorrowedFd<'_>, &Buffer),
    meter: &mut Meter<'_, impl Timing>,
    mut call: impl FnMut(&[u8]) -> Result<usize, Broken>,
) -> Result<(), Broken> {
    let buffers = plan.time_ns.map_or(plan.buffers, |_| u64::MAX);
    let mut pace = Pace::start(plan);
    let mut turn = Turn::of(plan);
    let mut segments = Segments::of(plan, socket);
    for left in (0..buffers).rev() {
        let bytes = buffer.first(segments.next(left == 0));
        pace.wait(bytes.len(), around);
        if around.expired() {
            break;
        }
        // The rest of a buffer is not needed once the time is over.
        send_unless(|| around.expired(), around, bytes, meter, &mut call)?;
        if turn.ends(bytes.len()) {
            thread::yield_now();
        }
    }
    Ok(())
}

/// One buffer: a single call, unless a signal comes between.
#[inline]
pub(super) fn send_all(
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<(), Broken> {
    send_unless(|| false, around, bytes, meter, &mut |rest: &[u8]| send_some(socket, rest))
}

/// One call that copies; nothing where a signal came before anything went.
#[inline]
pub(super) fn send_some(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Broken> {
    match endpoint::send(socket, bytes) {
        Err(e) if e.kind() == ErrorKind::Interrupted => Ok(0),
        outcome => outcome.map_err(Broken::Network),
    }
}

#[inline]
fn send_unless(
    over: impl Fn() -> bool,
    around: Around<'_>,
    bytes: &[u8],
    meter: &mut Meter<'_, impl Timing>,
    call: &mut impl FnMut(&[u8]) -> Result<usize, Broken>,
) -> Result<(), Broken> {
    let mut rest = bytes;
    while !rest.is_empty() {
        around.unless_stopped()?;
        let sent = meter.timing.on_socket(|| call(rest))?;
        if sent > 0 && rest.len() == bytes.len() {
            meter.moved(sent);
        } else {
            meter.moved_rest(sent);
        }
        rest = &rest[sent..];
        if over() {
            break;
        }
    }
    Ok(())
}

pub(super) fn way_out(around: Around<'_>) -> TransferMethod {
    match leads(around.standard.input) {
        Ok(Leads::Pipe) => {
            // A pipe that must stay small works too.
            let _ = enlarge_pipe(around.standard.input, LARGE);
            TransferMethod::Spliced
        }
        // Files of no length, such as those of /proc, say only by reading what they hold.
        Ok(Leads::File { bytes, at }) if bytes > at => {
            around.live.planned.store(bytes - at, Relaxed);
            TransferMethod::SentAsFile
        }
        _ => TransferMethod::Copied,
    }
}

pub(super) fn send_input(
    plan: &TransferPlan,
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
    way: &mut TransferMethod,
) -> Result<(), Broken> {
    let (input, most) = (around.standard.input, at_once(plan));
    let moved = match way {
        TransferMethod::Spliced => pump(around, meter, Broken::Network, |timing| {
            timing.wait_for_input(input);
            timing.on_socket(|| splice(input, socket, most))
        }),
        TransferMethod::SentAsFile => {
            pump(around, meter, Broken::Network, |timing| timing.on_socket(|| send_file(input, socket, most)))
        }
        TransferMethod::Copied | TransferMethod::Discarded => return copy_out(around, socket, buffer, meter),
    };
    match moved {
        // Not every file system can do it; then nothing has gone yet.
        Err(Broken::Network(e)) if e.kind() == ErrorKind::InvalidInput && meter.bytes == 0 => {
            *way = TransferMethod::Copied;
            copy_out(around, socket, buffer, meter)
        }
        moved => moved,
    }
}

fn copy_out(
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<(), Broken> {
    let mut input = file(around.standard.input).map_err(Broken::Input)?;
    loop {
        match meter.timing.on_standard(|| read(around, &mut input, buffer))? {
            0 => return Ok(()),
            bytes => send_all(around, socket, &buffer[..bytes], meter)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::Role;

    use super::*;

    #[test]
    fn one_of_several_streams_lets_others_send_every_128_kib() {
        let mut plan = TransferPlan::classic(Role::Transmit);
        let turns = |plan: &TransferPlan, bytes: usize| {
            let mut turn = Turn::of(plan);
            (0..(1 << 20) / bytes).filter(|_| turn.ends(bytes)).count()
        };
        assert_eq!(turns(&plan, 8192), 0, "it is alone");
        plan.streams = 4;
        assert_eq!([1024, 8192, 131_072, 1 << 20].map(|bytes| turns(&plan, bytes)), [8, 8, 8, 1]);
    }
}
