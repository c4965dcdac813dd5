//! `netfathom ttcp sweep`: the rate with each buffer, and what limited it.

mod points;

use crate::page::{Axis, Cell, Chart, Color, Look, Mark, Page, Series, Table};
use itertools::Itertools as _;
use netfathom_model::plan::{Place, SweepEnds};
use netfathom_model::print::bit_rate;
use netfathom_model::print::counted;
use netfathom_model::record::{Cause, Explanation, SweepPoint, SweepRate, SweepResult};

use super::{Body, MOST_ROWS, Story, logarithmic, more, number, place::Site};
use crate::story::transfer;

/// Columns of the longest bar.
const BAR: usize = 20;
/// Lines of points in the short view.
const MOST_SHORT: usize = 2;

impl Story for SweepResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        let medians = self.points.iter().filter_map(|p| p.rate).map(|r| r.median_bytes_per_s);
        let share = logarithmic(medians.filter(|&rate| rate > 0.0));
        for (i, line) in points::lines(self).enumerate() {
            page.head(&format!("Rate by send buffer, {}", points::series(&line[0])), i < MOST_SHORT);
            if i == 0 {
                page.chart(chart(self));
            }
            bars(&mut page, line, &share);
        }
        if !self.points.is_empty() {
            page.note("bars are logarithmic; %: share of the time");
            causes(&mut page, self);
            rates(&mut page, self);
            page.details("each trial", |page| page.table(trials(self)));
        }
        let plan = points::plan_words(&self.plan);
        super::asked_for(&mut page, &plan);
        Body {
            title: "How fast a transfer is with each send buffer".into(),
            done: points::finished(self),
            page,
            remarks: points::remarks(self),
            plan,
            left_out: &[],
        }
    }

    fn answer(&self) -> String {
        points::answer(self)
    }

    fn site(&self) -> Site {
        match &self.plan.ends {
            SweepEnds::Lab { .. } => Site::At(Place::Lab),
            SweepEnds::Loopback => Site::At(Place::Loopback),
            SweepEnds::Host { name, .. } => Site::To(name.clone()),
        }
    }
}

const COLORS: [Color; 6] = ["muted", "tx", "rx", "lag", "call", "planned"];
const SHAPES: [&str; 4] = ["circle", "square", "diamond", "triangle"];
/// Where the kernel's own buffer lies behind the largest that was asked for, as a power of ten.
const BESIDE: f64 = 0.6;

/// The median rate over the send buffer, with a mark by what limited it.
fn chart(result: &SweepResult) -> Option<Chart> {
    let known: Vec<&SweepPoint> = result.points.iter().filter(|p| p.rate.is_some()).collect();
    let asked = known.iter().filter_map(|p| p.socket_buffer_bytes).max();
    let auto = asked.map_or(0.0, |bytes| f64::from(bytes.max(1)).log10() + BESIDE);
    let place = |p: &SweepPoint| p.socket_buffer_bytes.map_or(auto, |bytes| f64::from(bytes.max(1)).log10());
    let places = known.iter().map(|p| (place(p), points::buffer(p.socket_buffer_bytes)));
    let places = places.sorted_by(|a, b| a.0.total_cmp(&b.0)).dedup_by(|a, b| a.0 == b.0);
    let places: Vec<(f64, String)> = places.collect();
    let line = |(i, line): (usize, &[SweepPoint])| {
        let at = |x: f64| line.iter().find(|p| p.rate.is_some() && place(p) == x);
        let found: Vec<Option<&SweepPoint>> = places.iter().map(|(x, _)| at(*x)).collect();
        let look = Look::QUIET[i / 2 % Look::QUIET.len()];
        Series {
            values: found.iter().map(|p| p.and_then(|p| p.rate).and_then(median)).collect(),
            marks: found.iter().map(|p| p.and_then(mark)).collect(),
            ..Series::new(points::series(&line[0]), COLORS[i % COLORS.len()], look)
        }
    };
    let series: Vec<Series> = points::lines(result).enumerate().map(line).collect();
    let key = |(cause, points, _): (Cause, usize, &Explanation)| {
        let counted = counted(points, "point");
        (format!("{} ({counted})", cause.name()), color(Some(cause)), shape(Some(cause)))
    };
    let is_bounded = known.iter().any(|p| p.rate.is_some_and(|r| r.interval_bytes_per_s.is_some()));
    let whiskers = if is_bounded {
        "Marks have the color and the shape of what limited most of the trials. Whiskers are 95 % intervals of the median, \
         by the sign test."
    } else {
        "Marks have the color and the shape of what limited most of the trials. Whiskers reach from the slowest trial to \
         the fastest."
    };
    series.iter().flat_map(|s| &s.values).any(Option::is_some).then(|| Chart {
        id: "sweep".into(),
        title: "Median rate".into(),
        about: "The median rate of each point, logarithmic, over the requested send buffer, logarithmic too."
            .into(),
        x: Axis::Named,
        y: Axis::LogBitRate,
        height: 380,
        xs: places.iter().map(|(x, _)| *x).collect(),
        names: places.iter().map(|(_, name)| name.clone()).collect(),
        x_label: "send buffer".into(),
        key: points::causes(result).into_iter().map(key).collect(),
        series,
        note: Some(whiskers),
        ..Chart::default()
    })
}

/// Bits a second, which have a place on a logarithmic axis.
fn median(rate: SweepRate) -> Option<f64> {
    Some(rate.median_bytes_per_s * 8.0).filter(|&bits| bits > 0.0)
}

fn mark(point: &SweepPoint) -> Option<Mark> {
    let rate = point.rate?;
    let ends = points::range(&rate);
    let cause = point.cause.map(|(cause, _)| cause);
    Some(Mark { color: color(cause), shape: shape(cause), ends: (ends.0 * 8.0, ends.1 * 8.0) })
}

/// A color of its own for each cause, which the style sheet has by its name in the record.
fn color(cause: Option<Cause>) -> String {
    let name = cause.and_then(|cause| serde_json::to_value(cause).ok());
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("unknown");
    format!("cause-{}", name.replace('_', "-"))
}

/// Beside its color, for those who do not see it.
fn shape(cause: Option<Cause>) -> &'static str {
    SHAPES[cause.map_or(0, |cause| cause as usize) % SHAPES.len()]
}

fn trials(result: &SweepResult) -> Table {
    let mut table = Table::of(
        "trial|buffer|write|-D|bytes|until all was there|rate|round trip|sent again|<ended|<what held it up",
    );
    let all = result.points.iter().flat_map(|p| p.trials.iter().map(move |t| (p, t)));
    for (p, t) in all.sorted_by_key(|(_, t)| t.index) {
        let none = || "n/a".to_owned();
        let figures = [
            super::trial_number(t.index),
            points::buffer(p.socket_buffer_bytes),
            number::count(p.write_bytes),
            if p.no_delay { "on" } else { "off" }.into(),
            number::count(t.bytes),
            number::seconds(t.closed_ns.unwrap_or(t.duration_ns)),
            t.bytes_per_s().map_or_else(none, bit_rate),
            t.tcp.as_ref().map_or_else(none, |tcp| number::mean(f64::from(tcp.rtt_us) * 1e3)),
            t.tcp.as_ref().map_or_else(none, |tcp| number::count(tcp.retransmits.into())),
            transfer::ended(&t.end).0.into(),
        ];
        table.row_open(&figures, t.explanation.as_ref().map_or("n/a", |e| &e.text));
    }
    table
}

fn bars(page: &mut Page, line: &[SweepPoint], share: &impl Fn(f64) -> f64) {
    let mut table = Table::of("buffer|rate|<|<limited by").bars(2, BAR);
    for point in line.iter().take(MOST_ROWS) {
        table.row([
            points::buffer(point.socket_buffer_bytes).into(),
            points::median(point.rate).into(),
            Cell::Bar { bar: point.rate.map_or(0.0, |r| share(r.median_bytes_per_s)) },
            points::cause(point).into(),
        ]);
    }
    page.table(table);
    more(page, line.len(), "point");
}

fn causes(page: &mut Page, result: &SweepResult) {
    let causes = points::causes(result);
    if causes.is_empty() {
        return;
    }
    page.heading("Causes");
    for (cause, points, explanation) in causes {
        page.bullet(&format!("{} ({}): {}", cause.name(), counted(points, "point"), explanation.text));
        page.detail(&format!("what to do: {}", explanation.remedy));
    }
}

fn rates(page: &mut Page, result: &SweepResult) {
    page.heading("Rates");
    let bounded = result.points.iter().filter_map(|p| p.rate).all(|r| r.interval_bytes_per_s.is_some());
    let ends = if bounded { ["95 % from", "to"] } else { ["lowest", "highest"] };
    let mut table = Table::of("buffer|granted|write|-D|median").figures(ends).figures(["trials"]);
    for p in result.points.iter().take(MOST_ROWS) {
        let rate = |of: &dyn Fn(&SweepRate) -> f64| {
            p.rate.as_ref().map_or_else(|| "n/a".into(), |r| bit_rate(of(r)))
        };
        table.row(&[
            points::buffer(p.socket_buffer_bytes),
            p.granted_buffer_bytes.map_or_else(|| "-".into(), |bytes| number::count(bytes.into())),
            number::count(p.write_bytes),
            if p.no_delay { "yes" } else { "no" }.into(),
            rate(&|r| r.median_bytes_per_s),
            rate(&|r| r.interval_bytes_per_s.filter(|_| bounded).map_or(r.lowest_bytes_per_s, |i| i.0)),
            rate(&|r| r.interval_bytes_per_s.filter(|_| bounded).map_or(r.highest_bytes_per_s, |i| i.1)),
            p.trials.len().to_string(),
        ]);
    }
    page.table(table);
    more(page, result.points.len(), "point");
    page.note("rates are those until the receiver had everything");
    if !bounded {
        page.note("lowest and highest of the trials; six of them or more have an interval for their median");
    }
    for p in &result.points {
        for trial in &p.trials {
            let (how, Some(rest)) = transfer::ended(&trial.end) else { continue };
            let of = format!("buffer {}, {}", points::buffer(p.socket_buffer_bytes), points::series(p));
            page.bullet(&format!("trial {} ({of}): {how}{rest}", super::trial_number(trial.index)));
        }
    }
}
