//! `netfathom message serve`: the server's end for clients on other hosts, one after the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_bpf::calls::Calls;
use netfathom_model::plan::Place;
use netfathom_model::record::{ProcessorPair, Shares};

use super::calls::Watched;
use super::error::MessageError;
use super::far::Far;
use super::far::protocol::{ControlMessage, Hello, Trial, TrialReport};
use super::ground::Ground;
use super::order::Cell;
use super::shot::{self, Shot};
use super::{Around, pairs};
use crate::load::allow::Prefix;
use crate::load::control::{Listener, ServeEvent, serve_each};

/// How long is listened before it is looked whether to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// What a client may do between two trials, before others get its place.
const BETWEEN_TRIALS: Duration = Duration::from_secs(30);
/// Signs of life meanwhile: the last ones of the trial before, which were not read.
const MOST_SIGNS: u32 = 100;

#[derive(Clone, Debug)]
pub struct ServePlan {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server's processor.
    pub cpu: Option<usize>,
    /// From where clients are taken, besides private networks.
    pub allow: Vec<Prefix>,
    /// Ends after this many clients; `None` continues until it is stopped.
    pub most_clients: Option<u32>,
}

/// Serves until it is stopped.
pub fn serve(
    plan: &ServePlan,
    notify: &mut dyn FnMut(ServeEvent),
    stop: &AtomicBool,
) -> Result<(), MessageError> {
    let cpu = pairs::of_server(plan.cpu)?;
    let serve = |listener: &Arc<Listener<Hello>>, talk, trials: &mut u32| {
        let far = Far::welcome(talk, Arc::clone(listener), cpu)?;
        Session { ground: Ground::serving(far), cpu, stop }.serve(trials)
    };
    Ok(serve_each((plan.listen, cpu), &plan.allow, plan.most_clients, stop, notify, serve)?)
}

/// One client, from its welcome to its end.
struct Session<'a> {
    ground: Ground,
    cpu: usize,
    stop: &'a AtomicBool,
}

impl Session<'_> {
    fn serve(&self, trials: &mut u32) -> Result<(), MessageError> {
        let Some(far) = self.ground.far() else { return Ok(()) };
        // Loading the program takes longer than a trial.
        let mut calls = None;
        while let Some(trial) = self.next_trial(far)? {
            let word = self.make(&trial, &mut calls).map(|outcome| ControlMessage::Ended(Box::new(outcome)));
            if let Err(error) = &word {
                // It may be gone.
                let _ = far.say(&ControlMessage::Failed { text: error.to_string() });
                far.part();
            }
            far.say(&word?)?;
            *trials += 1;
        }
        Ok(())
    }

    /// The next trial; `None` if there are no more.
    fn next_trial(&self, far: &Far) -> Result<Option<Trial>, MessageError> {
        let awaited = "a trial";
        let begin = Instant::now();
        let mut signs = 0;
        while begin.elapsed() < BETWEEN_TRIALS && signs < MOST_SIGNS {
            if self.stop.load(Relaxed) {
                let _ = far.say(&ControlMessage::Failed { text: STOPPED.into() });
                return Err(MessageError::Unfit(STOPPED.into()));
            }
            match far.poll(PATIENCE, awaited)? {
                Some(ControlMessage::Trial(trial)) => return Ok(Some(*trial)),
                Some(ControlMessage::Bye) => return Ok(None),
                // Of the trial before.
                Some(ControlMessage::Alive) => signs += 1,
                None => {}
                Some(_) => return Err(far.out_of_turn(awaited)),
            }
        }
        Err(far.silent(awaited, BETWEEN_TRIALS))
    }

    fn make(
        &self,
        trial: &Trial,
        calls: &mut Option<Result<Calls, String>>,
    ) -> Result<TrialReport, MessageError> {
        let plan = trial.plan.clone().validated().map_err(|error| MessageError::Unfit(error.to_string()))?;
        let (&[bytes], [layer], &[placement], Place::To(_)) =
            (&plan.sizes_bytes[..], &plan.layers[..], &plan.placements[..], plan.place)
        else {
            return Err(MessageError::Unfit(
                "a trial has one layer, one size and a server on another host".into(),
            ));
        };
        let cell = Cell { layer: layer.clone(), bytes, placement, pair: 0 };
        let pair = ProcessorPair { shares: Shares::Hosts, client: self.cpu, server: self.cpu };
        if !trial.counted {
            // It would slow the calls of this one.
            *calls = None;
        }
        let counter =
            trial.counted.then(|| calls.get_or_insert_with(|| Calls::attach().map_err(|e| e.to_string())));
        let watched = match &counter {
            Some(Ok(calls)) => Some(Watched { calls, contention: None }),
            _ => None,
        };
        let around = Around { ground: &self.ground, stop: self.stop };
        let shot = shot::make(&plan, &cell, pair, around, watched)?;
        let shot = shot.ok_or_else(|| MessageError::Unfit(STOPPED.into()))?;
        let uncounted = counter.and_then(|counter| counter.as_ref().err());
        let uncounted = uncounted.map(|why| format!("on the host of the server: {why}"));
        Ok(TrialReport { uncounted, ..outcome(shot) })
    }
}

const STOPPED: &str = "the server was stopped";

fn outcome(shot: Shot) -> TrialReport {
    let done = shot.server;
    TrialReport {
        messages: done.messages,
        timed: done.timed,
        lost: done.lost,
        cut_short: done.cut_short,
        first: done.first,
        lasted_ns: done.first_ns.map_or(0, |first_ns| done.last_ns.saturating_sub(first_ns)),
        cost: shot.server_cost,
        counts: shot.counts,
        calls: shot.calls.map(|[_, server]| server).unwrap_or_default(),
        uncounted: None,
    }
}
