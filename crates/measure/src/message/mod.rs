//! `netfathom message`: a message layer beside bare sockets, in the same run.
//!
//! [`run`] is the map: `order` has the cells and their turns, `ground` the two hosts and their
//! connections, `shot` makes one trial of a cell out of two `end`s and a test (`oneway`,
//! `pingpong`, `post`), `peers` are other projects' libraries, `cells` puts the trials together, `judge` says what they are worth.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::plan::MessagePlan;
use netfathom_model::record::MessageResult;

use crate::environment;
use crate::error::{MeasureError, RunError};
use crate::load::sender::Live;
use crate::observer::{Observer, Progressed, Step};

mod cells;
mod costs;
mod end;
mod error;
mod ground;
mod judge;
mod oneway;
mod order;
mod pace;
mod pairs;
mod peers;
mod pingpong;
mod post;
mod rendezvous;
mod samples;
mod shot;
mod task;

pub use error::MessageError;

use ground::Ground;
use order::Cell;
use peers::Peers;

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
///
/// # Errors
/// If there can be no lab, an end cannot be made or breaks off, or the observer fails. What had
/// been observed stays.
pub fn run(
    plan: &MessagePlan,
    observer: &mut impl Observer<MessageResult>,
    stop: &AtomicBool,
) -> Result<Progressed<MessageResult>, RunError> {
    let mut plan = plan.clone();
    let (peers, missing) = Peers::load(&mut plan).map_err(MessageError::from).map_err(MeasureError::from)?;
    let ground = Ground::build(&plan, peers).map_err(MeasureError::from)?;
    let pairs = pairs::choose(&plan).map_err(MeasureError::from)?;
    let environment = environment::read(Vec::new(), ground.devices());
    let (order, mut absent) = order::of(&plan, &pairs);
    absent.extend(missing);
    let result = MessageResult { plan: plan.clone(), pairs, cells: Vec::new(), absent, remedies: Vec::new() };
    let mut p = Progressed::new(environment, result);
    judge::conclude(&mut p, order.len());
    observer.keep(&p)?;
    for (index, turn) in order.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let step = Step { name: name(&turn.cell, index, order.len()), number: index + 1, of: order.len() };
        observer.begins(step, &Arc::new(Live::default()));
        let pair = p.result.pairs[turn.cell.pair];
        let shot = shot::make(&plan, &turn.cell, pair, &ground, stop).map_err(MeasureError::from)?;
        let Some(shot) = shot else { break };
        cells::add(&mut p.result, &turn.cell, index as u32, turn.round, shot);
        // A record after each round: within one there are hundreds of short trials.
        if order.get(index + 1).is_none_or(|next| next.round != turn.round) {
            judge::conclude(&mut p, order.len());
            observer.keep(&p)?;
        }
    }
    judge::conclude(&mut p, order.len());
    Ok(p)
}

/// Such as `trial 5/90: write+nodelay, 64 bytes, UU`.
fn name(cell: &Cell, index: usize, of: usize) -> String {
    format!("trial {}/{of}: {}, {} bytes, {}", index + 1, cell.layer, cell.bytes, cell.placement.name())
}
