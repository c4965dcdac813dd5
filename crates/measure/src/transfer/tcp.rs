//! A stream over TCP: one system call a buffer, and no copy of ours where the kernel can do
//! without. The loops are in `outgoing` and `incoming`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::{Checksum, TransferEnd, TransferResult, TransferStream, Way};
use netfathom_sys::tcp_info;

use super::account::{Meter, state};
use super::ends::{self, End, Event};
use super::incoming::{receive_by, way_in};
use super::outgoing::{send_input, send_made_up, way_out};
use super::{Around, Broken, Buffer, TransferError, checksum, closing};

/// What one call moves where there is no buffer that could be too small; also the largest pipe
/// that an ordinary user may have (`fs.pipe-max-size`).
pub(super) const LARGE: usize = 1 << 20;

/// Connects and sends.
pub(super) fn transmit(
    plan: &TransferPlan,
    around: Around<'_>,
    mut buffer: Buffer,
    tell: &mut dyn FnMut(Event),
) -> Result<TransferResult, TransferError> {
    let (end, peer) = ends::connect(plan, around, tell)?;
    let socket = end.socket.as_fd();
    let mut meter = Meter::start(around.live);
    let mut way = Way::Copied;
    let sent = closing::guard(socket).and_then(|()| {
        if plan.checksum {
            return checksum::send(plan, around, socket, buffer.bytes_mut(), &mut meter).map(Some);
        }
        if plan.made_up {
            send_made_up(plan, around, socket, buffer.bytes(), &mut meter)?;
        } else {
            way = way_out(around);
            send_input(plan, around, socket, buffer.bytes_mut(), &mut meter, &mut way)?;
        }
        Ok(None)
    });
    let mut stream = meter.stop(0);
    let closed = sent.and_then(|trailer| {
        let (how, said) = closing::end(socket, Duration::from_nanos(plan.idle_ns), around)?;
        stream.closed_ns = Some(meter.elapsed_ns());
        let checksum = trailer.map(|sent| checksum::answered(&sent, &said)).transpose()?;
        Ok((how, checksum))
    });
    stream.tcp = tcp_info::read(socket).ok().map(|info| state(&info));
    let ended = closed.and_then(|ended| closing::release(socket).map(|()| ended));
    Ok(result(plan, &end, peer.to_string(), buffer.address(), way, ended, stream))
}

/// Waits for a sender and receives until it ends.
pub(super) fn receive(
    plan: &TransferPlan,
    around: Around<'_>,
    mut buffer: Buffer,
    tell: &mut dyn FnMut(Event),
) -> Result<TransferResult, TransferError> {
    let (end, peer) = ends::accept(ends::listen(plan, tell)?, around, tell)?;
    let socket = end.socket.as_fd();
    let mut meter = Meter::start(around.live);
    let mut way = way_in(plan, around);
    let received = closing::guard(socket).and_then(|()| {
        if plan.checksum {
            return checksum::receive(plan, around, socket, buffer.bytes_mut(), &mut meter).map(Some);
        }
        receive_by(&mut way, plan, around, socket, buffer.bytes_mut(), &mut meter).map(|()| None)
    });
    let mut stream = meter.stop(0);
    stream.tcp = tcp_info::read(socket).ok().map(|info| state(&info));
    let ended = received.and_then(|sum| closing::release(socket).map(|()| (TransferEnd::Whole, sum)));
    Ok(result(plan, &end, peer.to_string(), buffer.address(), way, ended, stream))
}

fn result(
    plan: &TransferPlan,
    end: &End,
    peer: String,
    buffer_address: u64,
    way: Way,
    ended: Result<(TransferEnd, Option<Checksum>), Broken>,
    stream: TransferStream,
) -> TransferResult {
    let (how, checksum) = ended.unwrap_or_else(|broken| (broken.end(), None));
    TransferResult {
        plan: plan.clone(),
        local: end.local.to_string(),
        peer: Some(peer),
        buffer_address,
        granted_buffer_bytes: end.granted_bytes,
        way,
        end: how,
        checksum,
        streams: vec![stream],
    }
}

/// Bytes of one call that has no buffer.
pub(super) fn at_once(plan: &TransferPlan) -> usize {
    if plan.buffer_named { plan.buffer_bytes as usize } else { LARGE }
}

/// Repeats a call that moves bytes until there are no more.
#[inline]
pub(super) fn pump(
    around: Around<'_>,
    meter: &mut Meter<'_>,
    broken: impl Fn(io::Error) -> Broken,
    mut call: impl FnMut() -> io::Result<usize>,
) -> Result<(), Broken> {
    loop {
        if around.stopped() {
            return Err(Broken::Interrupted);
        }
        match call() {
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

/// Unlike that of the standard library it ends when the user wants it to.
pub(super) fn write_all(around: Around<'_>, output: &mut File, mut bytes: &[u8]) -> Result<(), Broken> {
    while !bytes.is_empty() {
        if around.stopped() {
            return Err(Broken::Interrupted);
        }
        match output.write(bytes) {
            Ok(0) => return Err(Broken::Output(ErrorKind::WriteZero.into())),
            Ok(written) => bytes = &bytes[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Broken::Output(e)),
        }
    }
    Ok(())
}
