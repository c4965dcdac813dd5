//! A run that goes on until the figures of its answer are narrow: how narrow they are, when it ends, and what a wide one
//! makes of the verdict (docs/decisions/0031-until-narrow.md).

use std::ptr;

use netfathom_model::record::{Ended, LoadThread, MessageCell, MessageResult, Precision, Width};
use netfathom_model::verdict::{Level, Verdict};

use super::judge::Broken;
use crate::load::judge::occupied;
use crate::load::precision;

/// Notes how narrow they are by now; what ended the run stays.
pub fn note(result: &mut MessageResult, after_ns: u64) {
    let has_ended = result.precision.as_ref().is_some_and(|precision| precision.ended.is_some());
    if result.plan.until.is_some() && !has_ended {
        result.precision = Some(Precision { after_ns, widths: result.widths(), ended: None });
    }
}

/// Whether the run ends with these rounds, and notes why.
pub fn ends(result: &mut MessageResult, rounds: usize) -> bool {
    let (Some(until), Some(precision)) = (result.plan.until, &mut result.precision) else { return false };
    precision.ended = precision.end(until, rounds, result.plan.trials as usize, 0);
    precision.ended.is_some()
}

/// A figure that is known less well than asked lowers the trust in the cells of the answer, but not below DEGRADED: it is
/// not wrong.
pub fn wide(result: &MessageResult) -> Vec<Broken> {
    let free = || occupied(result.contention.iter(), &[LoadThread::Client, LoadThread::Server], 0.0);
    let answered = result.answered();
    let is_answered = |cell: &MessageCell| answered.iter().any(|other| ptr::eq(*other, cell));
    let broken = |text: String| {
        let cells = result.cells.iter().enumerate().filter(|(_, cell)| is_answered(cell));
        let cells = cells.map(|(place, _)| (place, text.clone())).collect();
        Broken { level: Level::Degraded, cells, text }
    };
    let texts = match (result.plan.until, &result.precision) {
        (Some(until), Some(precision)) => {
            let judged = |width: &Width| precision::judged(precision, width, until, free);
            precision.widths.iter().filter_map(judged).map(|(_, text)| text).collect()
        }
        (Some(_), None) => Vec::new(),
        (None, _) => including_zero(result, free),
    };
    texts.into_iter().map(broken).collect()
}

/// With a fixed number of trials no precision is asked for; an interval that includes 0 lowers the trust all the same.
fn including_zero(result: &MessageResult, free: impl Fn() -> Option<String>) -> Vec<String> {
    let is_few = result.plan.trials < precision::ENOUGH_TRIALS;
    let remedy = || if is_few { Some("raise --trials".into()) } else { free() };
    let widths = result.widths().into_iter().filter(Width::includes_zero);
    widths.filter_map(|width| Some(precision::no_value(width.of, width.half?, remedy()))).collect()
}

/// One round of all cells has no intervals.
pub fn judge(verdict: &mut Verdict, result: &MessageResult) {
    let Some(precision) = &result.precision else { return };
    if result.cells.iter().all(|cell| cell.trials.len() < 2) {
        let is_late = precision.ended == Some(Ended::TimeLimit);
        let remedy = if is_late { ": raise --time-limit" } else { "" };
        verdict.lower(Level::Degraded, format!("one round has no intervals{remedy}"));
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{MessagePlan, MessageTest, Place, Until};
    use netfathom_model::record::{Ended, MessageTrial};
    use netfathom_stats::Distribution;

    use super::super::fixture;
    use super::*;

    /// Round trips of these times in the trials of the only layer, within 10 s.
    fn result(p50s_ns: &[i64]) -> MessageResult {
        let mut times = Distribution::new(7);
        p50s_ns.iter().for_each(|&ns| times.add_many(ns, 100));
        let trial = |(round, &p50_ns): (usize, &i64)| MessageTrial {
            round: round as u32,
            p50_ns,
            ..fixture::trial(100)
        };
        let mut cell = fixture::cell("write", fixture::trial(100), &times);
        cell.trials = p50s_ns.iter().enumerate().map(trial).collect();
        let plan = MessagePlan {
            trials: Until::LEAST_TRIALS,
            until: Some(Until { precision: 0.05, time_limit_ns: 10_000_000_000 }),
            ..MessagePlan::paper(MessageTest::Pingpong, Place::Loopback)
        };
        MessageResult { plan, cells: vec![cell], ..fixture::result() }
    }

    fn ended(result: &mut MessageResult, after_ns: u64) -> Option<Ended> {
        note(result, after_ns);
        let rounds = result.cells[0].trials.len();
        assert_eq!(ends(result, rounds), result.precision.as_ref().unwrap().ended.is_some());
        result.precision.as_ref().unwrap().ended
    }

    const NARROW: [i64; 6] = [1000, 1001, 999, 1000, 1002, 998];
    const WIDE: [i64; 6] = [1000, 1500, 700, 1000, 1400, 900];
    const S: u64 = 1_000_000_000;

    #[test]
    fn a_run_goes_on_until_its_answer_is_narrow_or_its_time_is_up() {
        assert_eq!(ended(&mut result(&NARROW), S), Some(Ended::Narrow));
        assert_eq!(ended(&mut result(&NARROW[..5]), S), None);
        assert_eq!(ended(&mut result(&WIDE), S), None);
        assert_eq!(ended(&mut result(&WIDE), 9 * S), Some(Ended::TimeLimit));
        let fixed = &mut result(&NARROW);
        fixed.plan.until = None;
        note(fixed, S);
        assert!(!ends(fixed, 6) && fixed.precision.is_none());
    }

    #[test]
    fn what_ended_a_run_is_not_forgotten_with_its_remedies() {
        let narrow = &mut result(&NARROW);
        ended(narrow, S);
        note(narrow, 5 * S);
        let precision = narrow.precision.as_ref().unwrap();
        assert_eq!((precision.after_ns, precision.ended), (S, Some(Ended::Narrow)));
    }

    #[test]
    fn a_fixed_number_of_trials_does_not_vouch_for_an_interval_that_includes_zero() {
        let text = |p50s_ns: &[i64]| {
            let mut fixed = result(p50s_ns);
            (fixed.plan.until, fixed.plan.trials) = (None, p50s_ns.len() as u32);
            wide(&fixed).into_iter().map(|broken| broken.text).next()
        };
        assert_eq!([text(&NARROW), text(&[1000])], [None, None]);
        let one_of_six = text(&[50_000, 52_000, 51_000, 50_000, 52_000, 900_000]).unwrap();
        assert!(one_of_six.starts_with("the interval of the median time, ± "), "{one_of_six}");
        assert!(!one_of_six.contains("--trials"), "{one_of_six}");
        assert!(text(&[1, 5000]).unwrap().ends_with(": raise --trials"));
    }

    #[test]
    fn a_wide_answer_is_degraded_with_the_time_that_it_takes() {
        let judged = |result: &mut MessageResult| {
            ended(result, 9 * S);
            let mut verdict = Verdict::default();
            judge(&mut verdict, result);
            wide(result).iter().for_each(|rule| verdict.lower(rule.level, &rule.text));
            (verdict.level, verdict.reasons.into_iter().map(|reason| reason.text).collect::<Vec<_>>())
        };
        assert_eq!(judged(&mut result(&NARROW)), (Level::Valid, Vec::new()));
        let (level, texts) = judged(&mut result(&WIDE));
        assert_eq!((level, texts.len()), (Level::Degraded, 1));
        assert!(texts[0].starts_with("the median time is known to ± "), "{texts:?}");
        let mut beside = result(&WIDE);
        beside.cells.push(MessageCell { bytes: 128, ..beside.cells[0].clone() });
        ended(&mut beside, 9 * S);
        let places: Vec<usize> = wide(&beside)[0].cells.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0], "the answer is of the smallest size");
        let (level, texts) = judged(&mut result(&[1, 5000]));
        assert_eq!(level, Level::Degraded);
        assert!(texts[0].starts_with("the interval of the median time, ± "), "{texts:?}");
        let single = judged(&mut result(&[1000]));
        assert_eq!(single, (Level::Degraded, vec!["one round has no intervals: raise --time-limit".into()]));
    }
}
