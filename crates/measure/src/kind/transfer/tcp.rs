//! A stream over TCP: one system call a buffer, and no copy of ours where the kernel can do
//! without. The loops are in `outgoing` and `incoming`.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::{TransferEnd, TransferMethod, TransferResult};
use netfathom_sys::{endpoint, tcp_info};

use super::account::{Meter, state};
use super::door::Door;
use super::ends::End;
use super::incoming::{receive_by, way_in};
use super::outgoing::{send_generated, send_input, send_some, way_out};
use super::streams::{Moved, Moving, Streams};
use super::timing::{Timed, Timing, Untimed};
use super::zero_copy::{ZeroCopy, by_way};
use super::{Around, Broken, Buffer, TransferError, checksum, closing};

/// What one call moves where there is no buffer that could be too small; also the largest pipe
/// that an ordinary user may have (`fs.pipe-max-size`).
pub(super) const LARGE: usize = 1 << 20;

pub(super) fn sending(plan: &TransferPlan) -> Moving {
    if plan.explain { send::<Timed> } else { send::<Untimed> }
}

/// Waits for as many streams as the plan has, and receives until all have ended.
pub(super) fn receive(plan: &TransferPlan, around: Around<'_>) -> Result<TransferResult, TransferError> {
    let taking = if plan.explain { take::<Timed> } else { take::<Untimed> };
    let mut door = Door::open(plan, around)?;
    thread::scope(|scope| {
        let mut streams = Streams::new(scope, plan);
        let mut interrupted = false;
        for number in 0..plan.streams {
            let end = match door.next() {
                // What has come by then is reported.
                Err(TransferError::Interrupted) if number > 0 => {
                    interrupted = true;
                    break;
                }
                end => end.inspect_err(|_| around.end())?,
            };
            let Some(end) = end else { break };
            streams.start(end, around, taking)?;
        }
        drop(door);
        let mut result = streams.result();
        if interrupted && !matches!(result.end, TransferEnd::Broken { .. }) {
            result.end = TransferEnd::Interrupted;
        }
        Ok(result)
    })
}

fn send<T: Timing>(plan: &TransferPlan, around: Around<'_>, number: usize, end: &End) -> Moved {
    let socket = end.socket.as_fd();
    let mut buffer = Buffer::new(plan);
    let mut meter = Meter::<T>::start(around.live, number, end);
    let mut way = TransferMethod::Copied;
    let mut zero_copy = ZeroCopy::of(plan, around, socket);
    let sent = closing::guard(socket).and_then(|()| {
        if plan.checksum {
            return checksum::send(plan, around, socket, buffer.bytes_mut(), &mut meter).map(Some);
        }
        if let Some(zero_copy) = &mut zero_copy {
            send_generated(plan, around, (socket, &buffer), &mut meter, |rest| zero_copy.send(rest))?;
        } else if plan.generated {
            send_generated(plan, around, (socket, &buffer), &mut meter, |rest| send_some(socket, rest))?;
        } else {
            way = way_out(around);
            send_input(plan, around, socket, buffer.bytes_mut(), &mut meter, &mut way)?;
        }
        Ok(None)
    });
    let mut stream = meter.stop(0);
    let idle = Duration::from_nanos(plan.idle_ns);
    let closed = sent.and_then(|trailer| {
        zero_copy.as_mut().map_or(Ok(()), |zero_copy| zero_copy.finish(idle))?;
        let (how, reply) = closing::end(socket, idle, plan.time_ns.is_some(), around)?;
        stream.closed_ns = Some(meter.elapsed_ns());
        stream.checksum = trailer.map(|sent| checksum::answered(&sent, &reply)).transpose()?;
        Ok(how)
    });
    // What the kernel still had to send is a part of it.
    stream.samples = meter.seen();
    stream.waits = meter.waits();
    stream.tcp = tcp_info::read(socket).ok().map(|info| state(&info));
    let ended = closed.and_then(|how| match how {
        // The receiver is to learn that it has not all of it.
        TransferEnd::CutOff { .. } => Ok(how),
        _ => closing::release(socket).map(|()| how),
    });
    stream.end = ended.unwrap_or_else(|broken| broken.beside(plan.streams).end());
    stream.zero_copy = by_way(plan, way, end.peer, &stream);
    let buffer_address = buffer.address();
    if let Some((zero_copied, under_way)) = zero_copy.map(|mut zero_copy| zero_copy.counted()) {
        stream.zero_copy = Some(zero_copied);
        if under_way {
            // The kernel still sends from it: what comes to lie there next would go in its place.
            std::mem::forget(buffer);
        }
    }
    Moved { stream, way, buffer_address }
}

fn take<T: Timing>(plan: &TransferPlan, around: Around<'_>, number: usize, end: &End) -> Moved {
    let (mut moved, ended) = taken::<T>(plan, around, number, end);
    if let Err(broken) = ended {
        moved.stream.end = broken.after(moved.stream.bytes).end();
    }
    moved
}

/// Takes all of a stream, to its end or until it breaks off.
pub(super) fn taken<T: Timing>(
    plan: &TransferPlan,
    around: Around<'_>,
    number: usize,
    end: &End,
) -> (Moved, Result<(), Broken>) {
    let socket = end.socket.as_fd();
    let mut buffer = Buffer::new(plan);
    let mut meter = Meter::<T>::start(around.live, number, end);
    let way = way_in(plan, around);
    let received = closing::guard(socket).and_then(|()| {
        if let Some(service) = plan.serve {
            let most = Duration::from_nanos(service.timeout_ns);
            endpoint::set_receive_limit(socket, most).map_err(Broken::Network)?;
        }
        if plan.checksum {
            return checksum::receive(plan, around, socket, buffer.bytes_mut(), &mut meter).map(Some);
        }
        receive_by(way, plan, around, socket, buffer.bytes_mut(), &mut meter).map(|()| None)
    });
    let mut stream = meter.stop(0);
    stream.tcp = tcp_info::read(socket).ok().map(|info| state(&info));
    let ended = received.and_then(|sum| closing::release(socket).map(|()| sum));
    let ended = ended.map(|checksum| stream.checksum = checksum);
    stream.waits = meter.waits();
    stream.zero_copy = by_way(plan, way, end.peer, &stream);
    (Moved { stream, way, buffer_address: buffer.address() }, ended)
}

/// Bytes of one call that has no buffer.
pub(super) fn at_once(plan: &TransferPlan) -> usize {
    if plan.buffer_named { plan.buffer_bytes as usize } else { LARGE }
}

/// Repeats a call that moves bytes until there are no more.
#[inline]
pub(super) fn pump<T: Timing>(
    around: Around<'_>,
    meter: &mut Meter<'_, T>,
    broken: impl Fn(io::Error) -> Broken,
    mut call: impl FnMut(&mut T) -> io::Result<usize>,
) -> Result<(), Broken> {
    loop {
        around.unless_stopped()?;
        match call(&mut meter.timing) {
            Ok(0) => return Ok(()),
            Ok(bytes) => meter.moved(bytes),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(broken(e)),
        }
    }
}

/// A descriptor as a file that is not closed with it.
pub(super) fn file(fd: BorrowedFd<'_>) -> io::Result<File> {
    fd.try_clone_to_owned().map(File::from)
}

/// Like [`write_all`] it ends when the user wants it to; 0 bytes at the end of the input.
pub(super) fn read(around: Around<'_>, input: &mut File, buffer: &mut [u8]) -> Result<usize, Broken> {
    loop {
        around.unless_stopped()?;
        match input.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome.map_err(Broken::Input),
        }
    }
}

/// Unlike that of the standard library it ends when the user wants it to.
pub(super) fn write_all(around: Around<'_>, output: &mut File, mut bytes: &[u8]) -> Result<(), Broken> {
    while !bytes.is_empty() {
        around.unless_stopped()?;
        match output.write(bytes) {
            Ok(0) => return Err(Broken::Output(ErrorKind::WriteZero.into())),
            Ok(written) => bytes = &bytes[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Broken::Output(e)),
        }
    }
    Ok(())
}
