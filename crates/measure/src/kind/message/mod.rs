//! `netfathom message`: a message layer beside bare sockets, in the same run.
//!
//! [`run`] is the map: `order` has the cells and their turns, `ground` the two hosts and their
//! connections, `kernel` and `driver` the ends that are in the kernel, `shot` makes one trial of a cell out of two `end`s and a test (`oneway`, `pingpong`,
//! `post`), `cells` puts the trials together, `judge` says what they are worth, `stalls` recognises
//! what keeps messages waiting, and `remedies` measures what helps.
//!
//! `task` is what two ends share: the client says how many messages there will have been before it sends the last one, so that
//! both ends read their `costs` before anything is closed. `kernel` gives a connected socket to a program; the end that
//! made the connection sends the first message, if any. `driver` puts an end into the driver of the lab's device, for UDP.

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
use order::{Cell, Refusals, Turn};
use shot::Shot;

/// A killed run loses no more than this, or a round if that is shorter.
const KEEP: Duration = Duration::from_secs(5);

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &MessagePlan,
    observer: &mut impl Observer<MessageResult>,
    stop: &AtomicBool,
) -> Result<Progressed<MessageResult>, RunError> {
    let ground = Ground::build(plan, stop)?;
    let server = ground.far().and_then(Far::server);
    let pairs = match &server {
        Some((host, cpu)) => vec![pairs::between(plan, host, *cpu)?],
        None => pairs::choose(plan)?,
    };
    let environment = environment::read(Vec::new(), ground.devices(plan.place), ground.lab());
    let refusals = Refusals { socket: kernel::refusal(plan), driver: driver::refusal(plan, &ground) };
    let (turns, absent) = order::of(plan, &pairs, &refusals);
    if let (true, Some(cell)) = (turns.is_empty(), absent.first()) {
        return Err(MessageError::Nothing(cell.why.clone()).into());
    }
    let result = MessageResult {
        plan: plan.clone(),
        pairs,
        cells: Vec::new(),
        absent,
        remedies: Vec::new(),
        contention: Vec::new(),
        server: server.map(|(host, _)| host),
    };
    let mut p = Progressed::new(environment, result);
    let mut steps = Steps {
        observer,
        done: 0,
        all: turns.len() + order::cells(&turns),
        planned: turns.len(),
        kept: Instant::now(),
    };
    steps.keep(&mut p)?;
    let around = Around { ground: &ground, stop };
    let measured = take_turns(plan, &turns, around, &mut steps, &mut p)
        .and_then(|()| remedies::measure(plan, around, &mut steps, &mut p));
    if measured.is_err() && !p.result.cells.is_empty() {
        // Finished cells are kept; an empty result is not.
        steps.keep(&mut p)?;
    }
    judge::conclude(&mut p, steps.planned);
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
    all: usize,
    planned: usize,
    /// When the record was last written.
    kept: Instant,
}

impl<O: Observer<MessageResult>> Steps<'_, O> {
    /// A trial begins, such as `trial 5/90: write+nodelay, 64 bytes, UU`.
    fn begins(&mut self, what: &str, cell: &Cell) {
        self.done += 1;
        let Cell { layer, bytes, placement, .. } = cell;
        let (number, of) = (self.done, self.all.max(self.done));
        let name = format!("{what} {number}/{of}: {layer}, {bytes} bytes, {}", placement.name());
        self.observer.begins(Step { name, number, of }, &Arc::new(Live::default()));
    }

    fn keep(&mut self, p: &mut Progressed<MessageResult>) -> Result<(), RunError> {
        judge::conclude(p, self.planned);
        self.kept = Instant::now();
        Ok(self.observer.keep(p)?)
    }
}

fn take_turns<O: Observer<MessageResult>>(
    plan: &MessagePlan,
    turns: &[Turn],
    around: Around<'_>,
    steps: &mut Steps<'_, O>,
    p: &mut Progressed<MessageResult>,
) -> Result<(), RunError> {
    let mut contention = Contention::begin().map(Contention::rested);
    for (index, turn) in turns.iter().enumerate() {
        steps.begins("trial", &turn.cell);
        let Some(shot) = around.shot(plan, &turn.cell, &p.result.pairs, None)? else { break };
        cells::add(&mut p.result, &turn.cell, index as u32, turn.round, shot);
        let ends_round = turns.get(index + 1).is_none_or(|next| next.round != turn.round);
        if ends_round {
            observe(plan, turn.round, &mut contention, around, steps, p);
        }
        // Not after each of hundreds of short trials: writing takes a processor.
        if ends_round || steps.kept.elapsed() > KEEP {
            steps.keep(p)?;
        }
    }
    Ok(())
}

/// One more trial of some cells after each round, of every cell one in the whole run, in which its system calls are counted
/// and it is seen who has its processors: both take time.
fn observe<O: Observer<MessageResult>>(
    plan: &MessagePlan,
    round: u32,
    contention: &mut Option<Contention>,
    around: Around<'_>,
    steps: &mut Steps<'_, O>,
    p: &mut Progressed<MessageResult>,
) {
    let (cells, rounds) = (p.result.cells.len(), plan.trials as usize);
    let places: Vec<usize> = (0..cells).filter(|place| place * rounds / cells == round as usize).collect();
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
    contention.iter_mut().for_each(Contention::rest);
}
