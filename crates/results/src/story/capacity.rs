//! `netfathom capacity`: what was tried, what was sustained, and what the paper would infer.

use crate::page::{Align, Axis, Bar, BarGroup, Bars, Block, Cell, Chart, Look, Page, Series, Style, Table};
use netfathom_model::record::{Bounded, CapacityResult, CapacityRow, Inferred, Probe, Search};
use netfathom_model::verdict::{Level, Verdict};

use netfathom_model::plan::CapacityPlan;
use netfathom_model::units::format_duration;

use super::{
    Body, MOST_ROWS, Story, contention, counted, number,
    place::{Site, ends as place},
    processors,
};

impl Story for CapacityResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        rows(&mut page, self);
        inferred(&mut page, self);
        empty(&mut page, self);
        searches(&mut page, self);
        contention::draw(&mut page, self.rows.iter().flat_map(|row| &row.contention));
        Body {
            title: "Sending capacity of this host",
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan(&self.plan),
            left_out: &self.left_out,
        }
    }

    /// Such as `Sends 301k ± 9k messages/s with 1 send worker, 157k/s to a sleeping receiver`.
    fn answer(&self) -> String {
        if self.rows.is_empty() {
            return "no engine was searched, so there is no answer yet".into();
        }
        let tcp = if self.plan.transport.is_usual() { "" } else { "TCP " };
        let Some((row, most)) = best(self, |r| r.sustained_per_s) else {
            return "no rate was sustained".into();
        };
        let rate = sustained(row, &most);
        let with = counted(row.workers, &format!("{} worker", row.engine.name()));
        let most = format!("Sends {rate} {tcp}messages/s with {with}");
        match (row.blocking_per_s, row.engine.passes_stack()) {
            (Some(asleep), _) => {
                format!("{most}, {} to a sleeping receiver", number::rate(asleep.mean_per_s))
            }
            (None, true) => format!("{most} to a polling receiver"),
            (None, false) => format!("{most}, past the stack"),
        }
    }

    fn is_of_values(&self) -> bool {
        best(self, |row| row.sustained_per_s).is_some()
    }

    fn site(&self) -> Site {
        Site::At(self.plan.place)
    }

    fn verdicts(&self) -> Vec<&Verdict> {
        self.rows.iter().map(|row| &row.verdict).collect()
    }
}

fn plan(plan: &CapacityPlan) -> Vec<(&'static str, String)> {
    let engines: Vec<&str> = plan.engines.iter().map(|e| e.name()).collect();
    let workers: Vec<String> = plan.workers.iter().map(u32::to_string).collect();
    vec![
        ("place", place(plan.place)),
        ("engines", engines.join(", ")),
        ("workers", workers.join(", ")),
        ("each rate held for", format_duration(plan.hold_ns)),
        ("searches", plan.trials.to_string()),
        ("size", format!("{} bytes over {}", plan.size_bytes, plan.transport.title())),
        ("CPUs", processors(&plan.cpus)),
        ("seed", plan.seed.to_string()),
    ]
}

fn finished(result: &CapacityResult) -> String {
    let wanted = result.plan.engines.len() * result.plan.workers.len();
    format!("{} of {wanted} pairs of engine and workers are finished", result.rows.len())
}

/// What the answer is of, and what narrows it: the schedule, bursts, the paper's inference.
fn remarks(result: &CapacityResult) -> Vec<String> {
    let plan = &result.plan;
    let part = |what: &str, of: fn(&CapacityRow) -> Option<Bounded>| {
        best(result, of).map(|(row, b)| format!("{what}: {} ({})", bounded(&b), name(row)))
    };
    let sustained = best(result, |r| r.sustained_per_s);
    let on_schedule =
        part("on schedule (99 % leave within a tenth of an interval of their time)", |r| r.capacity_per_s);
    let inferred = result.inferred.as_ref().filter(|i| i.verdict.level != Level::Void);
    let how = format!(
        "sustained to a polling receiver: under 0.1 % of the {}-byte messages lost; some sent late; {}, {}",
        plan.size_bytes,
        place(plan.place),
        counted(plan.trials, "search") + " for the highest rate"
    );
    let waits = contention::remarks(result.rows.iter().flat_map(|row| &row.contention), None);
    [
        Some(how).filter(|_| !result.rows.is_empty()),
        on_schedule.or_else(|| sustained.map(|_| "no rate was on schedule".into())),
        waits.into_iter().next(),
        sustained.and_then(|(row, _)| asleep(result, row)),
        part("unpaced in a short burst, including lost messages", |r| r.flat_out_per_s),
        inferred.map(|i| format!("inferred from the stack time: {}", number::rate(i.theoretical_per_s))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What another engine sustains with the receiver that most programs have; engines past the stack have none.
fn asleep(result: &CapacityResult, row: &CapacityRow) -> Option<String> {
    let (with, blocking) = best(result, |r| r.blocking_per_s).filter(|_| row.blocking_per_s.is_none())?;
    Some(format!("a sleeping receiver sustains {} ({})", bounded(&blocking), name(with)))
}

fn best(result: &CapacityResult, of: fn(&CapacityRow) -> Option<Bounded>) -> Option<(&CapacityRow, Bounded)> {
    let known = result.rows.iter().filter_map(|r| of(r).map(|b| (r, b)));
    known.max_by(|a, b| a.1.mean_per_s.total_cmp(&b.1.mean_per_s))
}

fn name(row: &CapacityRow) -> String {
    format!("{}, {}", row.engine.name(), counted(row.workers, "worker"))
}

fn short_name(row: &CapacityRow) -> String {
    format!("{} ×{}", row.engine.name(), row.workers)
}

fn bounded(b: &Bounded) -> String {
    number::rate_interval(b.mean_per_s, b.half_width_per_s)
}

fn bare(b: &Bounded) -> String {
    number::bare_rate_interval(b.mean_per_s, b.half_width_per_s)
}

/// What a row sustains, in the answer and in the table; of two searches both.
fn sustained(row: &CapacityRow, b: &Bounded) -> String {
    range(row).unwrap_or_else(|| bare(b))
}

/// From the least to the most that two searches found: too few for an interval.
fn range(row: &CapacityRow) -> Option<String> {
    let found: Vec<f64> = row.searches.iter().filter_map(|search| search.sustained_per_s).collect();
    let [a, b] = found[..] else { return None };
    let [low, high] = [a.min(b), a.max(b)].map(|rate| number::bare_rate_interval(rate, None));
    (low != high).then(|| format!("{low} to {high}"))
}

fn rows(page: &mut Page, result: &CapacityResult) {
    if result.rows.is_empty() {
        return;
    }
    page.main("Messages per second sustained, by engine and workers");
    if let Some(bars) = bars(result) {
        page.bars(bars);
    }
    let mut table = Table::new(&[
        ("engine", Align::Left),
        ("receiver\npolls", Align::Right),
        ("receiver\nsleeps", Align::Right),
        ("on\nschedule", Align::Right),
        ("sent\nunpaced", Align::Right),
    ]);
    let cell = |b: &Option<Bounded>| b.map_or_else(|| "-".into(), |b| bare(&b));
    for row in &result.rows {
        table.row(&[
            short_name(row),
            row.sustained_per_s.map_or_else(|| "-".into(), |b| sustained(row, &b)),
            cell(&row.blocking_per_s),
            cell(&row.capacity_per_s),
            // No search stands behind a burst: what matters is how far off the others are.
            row.flat_out_per_s.map_or_else(|| "-".into(), |b| number::bare_rate_interval(b.mean_per_s, None)),
        ]);
    }
    page.table(table);
    page.note(
        "sustained: under 0.1 % lost; on schedule: the receiver polls, and 99 % of the messages are sent within 10 % of \
         a send slot; sent unpaced: a short burst before the searches, including lost messages; ×: workers",
    );
    page.rest();
    RATES.iter().for_each(|rate| page.note(&format!("{}: {}", rate.name, rate.about)));
    page.note(&intervals(result));
    for row in &result.rows {
        for reason in &row.verdict.reasons {
            page.bullet(&format!("{}: {}: {}", name(row), reason.level.name(), reason.text));
        }
    }
}

const SUSTAINED: &str = "highest rate with under 0.1 % lost and within 0.1 % of the plan (or 1 ms of its end), \
     on schedule or not; the receiver of send, sendmmsg and gso polls for 50 µs before it sleeps";
const ASLEEP: &str =
    "sustained with an ordinary receiver: one recv call per message, asleep until one comes; one search";
const CAPACITY: &str = "sustained, and 99 % of the messages are sent within 10 % of a send slot";
const FLAT_OUT: &str = "sent in short bursts without a schedule, including lost messages";

/// The four rates of each row; `None` where there is none.
fn bars(result: &CapacityResult) -> Option<Bars> {
    let key = RATES.iter().map(|rate| (rate.name.to_owned(), rate.color)).collect();
    let groups: Vec<BarGroup> = result.rows.iter().map(group).collect();
    let is_there = groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value.is_some());
    let reference =
        result.inferred.as_ref().map(|i| ("inferred from the stack time".into(), i.theoretical_per_s));
    is_there.then_some(Bars { unit: Axis::Rate, key, reference, groups, ..Bars::default() })
}

/// A rate of a row, as a bar.
struct RateOf {
    name: &'static str,
    color: &'static str,
    about: &'static str,
    of: fn(&CapacityRow) -> Option<Bounded>,
}

const RATES: [RateOf; 4] = [
    RateOf { name: "receiver polls", color: "tx", about: SUSTAINED, of: |row| row.sustained_per_s },
    RateOf { name: "receiver sleeps", color: "rx", about: ASLEEP, of: |row| row.blocking_per_s },
    RateOf { name: "on schedule", color: "call", about: CAPACITY, of: |row| row.capacity_per_s },
    RateOf { name: "sent unpaced", color: "planned", about: FLAT_OUT, of: |row| row.flat_out_per_s },
];

fn group(row: &CapacityRow) -> BarGroup {
    let bar = |rate: &RateOf| {
        let found = (rate.of)(row);
        let ends = |b: Bounded| b.half_width_per_s.map(|half| (b.mean_per_s - half, b.mean_per_s + half));
        Bar {
            name: rate.name.into(),
            about: rate.about.into(),
            color: rate.color,
            value: found.map(|b| b.mean_per_s),
            ends: found.and_then(ends),
            text: found.as_ref().map_or_else(|| "-".into(), bounded),
            ..Bar::default()
        }
    };
    let why: Vec<&str> = row.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let mark = (row.verdict.level != Level::Valid).then(|| Cell::Marked {
        text: row.verdict.level.name().into(),
        style: if row.verdict.level == Level::Void { Style::Bad } else { Style::Warning },
        why: why.join("; "),
    });
    BarGroup { name: name(row), mark, bars: RATES.iter().map(bar).collect() }
}

fn intervals(result: &CapacityResult) -> String {
    match result.plan.trials {
        1 | 2 => "±: needs at least three searches".into(),
        n => format!(
            "±: 95 % interval between {n} searches, Student's t, and the step between two rates of a search"
        ),
    }
}

/// What the paper would say of this machine.
fn inferred(page: &mut Page, result: &CapacityResult) {
    page.heading("Inferred from the stack time (Borodin 2014)");
    let Some(i) = &result.inferred else {
        page.text("n/a: the stack time could not be taken; what was left out stands below");
        return;
    };
    for line in inference(i) {
        page.text(&line);
    }
    for row in &result.rows {
        if let Some(of) = row.of_inferred {
            page.bullet(&format!(
                "{}: sustained {} times that",
                name(row),
                number::ratio(of.value, Some(of.half_width))
            ));
        }
    }
    for reason in &i.verdict.reasons {
        page.bullet(&format!("{}: {}", reason.level.name(), reason.text));
    }
}

fn inference(i: &Inferred) -> [String; 2] {
    [
        format!(
            "mean time to send at peak {}, {}, {} tap, taken at {}",
            number::interval(i.peak.mean_ns, i.peak.between_trials_ns),
            counted(i.peak.trials, "trial"),
            i.tap.name(),
            number::rate(i.at_per_s)
        ),
        format!("1 / mean = {}: the theoretical load capability", number::rate(i.theoretical_per_s)),
    ]
}

/// Why a cell of the table is empty.
fn empty(page: &mut Page, result: &CapacityResult) {
    let lines: Vec<String> = result.rows.iter().flat_map(why_empty).collect();
    if lines.is_empty() {
        return;
    }
    page.heading("Why a cell is empty");
    lines.iter().for_each(|line| page.bullet(line));
}

fn why_empty(row: &CapacityRow) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |cell: &str, why: String| lines.push(format!("{}: {cell}: {why}", name(row)));
    if row.flat_out_per_s.is_none() {
        say("sent unpaced", "no burst was sent".into());
    }
    if row.sustained_per_s.is_none() {
        say("receiver polls", probed(row, "no rate was sustained"));
    }
    if row.blocking_per_s.is_none() && row.sustained_per_s.is_some() {
        say("receiver sleeps", why_no_blocking(row).into());
    }
    if row.capacity_per_s.is_none() {
        let closest = row.searches.iter().flat_map(|s| &s.probes).filter(|p| p.sustained);
        let closest = closest.min_by(|a, b| a.lag_p99_of_slot.total_cmp(&b.lag_p99_of_slot));
        let more = closest.map_or(String::new(), |p| {
            format!(
                "; closest at {}, p99 lag {:.2} send slots, {} of the messages a whole send slot late",
                number::rate(p.wanted_per_s),
                p.lag_p99_of_slot,
                number::percent(p.missed)
            )
        });
        say("on schedule", probed(row, "no rate was on schedule") + &more);
    }
    if row.of_inferred.is_none() && row.sustained_per_s.is_some() {
        let why = if row.engine.passes_stack() {
            "nothing was inferred to compare with"
        } else {
            "the engine bypasses the stack, so the stack time does not apply"
        };
        say("sustained, as a multiple of the inferred rate", why.into());
    }
    lines
}

fn why_no_blocking(row: &CapacityRow) -> &'static str {
    if row.blocking.is_some() {
        "no rate was sustained with such a receiver"
    } else if row.engine.passes_stack() {
        "not searched: the run ended before, or the receiver is on another host"
    } else {
        "the engine goes past the sockets, from which such a receiver reads"
    }
}

fn probed(row: &CapacityRow, what: &str) -> String {
    let probes: usize = row.searches.iter().map(|s| s.probes.len()).sum();
    if probes == 0 { "no rate was tried".into() } else { format!("{what} of the {probes} that were tried") }
}

fn searches(page: &mut Page, result: &CapacityResult) {
    let all: Vec<(&CapacityRow, usize, &Search)> =
        result.rows.iter().flat_map(|r| r.searches.iter().enumerate().map(move |(i, s)| (r, i, s))).collect();
    if all.is_empty() {
        return;
    }
    page.heading("Searches");
    let mut table = Table::new(&[
        ("engine", Align::Left),
        ("workers", Align::Right),
        ("search", Align::Right),
        ("probes", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("sustained", Align::Right),
        ("on schedule", Align::Right),
    ]);
    for (row, i, search) in all.iter().take(MOST_ROWS) {
        let wanted = || search.probes.iter().map(|p| p.wanted_per_s);
        let rate = |r: Option<f64>| r.map_or_else(|| "-".into(), number::rate);
        table.row(&[
            row.engine.name().to_owned(),
            row.workers.to_string(),
            (i + 1).to_string(),
            search.probes.len().to_string(),
            rate(wanted().reduce(f64::min)),
            rate(wanted().reduce(f64::max)),
            rate(search.sustained_per_s),
            rate(search.capacity_per_s),
        ]);
    }
    page.table(table);
    if all.len() > MOST_ROWS {
        page.note(&format!("… and {} more searches in the record", all.len() - MOST_ROWS));
    }
    probes(page, result);
}

/// What came of each rate that was tried.
fn probes(page: &mut Page, result: &CapacityResult) {
    let tried = |row: &CapacityRow| row.searches.iter().any(|s| !s.probes.is_empty());
    let options = result.rows.iter().enumerate().filter(|(_, row)| tried(row));
    let options: Vec<(String, Vec<Block>)> =
        options.map(|(i, row)| (name(row), probed_rates(i, row))).collect();
    if options.is_empty() {
        return;
    }
    page.choice("Engine and workers", options);
}

fn probed_rates(place: usize, row: &CapacityRow) -> Vec<Block> {
    let mut probes: Vec<(usize, &Probe)> = (row.searches.iter().enumerate())
        .flat_map(|(i, search)| search.probes.iter().map(move |probe| (i, probe)))
        .filter(|(_, probe)| probe.wanted_per_s > 0.0)
        .collect();
    probes.sort_by(|a, b| a.1.wanted_per_s.total_cmp(&b.1.wanted_per_s));
    let reached = |good: fn(&Probe) -> bool| {
        let value = |(_, p): &(usize, &Probe)| (good(p) && p.reached_per_s > 0.0).then_some(p.reached_per_s);
        probes.iter().map(value).collect()
    };
    let dots = |label: &str, color, values| Series {
        label: label.into(),
        color,
        look: Look::Dots,
        values,
        ..Series::default()
    };
    let xs: Vec<f64> = probes.iter().map(|(_, p)| p.wanted_per_s).collect();
    let wanted = xs.iter().copied().map(Some).collect();
    let chart = Chart {
        id: format!("probes-{place}"),
        title: format!("Rates tried, {}", name(row)),
        about: "Each rate that was held: wanted across, reached upwards.".into(),
        x: Axis::Rate,
        y: Axis::Rate,
        height: 300,
        xs,
        series: vec![
            Series { look: Look::Dashed, ..dots("as wanted", "muted", wanted) },
            dots("not sustained", "void", reached(|p| !p.sustained)),
            dots("sustained, not on schedule", "tx", reached(|p| p.sustained && !p.in_time)),
            dots("on schedule", "call", reached(|p| p.in_time)),
        ],
        note: Some("A point is a rate that was held. On the line it was reached; below it, it was not."),
        ..Chart::default()
    };
    Page::filled(|page| {
        page.chart(chart);
        page.details("lag and loss of each", |page| page.table(probe_table(&probes)));
    })
}

fn probe_table(probes: &[(usize, &Probe)]) -> Table {
    let right = ["search", "wanted", "reached", "lost", "lag p99", "in send slots", "a whole slot late"];
    let heads: Vec<(&str, Align)> =
        right.map(|head| (head, Align::Right)).into_iter().chain([("", Align::Left)]).collect();
    let mut table = Table::new(&heads);
    for (search, p) in probes {
        table.row([
            (search + 1).to_string(),
            number::rate(p.wanted_per_s),
            number::rate(p.reached_per_s),
            p.lost.map_or_else(|| "n/a".into(), number::percent),
            number::time(p.lag_p99_ns),
            number::percent(p.lag_p99_of_slot),
            number::percent(p.missed),
            outcome(p).into(),
        ]);
    }
    table
}

fn outcome(probe: &Probe) -> &'static str {
    match (probe.in_time, probe.sustained) {
        (true, _) => "on schedule",
        (false, true) => "sustained",
        (false, false) => "not sustained",
    }
}
