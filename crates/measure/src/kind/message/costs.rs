//! What an end takes: processor time, switches, segments.

use std::os::fd::AsFd;

use netfathom_model::record::EndCost;
use netfathom_sys::cpu::{ThreadUsage, thread_id, thread_usage};
use netfathom_sys::tcp_info;

use super::end::End;
use super::ground::Socket;

/// Readings of an end at the beginning of a trial.
pub struct Meter<'a> {
    socket: &'a Socket,
    /// `None` where it is not known which threads there are, or of one what it took.
    threads: Option<Vec<(u32, ThreadUsage)>>,
    segments: Option<u32>,
}

impl<'a> Meter<'a> {
    /// Reads what the calling thread and those of its end took so far.
    pub fn start(end: &dyn End, socket: &'a Socket) -> Self {
        let usage = |thread| Some((thread, thread_usage(thread).ok()?));
        let threads = end.threads().and_then(|own| own.into_iter().chain([thread_id()]).map(usage).collect());
        Self { socket, threads, segments: segments(socket) }
    }

    /// What the threads took since; they are still there.
    pub fn stop(&self) -> EndCost {
        let Some(threads) = &self.threads else { return EndCost::default() };
        let mut cost = EndCost {
            cpu_ns: Some(0),
            waits: Some(0),
            preemptions: Some(0),
            run_delay_ns: Some(0),
            segments: None,
        };
        for (thread, before) in threads {
            let now = thread_usage(*thread).ok();
            let gained = |of: fn(&ThreadUsage) -> Option<u64>| of(now.as_ref()?)?.checked_sub(of(before)?);
            // Without one of its threads an end's sum would be a number that looks fine.
            let add = |sum: Option<u64>, of| sum.zip(gained(of)).map(|(a, b)| a + b);
            cost.cpu_ns = add(cost.cpu_ns, |u| Some(u.cpu_ns));
            cost.waits = add(cost.waits, |u| Some(u.waits));
            cost.preemptions = add(cost.preemptions, |u| Some(u.preemptions));
            cost.run_delay_ns = add(cost.run_delay_ns, |u| u.run_delay_ns);
        }
        cost
    }

    /// Segments that its socket has sent since.
    pub fn segments(&self) -> Option<u64> {
        segments(self.socket).zip(self.segments).map(|(now, then)| (now - then).into())
    }
}

/// Segments that a socket of TCP has sent.
fn segments(socket: &Socket) -> Option<u32> {
    tcp_info::read(socket.as_fd()).ok()?.segments_out
}
