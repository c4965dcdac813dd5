//! A comparison in words and figures, the same in every picture.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use netfathom_model::print::{self, grouped, listed_first};
use netfathom_model::record::State;

use crate::compare::{
    Compared, Comparison, Design, Difference, Gate, GateInterval, Gates, Head, LEVEL, MOST_PAIRS, Outcome,
    Passage, Scale,
};
use crate::page::shortened;
use crate::quantity::Unit;

/// Names in a sentence, and in the answer.
const MOST_NAMED: usize = 4;
const MOST_ANSWERED: usize = 2;

/// From here on a ratio is a factor: its percentage would have five digits.
const FACTOR: f64 = 100.0;
/// Beyond it digits say nothing.
const BEYOND_SENSE: f64 = 1e6;
/// An interval from almost nothing to beyond this holds every change.
const ANY: f64 = 1000.0;

pub const NOTHING: &str = "-";
/// An interval that holds every change.
const UNKNOWN: &str = "unknown";

const NO_CHANGE: &str = "No significant change";

/// A value in its unit: `1.18 µs`, `452k/s`, `0.03 %`.
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => print::time(value),
        Unit::PerSecond => print::rate(value),
        Unit::BytesPerSecond => print::bit_rate(value),
        Unit::Share => percent(value),
        Unit::Ratio => figures(value),
        Unit::Count if value.fract() == 0.0 => grouped(value, 0),
        Unit::Count => figures(value),
    }
}

/// In three digits however little it is: two values that stand beside each other must not both be `<0.001`.
fn figures(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v >= 0.0995 => print::decimals(v),
        v if v >= 0.0005 => 4,
        _ => return format!("{value:.1e}"),
    };
    grouped(value, decimals)
}

fn percent(part: f64) -> String {
    if part.abs() >= 9.995 {
        format!("{} %", grouped(100.0 * part, 0))
    } else {
        format!("{} %", figures(100.0 * part))
    }
}

/// A ratio as what it is more or less, or as a factor: `+5.2 %`, `×151`.
pub fn ratio(ratio: f64) -> String {
    let more = 100.0 * (ratio - 1.0);
    match more.abs() {
        _ if ratio > BEYOND_SENSE => format!("over ×{}", grouped(BEYOND_SENSE, 0)),
        _ if ratio >= FACTOR => format!("×{}", print::Scale::Multiple.text(ratio)),
        _ if more >= 999.5 => format!("+{} %", grouped(more, 0)),
        m if m >= 9.95 => format!("{more:+.0} %"),
        m if m >= 0.095 => format!("{more:+.1} %"),
        _ => format!("{more:+.2} %"),
    }
}

fn difference(unit: Unit, by: f64) -> String {
    let text = value(unit, by);
    let text = if unit == Unit::Share { text.replace(" %", " pp") } else { text };
    if by > 0.0 { format!("+{text}") } else { text }
}

/// How much it changed: `+5.2 %`, `-12 ns`.
pub fn change(quantity: &Compared) -> String {
    on_scale(quantity.unit, quantity.change.scale, quantity.change.value)
}

/// The interval that decides, `+3.1 % to +7.4 %`.
pub fn interval(quantity: &Compared) -> String {
    let Some((low, high)) = quantity.change.decided else { return NOTHING.into() };
    ends(quantity.unit, quantity.change.scale, low, high)
}

fn ends(unit: Unit, scale: Scale, low: f64, high: f64) -> String {
    if is_any(scale, low, high) {
        return UNKNOWN.into();
    }
    let [low, high] = [low, high].map(|end| on_scale(unit, scale, end));
    // The unit once, where both have the same.
    match low.strip_suffix(" %") {
        Some(bare) if high.ends_with(" %") => format!("{bare} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn is_any(scale: Scale, low: f64, high: f64) -> bool {
    scale == Scale::Ratio && low < 0.005 && high > ANY
}

fn on_scale(unit: Unit, scale: Scale, value: f64) -> String {
    match scale {
        Scale::Ratio => ratio(value),
        Scale::Difference => difference(unit, value),
    }
}

/// The smallest change that could have been detected. From twice on it is a factor, up or down: no time can be 100 % less.
pub fn smallest(quantity: &Compared) -> String {
    let written = |smallest: f64| match quantity.change.scale {
        Scale::Ratio if smallest >= FACTOR - 1.0 => ratio(1.0 + smallest),
        Scale::Ratio if smallest >= 1.0 => format!("×{}", figures(1.0 + smallest)),
        Scale::Ratio => percent(smallest),
        Scale::Difference => difference(quantity.unit, smallest).trim_start_matches('+').to_owned(),
    };
    quantity.smallest.map_or_else(|| NOTHING.into(), written)
}

/// What a quantity without a change is worth if only such factors could be detected.
pub fn coarse(quantity: &Compared) -> Option<&'static str> {
    let is_open = quantity.change.scale == Scale::Ratio && quantity.outcome == Outcome::CannotTell;
    quantity.smallest.filter(|smallest| is_open && *smallest >= 1.0).map(|_| {
        "too noisy to compare: only a change by the factor in column MDE, up or down, could be detected; more rounds or trials lower it"
    })
}

/// The worst outcome of the main quantities.
pub fn overall(comparison: &Comparison) -> Option<Outcome> {
    let has = |outcome: &Outcome| comparison.quantities.iter().any(|q| q.main && q.outcome == *outcome);
    [Outcome::Worse, Outcome::Better, Outcome::CannotTell, Outcome::Same].into_iter().find(has)
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
        let named = main(outcome).map(|q| format!("{} {}", q.name, change(q)));
        Some(listed_first(MOST_ANSWERED, named)).filter(|words| !words.is_empty())
    };
    let inconclusive: Vec<&Compared> = main(Outcome::CannotTell).collect();
    match (changed(Outcome::Worse), changed(Outcome::Better)) {
        (Some(worse), Some(better)) => format!("{worse}; better: {better}"),
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
    Some(format!("closest: {} {} ({})", one.name, change(one), interval(one)))
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
    quantity.filter(|_| gate.passage != Passage::NotTested).map(|quantity| by(quantity, gate))
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
            "the change is too close to the threshold for its spread: take a quieter machine, or another threshold \
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

/// Such as `+1.2 % (95 % interval -0.5 to +2.9 %)`.
fn by(quantity: &Compared, gate: &Gate) -> String {
    let of = |interval: &GateInterval| {
        let GateInterval { level, low, high } = *interval;
        let ends = ends(quantity.unit, quantity.change.scale, low, high);
        let level = if level > LEVEL {
            "99 % interval, corrected:".into()
        } else {
            format!("{:.0} % interval", 100.0 * level)
        };
        format!(" ({level} {ends})")
    };
    change(quantity) + &gate.interval.as_ref().map_or_else(String::new, of)
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
    use netfathom_model::verdict::Level;

    use crate::compare::Change;
    use crate::quantity::Better;

    use super::*;

    #[test]
    fn values_are_read_in_their_unit() {
        assert_eq!(value(Unit::Nanoseconds, 1184.0), "1.18 µs");
        assert_eq!(value(Unit::Nanoseconds, -3.0), "-3 ns");
        assert_eq!(value(Unit::PerSecond, 452_345.0), "452k/s");
        assert_eq!(value(Unit::Share, 0.0003), "0.0300 %");
        assert_eq!(value(Unit::Share, 0.0), "0 %");
        assert_eq!(value(Unit::Count, 12_000.0), "12,000");
    }

    #[test]
    fn a_ratio_is_what_it_is_more() {
        assert_eq!(
            [1.052, 0.97, 1.0004, 1.3, 2.4, 12.4, 0.1].map(ratio),
            ["+5.2 %", "-3.0 %", "+0.04 %", "+30 %", "+140 %", "+1,140 %", "-90 %"]
        );
    }

    #[test]
    fn a_large_ratio_is_a_factor() {
        assert_eq!([99.0, 151.0, 14_966.0].map(ratio), ["+9,800 %", "×151", "×15.0k"]);
        assert_eq!([1e7, f64::INFINITY].map(ratio), ["over ×1,000,000"; 2]);
        assert_eq!(value(Unit::Share, 150.0), "15,000 %");
    }

    #[test]
    fn both_ends_of_an_interval_are_percentages() {
        let ends = |low, high| ends(Unit::Nanoseconds, Scale::Ratio, low, high);
        assert_eq!(ends(0.97, 1.3), "-3.0 to +30 %");
        assert_eq!(ends(0.139, 9.35), "-86 to +835 %");
        assert_eq!(ends(0.5, 1e30), "-50 % to over ×1,000,000");
        assert_eq!([ends(1e-9, 1e30), ends(1e-9, 9.35)], ["unknown", "-100 to +835 %"]);
    }

    fn of(name: &str, scale: Scale, value: f64, interval: Option<(f64, f64)>) -> Compared {
        Compared {
            name: name.into(),
            title: String::new(),
            unit: Unit::Count,
            better: Better::Less,
            main: true,
            level: Level::Valid,
            a: Vec::new(),
            b: Vec::new(),
            rounds: None,
            a_mean: 0.0,
            b_mean: 0.0,
            change: Change { scale, value, decided: interval, interval },
            chance: Some(1.0),
            smallest: None,
            outcome: Outcome::CannotTell,
            note: None,
        }
    }

    #[test]
    fn an_effect_from_twice_on_is_a_factor() {
        let found = |smallest, outcome| Compared {
            smallest: Some(smallest),
            outcome,
            ..of("rx.p99", Scale::Ratio, 1.3, None)
        };
        let open = |smallest| found(smallest, Outcome::CannotTell);
        assert_eq!([0.18, 8.02].map(|s| smallest(&open(s))), ["18.0 %", "×9.02"]);
        assert_eq!([0.18, 8.02].map(|s| coarse(&open(s)).is_some()), [false, true]);
        assert_eq!(coarse(&found(8.02, Outcome::Better)), None);
    }

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
    fn a_pause_between_runs_is_no_pace() {
        let at = |seconds: &[i64]| {
            pace(seconds.iter().map(|&s| Timestamp::from_second(s).unwrap()).collect()).map(|of| of.as_secs())
        };
        assert_eq!(at(&[100, 90, 4000, 110, 4010]), Some(10));
        assert_eq!([at(&[5]), at(&[]), at(&[5, 5])], [None; 3]);
    }

    #[test]
    fn standings_are_counted_whatever_their_order() {
        let tally = |all: &[&str]| tally(all.iter().map(ToString::to_string));
        assert_eq!(tally(&["VALID", "VOID", "VALID"]), "2 VALID, 1 VOID");
        assert_eq!(tally(&["VALID", "VALID"]), "VALID");
    }

    #[test]
    fn a_difference_of_shares_is_in_points() {
        assert_eq!(difference(Unit::Share, 0.02), "+2.00 pp");
        assert_eq!(difference(Unit::Count, -4.0), "-4");
    }
}
