//! What came of the thresholds of a comparison, in words.

use std::time::Duration;

use jiff::Timestamp;
use netfathom_model::print;

use super::values::{ends, on_scale};
use super::words::{NO_CHANGE, answer, is_untested, overall};
use crate::compare::{Compared, Comparison, Design, Gate, Gates, LEVEL, MOST_PAIRS, Outcome, Passage};

pub fn passage(passage: Passage) -> &'static str {
    match passage {
        Passage::Beyond => "FAIL",
        Passage::Within => "PASS",
        Passage::CannotTell => "inconclusive",
        Passage::NotTested => "not tested",
    }
}

/// Such as `: +1.2 % (95 % interval -0.5 to +2.9 %)`; empty where there is none.
pub fn reason(comparison: &Comparison, gate: &Gate) -> String {
    let why = gate.why.clone().or_else(|| remedy(comparison, gate));
    let words = change_of(comparison, gate).into_iter().chain(why).collect::<Vec<_>>().join("; ");
    if words.is_empty() { words } else { format!(": {words}") }
}

/// The threshold that matters most. `None` without thresholds.
pub fn worst<'a>(comparison: &Comparison, all: &'a Gates) -> Option<&'a Gate> {
    if comparison.is_refused() { None } else { all.gates.iter().min_by_key(|gate| gate.passage) }
}

/// What came of it, and how many others there are. The label has the outcome.
pub fn gate_answer(comparison: &Comparison, gate: &Gate, all: &Gates) -> String {
    let more = match all.gates.len() - 1 {
        0 => String::new(),
        more => format!("; {more} more below"),
    };
    let change = change_of(comparison, gate).or_else(|| gate.why.clone());
    let change = change.map_or_else(String::new, |change| format!(": {change}"));
    format!("{}{change}{more}", gate.threshold)
}

fn change_of(comparison: &Comparison, gate: &Gate) -> Option<String> {
    let quantity = comparison.quantities.iter().find(|quantity| quantity.name == gate.quantity);
    quantity.and_then(|quantity| by(quantity, gate))
}

/// The main quantities that have no threshold; `None` where all have one.
pub fn others(comparison: &Comparison, gates: &Gates) -> Option<String> {
    let mut others = comparison.clone();
    others.quantities.retain(|quantity| quantity.main && !gates.has(&quantity.name));
    let outcome = match overall(&others)? {
        Outcome::Worse => "worse: ",
        Outcome::Better => "better: ",
        Outcome::CannotTell if is_untested(&others) => "not tested: ",
        _ => "",
    };
    let answer = answer(&others).replace(NO_CHANGE, "no significant change");
    Some(format!("other main quantities: {outcome}{answer}"))
}

/// Times the rounds that were made.
const FAR_MORE: usize = 10;

/// What would decide an inconclusive threshold.
pub fn remedy(comparison: &Comparison, gate: &Gate) -> Option<String> {
    if gate.passage != Passage::CannotTell {
        return None;
    }
    let quantity = comparison.quantities.iter().find(|quantity| quantity.name == gate.quantity);
    let rounds = quantity.map_or(0, |quantity| quantity.a.len());
    Some(match (comparison.design, gate.pairs_needed) {
        (Design::Apart, _) => "more --trials may decide it".into(),
        // The threshold itself is then what chance moves the change around.
        (Design::Pairs, Some(needed)) if needed > FAR_MORE * rounds => format!(
            "its spread is too wide to decide this threshold: take a quieter machine, or another threshold \
             (about {} would decide it, estimated from {rounds})",
            rounds_like(comparison, needed)
        ),
        (Design::Pairs, Some(needed)) => format!(
            "about {} would decide it, estimated from {rounds} rounds",
            rounds_like(comparison, needed)
        ),
        (Design::Pairs, None) => format!(
            "over {MOST_PAIRS} --rounds would be needed: take a quieter machine, or another threshold"
        ),
    })
}

/// How many rounds, and how long they take at the pace of those that were made.
fn rounds_like(comparison: &Comparison, needed: usize) -> String {
    let rounds = rounded_up(needed);
    let starts = comparison.a.iter().chain(&comparison.b).map(|head| head.started_utc.parse());
    match pace(starts.filter_map(Result::ok).collect()) {
        Some(run) => format!("{rounds} --rounds ({})", print::lasting(run * 2 * rounds as u32)),
        None => format!("{rounds} --rounds"),
    }
}

/// From the start of a run to that of the next: the median, as a pause in between is no pace.
fn pace(mut starts: Vec<Timestamp>) -> Option<Duration> {
    starts.sort_unstable();
    let mut gaps: Vec<Duration> =
        starts.windows(2).map(|two| two[1].duration_since(two[0]).unsigned_abs()).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().filter(|run| !run.is_zero())
}

/// In two digits.
fn rounded_up(of: usize) -> usize {
    let unit = 10_usize.pow(of.checked_ilog10().unwrap_or(0).saturating_sub(1));
    of.div_ceil(unit) * unit
}

/// Such as `+1.2 % (95 % interval -0.5 to +2.9 %)`, or in the unit of the threshold; `None` where it was not tested.
fn by(quantity: &Compared, gate: &Gate) -> Option<String> {
    let change = gate.change?;
    let value = on_scale(quantity.unit, change.scale, change.value);
    let Some(interval) = gate.interval else { return Some(value) };
    let level = if interval.level > LEVEL {
        "99 % interval, corrected:".into()
    } else {
        format!("{:.0} % interval", 100.0 * interval.level)
    };
    let ends = ends(quantity.unit, change.scale, interval.low, interval.high);
    Some(format!("{value} ({level} {ends})"))
}

/// How gates are decided; none where none is.
pub fn gates_method(gates: &Gates) -> Option<String> {
    let together = match gates.together {
        0 => return None,
        1 => String::new(),
        n => format!(", corrected for {n} quantities,"),
    };
    Some(format!(
        "Thresholds are tested apart from the table. FAIL: the 99 % interval of the change{together} lies beyond the \
         threshold. PASS: the 95 % interval lies short of it. Else inconclusive."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::of;
    use super::*;
    use crate::compare::{GateChange, GateInterval, Scale};
    use crate::quantity::Unit;

    #[test]
    fn a_change_is_shown_in_the_unit_of_its_threshold() {
        let times = Compared { unit: Unit::Nanoseconds, ..of("rx.mean", Scale::Ratio, 36.9, None) };
        let gate = |scale, value, (low, high)| Gate {
            threshold: String::new(),
            quantity: times.name.clone(),
            passage: Passage::Beyond,
            change: Some(GateChange { scale, value }),
            interval: Some(GateInterval { level: LEVEL, low, high }),
            pairs_needed: None,
            why: None,
        };
        let shown = |gate: &Gate| by(&times, gate).unwrap();
        let in_unit = gate(Scale::Difference, 1.39e6, (1.2e6, 1.57e6));
        assert_eq!(shown(&in_unit), "+1.39 ms (99 % interval +1.20 to +1.57 ms)");
        assert_eq!(shown(&gate(Scale::Ratio, 1.05, (1.02, 1.08))), "+5.0 % (99 % interval +2.0 to +8.0 %)");
        assert_eq!(by(&times, &Gate { change: None, ..in_unit }), None);
    }

    #[test]
    fn a_pause_between_runs_is_no_pace() {
        let at = |seconds: &[i64]| {
            pace(seconds.iter().map(|&s| Timestamp::from_second(s).unwrap()).collect()).map(|of| of.as_secs())
        };
        assert_eq!(at(&[100, 90, 4000, 110, 4010]), Some(10));
        assert_eq!([at(&[5]), at(&[]), at(&[5, 5])], [None; 3]);
    }
}
