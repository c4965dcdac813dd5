//! Whether the time of a thread holds that of the soft interrupts on top of it.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use netfathom_sys::cpu::{context_switches, thread_id, thread_time_ns};

use super::{Softirq, SoftirqError};

/// Long enough for some hundred soft interrupts, short enough to be seldom interrupted otherwise.
const WINDOW: Duration = Duration::from_millis(2);
const WINDOWS: usize = 15;
/// On a busy machine not every window is without a switch to another thread.
const MOST_TRIES: usize = 200;

/// Whether this kernel takes the time of soft interrupts from that of the thread they run on
/// top of: `Some(false)` where the time of a thread (CLOCK_THREAD_CPUTIME_ID) holds it, as
/// without CONFIG_IRQ_TIME_ACCOUNTING; `Some(true)` where it is counted for no task, but for
/// ksoftirqd. `None` where it could not be found out.
///
/// A kernel that was built to do so may still not do it (its clock is too slow, or
/// `tsc=noirqtime`), so it is tried out there: this then sends datagrams to itself over the
/// loopback device for some 30 ms. Needs what [`Softirq::attach`] does.
pub fn accounting_splits_softirq() -> Option<bool> {
    // A structure that exists only with CONFIG_IRQ_TIME_ACCOUNTING, since Linux 4.9.
    if Btf::from_vmlinux().ok()?.type_by_name::<Struct<'_>>("irqtime").is_none() {
        return Some(false);
    }
    tried_out().ok().flatten()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub passed_ns: u64,
    /// By the account of the thread, which ran all the time.
    pub charged_ns: u64,
    /// In soft interrupts on top of it.
    pub softirq_ns: u64,
}

/// Holds both accounts of a thread that never stops against each other.
pub(super) fn tried_out() -> Result<Option<bool>, SoftirqError> {
    let Ok(socket) = to_itself() else { return Ok(None) };
    let softirq = Softirq::attach_to_thread(thread_id())?;
    let mut windows = Vec::new();
    for _ in 0..MOST_TRIES {
        let before = softirq.read()?;
        let Some((passed_ns, charged_ns)) = send_for_a_while(&socket) else { continue };
        let softirq_ns = softirq.read()?.since(&before).own_ns;
        windows.push(Window { passed_ns, charged_ns, softirq_ns });
        if windows.len() == WINDOWS {
            return Ok(judged(&windows));
        }
    }
    Ok(None)
}

/// Whether about as much is missing from the thread's account as soft interrupts took, in most
/// windows: in some another machine may have had the processor.
pub(super) fn judged(windows: &[Window]) -> Option<bool> {
    // Where they took next to nothing, nothing follows from it.
    let telling: Vec<_> = windows.iter().filter(|w| w.softirq_ns > w.passed_ns / 20).collect();
    let missing = |w: &&&Window| w.passed_ns.saturating_sub(w.charged_ns) > w.softirq_ns / 2;
    let split = telling.iter().filter(missing).count();
    (telling.len() * 2 > windows.len()).then(|| split * 2 > telling.len())
}

/// A socket without a reader: a datagram that finds its buffer full takes its soft interrupt as well.
fn to_itself() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    Ok(socket)
}

/// How long it took by the clock and by the thread's account; `None` if it did not run all the time.
fn send_for_a_while(socket: &UdpSocket) -> Option<(u64, u64)> {
    let (switches, start, charged) = (context_switches(), Instant::now(), thread_time_ns());
    while start.elapsed() < WINDOW {
        socket.send(&[0; 64]).ok()?;
    }
    let (charged, passed) = (thread_time_ns() - charged, start.elapsed());
    let undisturbed = context_switches() == switches;
    undisturbed.then_some((u64::try_from(passed.as_nanos()).ok()?, charged))
}
