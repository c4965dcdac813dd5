//! A thread that looks at the streams while they run: TCP_INFO and the queues of the command's own sockets.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, Builder, Scope, Thread};
use std::time::Duration;

use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_model::record::TransferSample;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::endpoint;
use netfathom_sys::tcp_info::{self, Congestion};

use super::live::LiveStream;
use super::{Around, TransferError};

/// Without a stream there is nothing to look at; the start of one wakes the thread.
const NOTHING_TO_DO: Duration = Duration::from_secs(60);
/// A stream's lane is there a moment before its clock.
const SOON_NS: u64 = 100_000;

/// How far a stream, or all together, came in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number; `None` for all together, where there are several.
    pub stream: Option<usize>,
    /// Where the interval began, since the first stream did.
    pub from_ns: u64,
    pub to_ns: u64,
    pub bytes: u64,
    pub retransmits: u32,
    /// At its end the smoothed round trip; `None` of UDP, and of all together.
    pub rtt_us: Option<u32>,
    /// At its end the congestion window, in segments; `None` likewise.
    pub cwnd: Option<u32>,
}

/// Looks until it is dropped.
pub(super) struct Watch {
    ended: Arc<AtomicBool>,
    thread: Thread,
}

impl Watch {
    /// `None` where the plan does not want it.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        plan: &'scope TransferPlan,
        around: Around<'scope>,
    ) -> Result<Option<Self>, TransferError> {
        if !plan.explain && plan.interval_ns.is_none() {
            return Ok(None);
        }
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let watch = move || {
            Watcher { plan, around, reported_ns: 0, reported_bytes: 0, known: Vec::new() }.run(&until)
        };
        let thread = Builder::new().name("watch".into()).spawn_scoped(scope, watch);
        let thread = thread.map_err(TransferError::NoThread)?.thread().clone();
        Ok(Some(Self { ended, thread }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        self.thread.unpark();
    }
}

struct Watcher<'a> {
    plan: &'a TransferPlan,
    around: Around<'a>,
    /// Up to when progress was reported, since the first stream began.
    reported_ns: u64,
    /// What had gone by then, of a service.
    reported_bytes: u64,
    /// Streams that were reported, or will be.
    known: Vec<Known>,
}

/// A stream, and its state at the last report.
struct Known {
    lane: Arc<LiveStream>,
    /// The last look that worked: its socket may be gone.
    last: TransferSample,
    reported: TransferSample,
}

impl Watcher<'_> {
    fn run(mut self, ended: &AtomicBool) {
        self.around.live.watched();
        while !ended.load(Relaxed) {
            let wait = self.look();
            thread::park_timeout(wait);
        }
        // What went since the last interval, unless that is next to nothing of one.
        let started_ns = self.around.live.started_ns();
        let Some(interval_ns) = self.plan.interval_ns else { return };
        let to_ns = monotonic_ns().saturating_sub(started_ns);
        if started_ns > 0
            && !self.waits_for_a_sender()
            && to_ns.saturating_sub(self.reported_ns) > interval_ns / 10
        {
            self.tell(to_ns);
        }
    }

    /// Looks where it is due; how long to wait then.
    fn look(&mut self) -> Duration {
        let started_ns = self.around.live.started_ns();
        let lanes = self.around.live.lanes();
        if self.plan.serve.is_some() {
            return self.look_at_service(started_ns, lanes.is_empty());
        }
        if lanes.is_empty() {
            return NOTHING_TO_DO;
        }
        if started_ns == 0 {
            return Duration::from_nanos(SOON_NS);
        }
        if self.waits_for_a_sender() {
            return Duration::from_nanos(self.plan.interval_ns.unwrap_or(SOON_NS));
        }
        let mut due_ns = u64::MAX;
        for lane in &lanes {
            let now_ns = monotonic_ns();
            if lane.seen.lock().due_ns <= now_ns {
                let sample = sample(lane, self.plan.role, now_ns.saturating_sub(started_ns));
                match sample {
                    Some(sample) => lane.seen.lock().keep(sample, now_ns),
                    None => lane.seen.lock().skip(now_ns),
                }
            }
            due_ns = due_ns.min(lane.seen.lock().due_ns);
        }
        if let Some(interval_ns) = self.plan.interval_ns {
            self.know(lanes);
            let now_ns = monotonic_ns().saturating_sub(started_ns);
            if now_ns / interval_ns > self.reported_ns / interval_ns {
                // As long as it was, which is a little more where this thread had to wait.
                self.tell(now_ns);
            }
            due_ns = due_ns.min(started_ns + (self.reported_ns / interval_ns + 1) * interval_ns);
        }
        Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()))
    }

    /// A service has any number of streams, and keeps no looks at them: it reports their sum, while there are any.
    fn look_at_service(&mut self, started_ns: u64, is_empty: bool) -> Duration {
        let interval_ns = self.plan.interval_ns.unwrap_or(u64::MAX);
        let now_ns = monotonic_ns().saturating_sub(started_ns);
        let bytes = self.around.live.bytes();
        if started_ns > 0 && now_ns / interval_ns > self.reported_ns / interval_ns {
            if !is_empty || bytes > self.reported_bytes {
                self.tell(now_ns);
            }
            (self.reported_ns, self.reported_bytes) = (now_ns, bytes);
        }
        Duration::from_nanos(interval_ns - now_ns % interval_ns)
    }

    /// A receiver of UDP has its stream before anybody sends, and its clock begins anew with the
    /// data: intervals of the old clock would stand before the new one's.
    fn waits_for_a_sender(&self) -> bool {
        let hears = self.plan.role == Role::Receive && self.plan.protocol == Transport::Udp;
        hears && self.around.live.bytes() == 0
    }

    fn know(&mut self, lanes: Vec<Arc<LiveStream>>) {
        for lane in lanes {
            if !self.known.iter().any(|known| Arc::ptr_eq(&known.lane, &lane)) {
                let nothing = TransferSample::default();
                self.known.push(Known { lane, last: nothing, reported: nothing });
            }
        }
    }

    /// Reports how far each stream came since the last report.
    fn tell(&mut self, to_ns: u64) {
        let from_ns = self.reported_ns;
        self.reported_ns = to_ns;
        let mut sum =
            Step { stream: None, from_ns, to_ns, bytes: 0, retransmits: 0, rtt_us: None, cwnd: None };
        let several = self.known.len() > 1;
        for known in &mut self.known {
            known.look(self.plan.role, to_ns);
            let step = known.step(from_ns, to_ns);
            sum.bytes += step.bytes;
            sum.retransmits += step.retransmits;
            self.around.tell(super::TransferEvent::Interval(step));
        }
        if self.plan.serve.is_some() {
            sum.bytes = self.around.live.bytes().saturating_sub(self.reported_bytes);
        }
        if several || self.plan.serve.is_some() {
            self.around.tell(super::TransferEvent::Interval(sum));
        }
        // Those that are over have been reported in full.
        self.known.retain(|known| known.lane.socket.strong_count() > 0);
    }
}

impl Known {
    fn look(&mut self, role: Role, at_ns: u64) {
        match sample(&self.lane, role, at_ns) {
            Some(sample) => self.last = sample,
            None => {
                (self.last.at_ns, self.last.bytes) = (at_ns, self.lane.bytes.load(Relaxed));
            }
        }
    }

    fn step(&mut self, from_ns: u64, to_ns: u64) -> Step {
        let (last, before) = (self.last, self.reported);
        self.reported = last;
        let of_tcp = last.cwnd > 0;
        Step {
            stream: Some(self.lane.stream),
            from_ns,
            to_ns,
            // Less where a stream of UDP began anew.
            bytes: last.bytes.checked_sub(before.bytes).unwrap_or(last.bytes),
            retransmits: last.retransmits.saturating_sub(before.retransmits),
            rtt_us: of_tcp.then_some(last.rtt_us),
            cwnd: of_tcp.then_some(last.cwnd),
        }
    }
}

/// One look at a stream; `None` once its socket is gone.
fn sample(lane: &LiveStream, role: Role, at_ns: u64) -> Option<TransferSample> {
    let socket = lane.socket.upgrade()?;
    let (bytes, calls) = (lane.bytes.load(Relaxed), lane.calls.load(Relaxed));
    let socket = socket.as_fd();
    let queued = match role {
        Role::Transmit => endpoint::queued_out(socket),
        Role::Receive => endpoint::queued_in(socket),
    };
    let queued_bytes = queued.unwrap_or(0);
    let mut sample = TransferSample { at_ns, bytes, calls, queued_bytes, ..TransferSample::default() };
    of_tcp(&mut sample, role, socket);
    Some(sample)
}

fn of_tcp(sample: &mut TransferSample, role: Role, socket: BorrowedFd<'_>) {
    let Ok(info) = tcp_info::read(socket) else { return };
    sample.unsent_bytes = info.unsent_bytes.unwrap_or(0);
    sample.in_flight = info.unacknowledged;
    sample.retransmits = info.retransmits;
    // A receiver sends nothing that would be acknowledged.
    let of_receiver = info.receiver_rtt_us.filter(|_| role == Role::Receive);
    sample.rtt_us = of_receiver.unwrap_or(info.rtt_us);
    sample.cwnd = info.cwnd;
    sample.peer_window_bytes = info.peer_window_bytes.unwrap_or(0);
    sample.window_bytes = info.window_bytes.unwrap_or(0);
    sample.recovering = matches!(info.congestion, Congestion::Recovery | Congestion::Loss);
    let limits = info.limits;
    sample.busy_us = limits.map_or(0, |l| l.busy_us);
    sample.window_limited_us = limits.map_or(0, |l| l.window_us);
    sample.buffer_limited_us = limits.map_or(0, |l| l.buffer_us);
}
