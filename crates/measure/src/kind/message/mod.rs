//! `netfathom message`: a message layer beside bare sockets, in the same run.
//!
//! [`run`] is the map: `order` has the cells and their turns, `ground` the two hosts and their
//! connections, `kernel` and `driver` the ends that are in the kernel, `shot` makes one trial of a cell out of two `end`s and a test (`oneway`, `pingpong`,
//! `post`), `cells` puts the trials together, `precision` says when they are enough, `judge` what they are worth, `stalls`
//! recognizes what keeps messages waiting, and `remedies` measures what helps.
//!
//! `task` is what two ends share: the client says how many messages there will have been before it sends the last one, so that
//! both ends read their `costs` before anything is closed. `kernel` gives a connected socket to a program; the end that
//! made the connection sends the first message, if any. `driver` puts an end into the driver of the lab's device, for UDP.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_bpf::calls::Calls;
use netfathom_model::plan::MessagePlan;
use netfathom_model::record::{self, Counted, MessageResult, ProcessorPair};

use crate::ground::environment;
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};

mod calls;
mod cells;
mod costs;
mod driver;
mod end;
mod error;
mod far;
#[cfg(test)]
mod fixture;
mod ground;
mod judge;
mod kernel;
mod meeting;
mod oneway;
mod order;
mod pace;
mod pairs;
mod pingpong;
mod post;
mod precision;
mod remedies;
mod samples;
pub mod serve;
mod shot;
mod stalls;
mod task;

pub use error::MessageError;

use crate::load::contention::Contention;
use calls::Watched;
use far::Far;
use ground::Ground;
use order::{Cell, Order, Refusals};
use shot::Shot;

/// A killed run loses no more than this, one with a fixed number of trials no more than a round.
const KEEP: Duration = Duration::from_secs(5);

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &MessagePlan,
    observer: &mut impl Observer<MessageResult>,
    stop: &AtomicBool,
) -> Result<Progressed<MessageResult>, RunError> {
    let started = Instant::now();
    let ground = Ground::build(plan, stop)?;
    let server = ground.far().and_then(Far::server);
    let pairs = match &server {
        Some((host, cpu)) => vec![pairs::between(plan, host, *cpu)?],
        None => pairs::choose(plan)?,
    };
    let environment = environment::read(Vec::new(), ground.devices(plan.place), ground.lab());
    let refusals = Refusals { socket: kernel::refusal(plan), driver: driver::refusal(plan, &ground) };
    let order = Order::of(plan, pairs.len(), &refusals);
    let (cells, absent) = (order.cells(), order::absent(plan, &refusals));
    if let (0, Some(cell)) = (cells, absent.first()) {
        return Err(MessageError::Nothing(cell.why.clone()).into());
    }
    let server = server.map(|(host, _)| host);
    let result = MessageResult { pairs, absent, server, ..MessageResult::empty(plan.clone()) };
    let mut p = Progressed::new(environment, result);
    let planned = if plan.until.is_some() { 0 } else { plan.trials as usize * cells };
    let all = if planned > 0 { planned + cells } else { 0 };
    let mut steps = Steps { observer, done: 0, all, planned, started, kept: Instant::now() };
    steps.keep(&mut p)?;
    let around = Around { ground: &ground, stop };
    let measured = take_rounds(plan, order, around, &mut steps, &mut p)
        .and_then(|()| remedies::measure(plan, around, &mut steps, &mut p));
    if measured.is_err() && !p.result.cells.is_empty() {
        // Finished cells are kept; an empty result is not.
        steps.keep(&mut p)?;
    }
    steps.conclude(&mut p);
    measured.map(|()| p)
}

#[derive(Clone, Copy)]
struct Around<'a> {
    ground: &'a Ground,
    stop: &'a AtomicBool,
}

impl Around<'_> {
    fn shot(
        self,
        plan: &MessagePlan,
        cell: &Cell,
        pairs: &[ProcessorPair],
        watched: Option<Watched<'_>>,
    ) -> Result<Option<Shot>, MessageError> {
        if self.stop.load(Relaxed) {
            return Ok(None);
        }
        shot::make(plan, cell, pairs[cell.pair], self, watched)
    }
}

/// Those who watch, and how far it is.
struct Steps<'a, O> {
    observer: &'a mut O,
    done: usize,
    /// 0 where the number of trials is not fixed; so is the next one.
    all: usize,
    planned: usize,
    started: Instant,
    /// When the record was last written.
    kept: Instant,
}

impl<O: Observer<MessageResult>> Steps<'_, O> {
    /// A trial begins, such as `trial 5/90: write+nodelay, 64 bytes, UU`.
    fn begins(&mut self, what: &str, cell: &Cell) {
        self.done += 1;
        let Cell { layer, bytes, placement, .. } = cell;
        let number = self.done;
        let of = if self.all > 0 { self.all.max(number) } else { 0 };
        let of_all = if of > 0 { format!("/{of}") } else { String::new() };
        let name = format!("{what} {number}{of_all}: {layer}, {bytes} bytes, {}", placement.name());
        self.observer.begins(Step { name, number, of }, &Arc::new(Live::default()));
    }

    fn keep(&mut self, p: &mut Progressed<MessageResult>) -> Result<(), RunError> {
        self.conclude(p);
        self.kept = Instant::now();
        Ok(self.observer.keep(p)?)
    }

    fn conclude(&self, p: &mut Progressed<MessageResult>) {
        judge::conclude(p, self.planned, self.started.elapsed().as_nanos() as u64);
    }
}

/// The rounds, until there are as many as planned or the answer is narrow.
fn take_rounds<O: Observer<MessageResult>>(
    plan: &MessagePlan,
    order: Order,
    around: Around<'_>,
    steps: &mut Steps<'_, O>,
    p: &mut Progressed<MessageResult>,
) -> Result<(), RunError> {
    let mut contention = Contention::begin().map(Contention::rested);
    let most = if plan.until.is_some() { usize::MAX } else { plan.trials as usize };
    let (mut index, mut observed) = (0, 0);
    for (round, turns) in order.take(most).enumerate() {
        for cell in turns {
            steps.begins("trial", &cell);
            let Some(shot) = around.shot(plan, &cell, &p.result.pairs, None)? else { return Ok(()) };
            cells::add(&mut p.result, &cell, index, round as u32, shot);
            index += 1;
            // Not after each of hundreds of short trials: writing takes a processor.
            if steps.kept.elapsed() > KEEP {
                steps.keep(p)?;
            }
        }
        steps.conclude(p);
        let ends = precision::ends(&mut p.result, round + 1);
        let cells = p.result.cells.len();
        let rounds = if ends { round + 1 } else { plan.trials as usize };
        let due = (cells * (round + 1)).div_ceil(rounds).min(cells);
        observe(plan, observed..due, &mut contention, around, steps, p);
        observed = due;
        // A run until its answer is narrow may have thousands of rounds.
        if ends || plan.until.is_none() {
            steps.keep(p)?;
        }
        if ends {
            break;
        }
    }
    Ok(())
}

/// One more trial of some cells after each round, of every cell one in the whole run, in which its system calls are counted
/// and it is seen who has its processors: both take time.
fn observe<O: Observer<MessageResult>>(
    plan: &MessagePlan,
    places: Range<usize>,
    contention: &mut Option<Contention>,
    around: Around<'_>,
    steps: &mut Steps<'_, O>,
    p: &mut Progressed<MessageResult>,
) {
    if places.is_empty() {
        return;
    }
    let calls = Calls::attach();
    for at in places {
        let calls = match &calls {
            Ok(calls) => calls,
            Err(error) => {
                p.result.cells[at].calls = Counted::Not(error.to_string());
                continue;
            }
        };
        let cell = cells::key(&p.result.cells[at]);
        steps.begins("counting calls", &cell);
        *contention = contention.take().and_then(Contention::again);
        let watched = Watched { calls, contention: contention.as_ref() };
        p.result.cells[at].calls = match around.shot(plan, &cell, &p.result.pairs, Some(watched)) {
            Ok(Some(shot)) => {
                let seen = p.result.contention.iter().chain(&shot.contention);
                p.result.contention = record::Contention::pooled(seen);
                calls::per_message(plan, &cell, &shot)
            }
            Ok(None) => break,
            Err(error) => Counted::Not(error.to_string()),
        };
    }
    *contention = contention.take().map(Contention::rested);
}
