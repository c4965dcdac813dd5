//! System calls of the ends, counted by the kernel in trials of their own: counting takes time.

use netfathom_bpf::calls::{CallCount, Calls, ENDS};
use netfathom_model::layer::Side;
use netfathom_model::plan::MessagePlan;
use netfathom_model::record::{CallCount as Named, Counted};
use netfathom_sys::cpu::thread_id;

use super::driver;
use super::end::End;
use super::order::Cell;
use super::shot::Shot;
use crate::load::contention::Contention;

/// What tells the kernel to stop counting is a call itself. Of a client that writes frames by such calls they
/// are counted all the same: it is one too many for all its messages.
const OURS: &str = "bpf";
/// How the ends wait for each other, and a client for its time, and how that is known to be no cost of
/// the message; no layer makes such calls.
const WAITING: [&str; 2] = ["clock_nanosleep", "clock_gettime"];

/// What sees a trial that is not timed.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    pub calls: &'a Calls,
    pub contention: Option<&'a Contention>,
}

/// The threads of an end, while their calls are counted.
pub struct Followed<'a> {
    calls: &'a Calls,
    /// The calling thread is the last one.
    threads: Vec<u32>,
}

impl<'a> Followed<'a> {
    /// Counts those of the calling thread and of its end's own ones.
    pub fn begin(calls: &'a Calls, end: &dyn End, side: Side) -> Self {
        let followed = |&thread: &u32| calls.follow(thread, side as usize).is_ok();
        let threads = end.threads().into_iter().flatten().chain([thread_id()]).filter(followed).collect();
        Self { calls, threads }
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        for &thread in self.threads.iter().rev() {
            // It is followed.
            let _ = self.calls.let_go(thread);
        }
    }
}

/// System calls of each end, by name.
pub type Called = [Vec<(String, u64)>; ENDS];

/// What was added since.
pub fn since(now: &[Vec<CallCount>; ENDS], then: &[Vec<CallCount>; ENDS]) -> Called {
    std::array::from_fn(|end| {
        let before = |number| then[end].iter().find(|c| c.number == number).map_or(0, |c| c.count);
        let name = |c: &CallCount| c.name().map_or_else(|| format!("number {}", c.number), Into::into);
        let added = now[end].iter().map(|c| (name(c), c.count - before(c.number)));
        added.filter(|(_, count)| *count > 0).collect()
    })
}

/// Calls a message, as a record has them.
pub fn per_message(plan: &MessagePlan, cell: &Cell, shot: &Shot) -> Counted {
    let calls = match &shot.calls {
        Ok(calls) => calls,
        Err(why) => return Counted::Not(why.clone()),
    };
    let ends = [Side::Client, Side::Server];
    let writes_frames = driver::writes_frames(plan.test, cell);
    let named = ends.into_iter().zip(calls).flat_map(|(end, calls)| {
        calls.iter().filter_map(move |(name, count)| {
            let own = if end == Side::Client { &shot.client } else { &shot.server };
            let per_message = *count as f64 / own.messages.max(1) as f64;
            let ours =
                WAITING.contains(&name.as_str()) || name == OURS && !(writes_frames && end == Side::Client);
            (!ours).then(|| Named { end, name: name.clone(), per_message })
        })
    });
    let mut named: Vec<Named> = named.collect();
    named.sort_by(|a, b| a.end.cmp(&b.end).then(b.per_message.total_cmp(&a.per_message)));
    Counted::Calls(named)
}
