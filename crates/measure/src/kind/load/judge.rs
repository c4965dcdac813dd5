//! When a trial of the load can be trusted, beyond what holds of every load.

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::engine::Engine;
use netfathom_model::record::{Load, LoadTrial, LoadTrialKind};
use netfathom_model::verdict::{Level, Part, Verdict};

use crate::load::judge::{
    self, Judged, MOST_MISSED, NO_FRAME_TAKEN, Rule, flag, lateness_rules, load_rules, lost,
    messages_a_packet, missed, no_number, percent, share, unsplit,
};

impl Judged for LoadTrial {
    fn load(&self) -> &Load {
        &self.load
    }

    fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    fn arrivals_known(&self) -> bool {
        self.accounting.count(&Fate::Unknown) == 0
    }
}

/// Rules about the rate and the answers: those of the plan, or of another load.
fn of_load() -> Vec<Rule<LoadTrial>> {
    let unanswered = Rule::degraded(
        0.001,
        unanswered,
        percent,
        "{} of the delivered messages got no answer: times are of the rest; lower the rate",
    );
    [unanswered].into_iter().chain(lateness_rules()).collect()
}

/// What is lost is counted whenever it was sent. But late messages are sent in bursts, which fill buffers.
static OF_LOSS: [Rule<LoadTrial>; 1] = [Rule::degraded(
    MOST_MISSED,
    |t| if lost(t) > 0.0 { missed(&t.load) } else { 0.0 },
    percent,
    "{} of the messages were sent late, in bursts: on schedule, fewer may be lost",
)];

static OF_LATENESS: [Rule<LoadTrial>; 1] = [Rule::degraded(
    MOST_MISSED,
    |t| share(t.load.unsent, t.load.planned),
    percent,
    "{} of the messages were never sent: the lag is that of the rest",
)];

/// The rules of an engine: what is its own comes first. Other engines put single packets on the device, whatever its
/// driver counts.
fn rules(engine: Engine) -> Vec<Rule<LoadTrial>> {
    let own = match engine {
        Engine::Gso => {
            Some(Rule::degraded(0.0, messages_a_buffer, no_number, "").advise(|_, most| unsplit(most)))
        }
        Engine::Xdp => {
            let value = |t: &LoadTrial| flag(t.load.sent == 0 && !t.load.refused.is_empty());
            Some(Rule::void(0.0, value, no_number, NO_FRAME_TAKEN))
        }
        _ => None,
    };
    let unknown = Rule::degraded(
        0.0,
        |t: &LoadTrial| flag(!t.arrivals_known()),
        no_number,
        "what arrived is unknown (--one-way): these are the messages sent",
    );
    own.into_iter().chain([unknown]).chain(load_rules()).collect()
}

/// Messages per packet of a trial with unsplit buffers; 0 otherwise. A device that was not queried
/// reveals itself if it counts half as many packets as messages.
fn messages_a_buffer(trial: &LoadTrial) -> f64 {
    let messages = messages_a_packet(&trial.accounting);
    if trial.unsplit || messages > 2.0 { messages.max(1.0) } else { 0.0 }
}

fn unanswered(trial: &LoadTrial) -> f64 {
    let delivered = trial.accounting.count(&Fate::Delivered);
    trial.echo.as_ref().map_or(0.0, |e| share(delivered.saturating_sub(e.answered), delivered))
}

pub fn trial(trial: &LoadTrial, engine: Engine) -> Verdict {
    let mut verdict = judge::trial(&rules(engine), trial);
    judge_parts(&mut verdict, &[trial]);
    verdict
}

fn judge_parts(verdict: &mut Verdict, trials: &[&LoadTrial]) {
    judge::lower(verdict, &[Part::Load], &of_load(), trials);
    judge::lower(verdict, &[Part::Loss], &OF_LOSS, trials);
    judge::lower(verdict, &[Part::Lateness], &OF_LATENESS, trials);
}

/// How far the run can be trusted: its loaded trials, and what rests on the idle ones.
pub fn run(trials: &[LoadTrial], engine: Engine, planned: u32) -> Verdict {
    let of = |kind| -> Vec<&LoadTrial> { trials.iter().filter(|t| t.kind == kind).collect() };
    let loaded = of(LoadTrialKind::Loaded);
    let mut verdict = judge::run(&rules(engine), &loaded, planned);
    judge_parts(&mut verdict, &loaded);
    let idle = of(LoadTrialKind::Idle);
    let void = idle.iter().filter(|t| t.verdict.level == Level::Void).count();
    if void > 0 {
        let text =
            format!("{void} of {} idle trials are VOID: the times of the idle echo are doubtful", idle.len());
        verdict.lower_only(&[Part::Load], Level::Degraded, text);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{LoadResult, Measured, Record};

    use super::*;

    /// The levels of load, loss and lateness of a run with such trials.
    fn levels(spoil: impl Fn(&mut LoadTrial)) -> [Level; 3] {
        let text = include_str!("../../../../results/tests/fixtures/load.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let mut result = LoadResult::of(&record.measurement).unwrap().clone();
        let loaded = |trial: &&mut LoadTrial| trial.kind == LoadTrialKind::Loaded;
        result.trials.iter_mut().filter(loaded).for_each(spoil);
        let verdict = run(&result.trials, result.engine, result.plan.trials);
        let levels = [Part::Load, Part::Loss, Part::Lateness].map(|part| verdict.of(part));
        assert_eq!(Some(verdict.level), levels.into_iter().max(), "{verdict:?}");
        levels
    }

    fn deliver_all(trial: &mut LoadTrial) {
        let sent = trial.accounting.sent;
        for fate in &mut trial.accounting.fates {
            fate.count = if fate.fate == Fate::Delivered { sent } else { 0 };
        }
        trial.echo.iter_mut().for_each(|echo| echo.answered = sent);
    }

    #[test]
    fn a_late_load_is_no_reason_against_its_losses() {
        use Level::{Degraded, Valid, Void};
        let late = |trial: &mut LoadTrial| trial.load.missed_slots = trial.load.planned / 20;
        assert_eq!(levels(|_| ()), [Valid; 3]);
        assert_eq!(levels(late), [Void, Degraded, Valid], "some were lost");
        let late_and_delivered = |trial: &mut LoadTrial| {
            late(trial);
            deliver_all(trial);
        };
        assert_eq!(levels(late_and_delivered), [Void, Valid, Valid]);
        let unanswered = |trial: &mut LoadTrial| trial.echo.iter_mut().for_each(|echo| echo.answered /= 2);
        assert_eq!(levels(unanswered), [Degraded, Valid, Valid]);
    }

    #[test]
    fn a_lag_without_the_messages_that_were_never_sent_is_degraded() {
        let cut = |trial: &mut LoadTrial| {
            trial.load.unsent = trial.load.planned / 20;
            deliver_all(trial);
        };
        assert_eq!(levels(cut), [Level::Void, Level::Valid, Level::Degraded]);
    }

    #[test]
    fn messages_without_an_outcome_take_from_every_part() {
        assert_eq!(levels(|trial| trial.accounting.fates.clear()), [Level::Void; 3]);
    }
}
