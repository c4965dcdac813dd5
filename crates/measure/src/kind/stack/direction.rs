//! When the time of one direction can be trusted: by the messages of the answer, which are the undisturbed ones if these
//! are at least half of all (docs/decisions/0030-verdict-per-way.md).

use netfathom_model::path::Direction;
use netfathom_model::record::{Contention, Load, LoadThread, PathTimes, Trial, UndisturbedTimes};
use netfathom_model::verdict::Verdict;

use crate::load::judge::{
    self, MISSED, MOST_LAG, MOST_MISSED, Rule, UNEVEN, free_sender, missed, most, occupied, of_a_slot,
    percent, share,
};
use crate::load::precision::free_cpus;

/// What part of the send slots may be missed where only the time out is answered.
const MOST_MISSED_OUT: f64 = 0.1;
/// What part of the times may be negative: stamps of one message and another's, as from two runs with one flow.
const MOST_NEGATIVE: f64 = 0.01;
const NEGATIVE: &str = "{} of the times are negative: stamps are not of one message, or a clock was set; repeat the run, and report it";
const DISTURBED: &str =
    "{} of the messages were delayed by other tasks, or waited behind one that was (half allowed): ";
const UNDISTURBED_MISSED: &str =
    "the generator sent {} of the undisturbed messages too late, after the next was due (1 % allowed): ";
const UNDISTURBED_UNEVEN: &str =
    "the load was uneven: p99 lag of the undisturbed messages {} (10 % allowed): ";

struct TrialPath<'a> {
    trial: &'a Trial,
    path: &'a PathTimes,
}

pub fn judge(verdict: &mut Verdict, direction: Direction, trials: &[&Trial], spared: f64) {
    let path = |trial: &&'_ Trial| trial.paths.iter().position(|path| path.direction == direction);
    let ways: Vec<TrialPath<'_>> = trials
        .iter()
        .filter_map(|trial| path(trial).map(|i| TrialPath { trial, path: &trial.paths[i] }))
        .collect();
    let ways: Vec<&TrialPath<'_>> = ways.iter().collect();
    judge::lower_beyond(verdict, &[direction.into()], &rules(direction), &ways, spared);
}

impl TrialPath<'_> {
    /// The messages that the answer is of, where they are not all.
    fn undisturbed(&self) -> Option<&UndisturbedTimes> {
        self.path.undisturbed.as_ref().filter(|undisturbed| undisturbed.stand())
    }

    fn disturbed_share(&self) -> f64 {
        self.path.undisturbed.as_ref().map_or(0.0, UndisturbedTimes::disturbed_share)
    }

    /// Of all messages, if the answer is of all.
    fn missed(&self) -> f64 {
        if self.undisturbed().is_some() { 0.0 } else { missed(&self.trial.load) }
    }

    fn undisturbed_missed(&self) -> f64 {
        self.undisturbed().map_or(0.0, |u| share(u.missed_slots, u.times.n))
    }

    /// Of all messages, if the answer is of all.
    fn lag(&self) -> f64 {
        if self.undisturbed().is_some() { 0.0 } else { self.trial.load.lag_p99_of_interval }
    }

    fn undisturbed_lag(&self) -> f64 {
        self.undisturbed().map_or(0.0, |u| u.lag_p99_of_interval)
    }

    /// Of all messages or of the undisturbed ones, where it is more.
    fn negative(&self) -> f64 {
        let all = share(self.path.total.negative, self.path.total.n);
        self.path.undisturbed.as_ref().map_or(all, |u| all.max(share(u.times.negative, u.times.n)))
    }
}

fn loads<'a>(ways: &'a [&TrialPath<'_>]) -> impl Iterator<Item = &'a Load> {
    ways.iter().map(|way| &way.trial.load)
}

fn threads<'a>(ways: &'a [&TrialPath<'_>]) -> impl Iterator<Item = &'a Contention> {
    loads(ways).flat_map(|load| &load.contention)
}

/// The time out depends little on when the messages before were sent, the time in much: they decide whether the reader
/// sleeps, or is busy.
fn rules<'a>(direction: Direction) -> Vec<Rule<TrialPath<'a>>> {
    let most_missed = match direction {
        Direction::Tx => MOST_MISSED_OUT,
        Direction::Rx => MOST_MISSED,
    };
    let free: fn(&[&TrialPath<'a>], f64) -> String = |ways, missed| free_sender(loads(ways), missed);
    let even: fn(&[&TrialPath<'a>], f64) -> String = |ways, _| {
        free_sender(loads(ways), most(ways.iter().map(|way| way.missed().max(way.undisturbed_missed()))))
    };
    let mut rules = vec![
        Rule::degraded(0.5, TrialPath::disturbed_share, percent, DISTURBED).advise(|ways, _| {
            occupied(threads(ways), &[LoadThread::Sender, LoadThread::Reader], 0.0).unwrap_or_else(free_cpus)
        }),
        Rule::void(MOST_NEGATIVE, TrialPath::negative, percent, NEGATIVE),
        Rule::degraded(MOST_MISSED, TrialPath::missed, percent, MISSED).void_beyond(most_missed).advise(free),
        Rule::degraded(MOST_MISSED, TrialPath::undisturbed_missed, percent, UNDISTURBED_MISSED)
            .void_beyond(most_missed)
            .advise(free),
    ];
    if direction == Direction::Rx {
        rules.push(Rule::degraded(MOST_LAG, TrialPath::lag, of_a_slot, UNEVEN).advise(even));
        rules.push(
            Rule::degraded(MOST_LAG, TrialPath::undisturbed_lag, of_a_slot, UNDISTURBED_UNEVEN).advise(even),
        );
    }
    rules
}
