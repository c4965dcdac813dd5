//! Bytes that come in over TCP: to standard output, or thrown away.

use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::TransferMethod;
use netfathom_sys::endpoint;
use netfathom_sys::splice::{Leads, enlarge_pipe, leads, splice};

use super::account::Meter;
use super::tcp::{LARGE, at_once, file, pump, write_all};
use super::timing::Timing;
use super::wakeups::Wakeups;
use super::{Around, Broken};

pub(super) fn way_in(plan: &TransferPlan, around: Around<'_>) -> TransferMethod {
    if plan.checksum {
        return TransferMethod::Copied;
    }
    if plan.generated {
        return if plan.discard { TransferMethod::Discarded } else { TransferMethod::Copied };
    }
    let pipe = leads(around.standard.output).is_ok_and(|to| to == Leads::Pipe);
    if !pipe || plan.full_blocks || plan.touch {
        return TransferMethod::Copied;
    }
    let _ = enlarge_pipe(around.standard.output, LARGE);
    TransferMethod::Spliced
}

pub(super) fn receive_by(
    way: TransferMethod,
    plan: &TransferPlan,
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<(), Broken> {
    let (output, most) = (around.standard.output, at_once(plan));
    let mut wakeups = Wakeups::of(plan, socket);
    match way {
        TransferMethod::Spliced => {
            let broken = |e: io::Error| match e.kind() {
                ErrorKind::BrokenPipe => Broken::Output(e),
                _ => Broken::Network(e),
            };
            pump(around, meter, broken, |timing| {
                timing.wait_for_output(output);
                timing.on_socket(|| wakeups.call(most, || splice_what_came(socket, output, most)))
            })
        }
        _ if plan.generated => {
            let room = buffer.len();
            let mut left = plan.serve.and_then(|service| service.most_bytes).unwrap_or(u64::MAX);
            pump(around, meter, Broken::Network, |timing| {
                let came =
                    timing.on_socket(|| wakeups.call(room, || throw_away(way, socket, buffer, left)))?;
                if plan.touch {
                    touch(&buffer[..came]);
                }
                left -= came as u64;
                Ok(came)
            })
        }
        _ => copy_in(plan, around, (socket, wakeups), buffer, meter),
    }
}

/// One call, of no more than may still come; the byte after that is an error.
#[inline]
fn throw_away(
    way: TransferMethod,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    left: u64,
) -> io::Result<usize> {
    if left == 0 {
        return match endpoint::receive(socket, &mut [0])? {
            0 => Ok(0),
            _ => Err(ErrorKind::FileTooLarge.into()),
        };
    }
    let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
    if way == TransferMethod::Discarded {
        endpoint::discard(socket, most)
    } else {
        endpoint::receive(socket, &mut buffer[..most])
    }
}

/// Waits outside of splice: the kernel would hold the pipe's lock while it waits for the socket
/// (splice_file_to_pipe, 6.18), so that its reader could neither read what is there nor end. It
/// would also take a reader that has ended before the end of the stream for a failure, although
/// nothing was left to read.
fn splice_what_came(socket: BorrowedFd<'_>, output: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    if endpoint::more_comes(socket)? { splice(socket, output, most) } else { Ok(0) }
}

/// Looks at each byte, as a program would that uses them: the sum of all needs every one.
pub(super) fn touch(bytes: &[u8]) {
    black_box(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
}

fn copy_in(
    plan: &TransferPlan,
    around: Around<'_>,
    (socket, mut wakeups): (BorrowedFd<'_>, Wakeups<'_>),
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<(), Broken> {
    let mut output = file(around.standard.output).map_err(Broken::Output)?;
    // A block is full, or whatever came, or at the end the rest.
    let least = if plan.full_blocks { buffer.len() } else { 1 };
    let mut held = 0;
    loop {
        around.unless_stopped()?;
        let room = &mut buffer[held..];
        match meter.timing.on_socket(|| wakeups.call(room.len(), || endpoint::receive(socket, room))) {
            Ok(bytes) => {
                if bytes > 0 {
                    meter.moved(bytes);
                }
                if plan.touch {
                    touch(&buffer[held..held + bytes]);
                }
                held += bytes;
                if held >= least || bytes == 0 {
                    meter.timing.on_standard(|| write_all(around, &mut output, &buffer[..held]))?;
                    held = 0;
                }
                if bytes == 0 {
                    return Ok(());
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                // What came before is the user's, whole or not.
                write_all(around, &mut output, &buffer[..held])?;
                return Err(Broken::Network(e));
            }
        }
    }
}
