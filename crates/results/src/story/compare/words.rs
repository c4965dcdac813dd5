//! A comparison in words, the same in every picture.

use std::collections::BTreeSet;

use netfathom_model::print::{grouped, listed_first};
use netfathom_model::record::State;

use super::values::{change, interval, is_any};
use crate::compare::{Compared, Comparison, Design, Difference, Head, Outcome, Scale};
use crate::page::shortened;

/// Names in a sentence, and in the answer.
const MOST_NAMED: usize = 4;
const MOST_ANSWERED: usize = 2;

pub const NO_CHANGE: &str = "No significant change";

/// The worst outcome of the main quantities. Times are not better where messages were dropped instead.
pub fn overall(comparison: &Comparison) -> Option<Outcome> {
    let has = |outcome: &Outcome| comparison.quantities.iter().any(|q| q.main && q.outcome == *outcome);
    match [Outcome::Worse, Outcome::Better, Outcome::CannotTell, Outcome::Same].into_iter().find(has) {
        Some(Outcome::Better) if comparison.b_dropped => Some(Outcome::CannotTell),
        worst => worst,
    }
}

/// The answer in one sentence, without its end. Its first part has no word for the outcome: the label before it is
/// that.
pub fn answer(comparison: &Comparison) -> String {
    if comparison.is_refused() {
        return "These runs cannot be compared".into();
    }
    let main =
        |outcome: Outcome| comparison.quantities.iter().filter(move |q| q.main && q.outcome == outcome);
    let changed = |outcome: Outcome| -> Option<String> {
        let named = main(outcome).map(in_full);
        Some(listed_first(MOST_ANSWERED, named)).filter(|words| !words.is_empty())
    };
    let inconclusive: Vec<&Compared> = main(Outcome::CannotTell).collect();
    match (changed(Outcome::Worse), changed(Outcome::Better)) {
        (Some(worse), Some(better)) => format!("{worse}; better: {better}"),
        (None, Some(better)) if comparison.b_dropped => {
            format!("better: {better}, but B dropped more packets")
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) if comparison.quantities.is_empty() => {
            "A and B have no usable quantity in common".to_owned()
        }
        (None, None) if inconclusive.is_empty() => "A and B have the same values".to_owned(),
        (None, None) if is_untested(comparison) => {
            inconclusive.iter().find_map(|q| q.note.clone()).unwrap_or_else(|| "no interval".to_owned())
        }
        (None, None) => closest(&inconclusive)
            .map_or_else(|| NO_CHANGE.to_owned(), |closest| format!("{NO_CHANGE}; {closest}")),
    }
}

/// Whether no main quantity has an interval to go by, as of single trials.
pub fn is_untested(comparison: &Comparison) -> bool {
    let main = || comparison.quantities.iter().filter(|q| q.main);
    main().any(|q| !q.is_tested()) && main().all(|q| !q.is_tested() || q.outcome == Outcome::Same)
}

/// The change that is largest beside its interval: the one that more rounds would show first.
fn closest(inconclusive: &[&Compared]) -> Option<String> {
    let nearness = |q: &Compared| {
        let (low, high) = q.change.interval.filter(|&(low, high)| !is_any(q.change.scale, low, high))?;
        let on_scale = |end: f64| if q.change.scale == Scale::Ratio { end.ln() } else { end };
        Some(on_scale(q.change.value).abs() / (on_scale(high) - on_scale(low)))
    };
    let known = inconclusive.iter().filter_map(|&q| Some((q, nearness(q)?)));
    let (one, _) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!("closest: {}", in_full(one)))
}

/// A quantity with its change and the interval of that.
fn in_full(q: &Compared) -> String {
    format!("{} {} ({})", q.name, change(q), interval(q))
}

/// How the runs were taken, and how it was decided.
pub fn method(comparison: &Comparison) -> String {
    let runs = comparison.quantities.iter().map(|quantity| quantity.a.len()).max().unwrap_or_default();
    let how = match comparison.design {
        Design::Apart => "Trials of two runs as two groups (Welch)".to_owned(),
        Design::Pairs => format!("{runs} pairs of runs, a value a run (paired t)"),
    };
    format!(
        "{how}. Significant: the 99 % interval excludes no change; it is corrected for all that is decided together \
         (Benjamini & Hochberg; Benjamini & Yekutieli). MDE: minimum detectable effect at 80 % power."
    )
}

/// A run in a line: verdict, and what it lacks.
pub fn standing(head: &Head) -> String {
    let whole = match head.state {
        State::Complete => "",
        State::Partial => ", not whole",
        State::Interrupted => ", ended early",
    };
    format!("{}{whole}", head.verdict.name())
}

/// Each of them once, with how often it is there where they differ: `2 DEGRADED, 5 VALID`.
pub fn tally(standings: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = standings.collect();
    all.sort_unstable();
    let groups: Vec<&[String]> = all.chunk_by(|a, b| a == b).collect();
    match &groups[..] {
        [one] => one[0].clone(),
        several => several.iter().map(|of| format!("{} {}", of.len(), of[0])).collect::<Vec<_>>().join(", "),
    }
}

/// What changed, from what to what, and what that does.
pub fn changed(of: &Difference) -> String {
    let some = of.in_pairs().map_or_else(String::new, |some| format!("  {some}"));
    let effect = of.effect.map_or_else(String::new, |effect| format!("   ({effect})"));
    let [a, b] = cut(of).unwrap_or_else(|| [of.a.clone(), of.b.clone()]);
    format!("{}  {a} \u{2192} {b}{some}{effect}", of.what)
}

/// Letters of a value on a terminal.
const LONGEST_VALUE: usize = 60;
/// Letters before the first one that differs.
const LEAD: usize = 15;

/// Values that are too long for a line, from where they begin to differ; `None` where both fit.
pub fn cut(of: &Difference) -> Option<[String; 2]> {
    let values = [&of.a, &of.b];
    if values.iter().all(|value| value.chars().count() <= LONGEST_VALUE) {
        return None;
    }
    let common = of.a.chars().zip(of.b.chars()).take_while(|(a, b)| a == b).count();
    let from = if common < LONGEST_VALUE / 2 { 0 } else { common - LEAD };
    let start = if from == 0 { "" } else { "\u{2026}" };
    Some(values.map(|value| {
        let rest: String = value.chars().skip(from).collect();
        shortened(&format!("{start}{rest}"), LONGEST_VALUE)
    }))
}

/// That nothing differs, and how much was looked at.
pub fn nothing_changed(comparison: &Comparison) -> String {
    match comparison.settings_compared {
        0 => "No difference in kernel, CPUs, devices and plan. No settings were compared.".into(),
        n => format!("No difference in {} settings, kernel, CPUs, devices and plan.", grouped(n as f64, 0)),
    }
}

/// The quantities that only one side has, or too few pairs.
pub fn alone(comparison: &Comparison) -> Vec<String> {
    let (a, b) = (&comparison.only_a, &comparison.only_b);
    let [in_a, in_b] = [a, b].map(|names| names.iter().collect::<BTreeSet<&String>>());
    let (few, of_a): (Vec<&String>, Vec<&String>) = a.iter().partition(|name| in_b.contains(name));
    let of_b: Vec<&String> = b.iter().filter(|name| !in_a.contains(name)).collect();
    [("only A has", of_a), ("only B has", of_b), ("fewer than two pairs have both values of", few)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(who, names)| format!("{who} {}", listed_first(MOST_NAMED, names)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::of;
    use super::*;

    #[test]
    fn the_closest_change_is_the_largest_beside_its_interval() {
        let wide = of("wide", Scale::Ratio, 1.3, Some((0.8, 2.1)));
        let near = of("near", Scale::Ratio, 0.97, Some((0.94, 1.001)));
        let difference = of("difference", Scale::Difference, 1.0, Some((-4.0, 6.0)));
        let unknown = of("unknown", Scale::Ratio, 9.0, None);
        let answer = closest(&[&wide, &near, &difference, &unknown]);
        assert_eq!(answer.unwrap(), "closest: near -3.0 % (-6.0 to +0.1 %)");
        let any = of("any", Scale::Ratio, 9.0, Some((1e-9, 1e30)));
        assert_eq!(closest(&[&unknown, &any]), None);
    }

    #[test]
    fn standings_are_counted_whatever_their_order() {
        let tally = |all: &[&str]| tally(all.iter().map(ToString::to_string));
        assert_eq!(tally(&["VALID", "VOID", "VALID"]), "2 VALID, 1 VOID");
        assert_eq!(tally(&["VALID", "VALID"]), "VALID");
    }
}
