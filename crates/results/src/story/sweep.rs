//! `netfathom ttcp sweep`: the rate with each buffer, and what limited it.

use crate::page::{Align, Cell, Page, Table};
use netfathom_model::print::bit_rate;
use netfathom_model::record::{Record, SweepPoint, SweepRate, SweepResult};

use super::{MOST_ROWS, headline, notes, number};
use crate::story::{carried, swept};

/// Columns of the longest bar.
const BAR: usize = 20;

pub(super) fn draw(page: &mut Page, record: &Record, result: &SweepResult) {
    headline::draw(page, record, &answer(result), &swept::there(result));
    let scale = Scale::of(result);
    for line in swept::lines(result) {
        page.heading(&format!("Rate over the send buffer, {}", swept::series(&line[0])));
        bars(page, line, scale);
    }
    if !result.points.is_empty() {
        page.note("bars are logarithmic, from half of the lowest rate; the share is that of the time");
        causes(page, result);
        rates(page, result);
    }
    page.heading("What was asked for");
    for (name, value) in swept::plan_words(&result.plan) {
        page.bullet(&format!("{name}: {value}"));
    }
    notes::findings(page, record);
}

pub(super) fn answer(result: &SweepResult) -> String {
    swept::answer(result)
}

/// From half of the lowest rate, which so has a bar, to the highest.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(result: &SweepResult) -> Self {
        let rates =
            || result.points.iter().filter_map(|p| p.rate).map(|r| r.median_bytes_per_s).filter(|&r| r > 0.0);
        Self { low: rates().fold(f64::INFINITY, f64::min) / 2.0, high: rates().fold(0.0, f64::max) }
    }

    fn share(self, bytes_per_s: f64) -> f64 {
        (bytes_per_s / self.low).ln() / (self.high / self.low).ln()
    }
}

fn bars(page: &mut Page, line: &[SweepPoint], scale: Scale) {
    let heads =
        [("buffer", Align::Right), ("rate", Align::Right), ("", Align::Left), ("limited by", Align::Left)];
    let mut table = Table::new(&heads).bars(2, BAR);
    for point in line.iter().take(MOST_ROWS) {
        table.row([
            swept::buffer(point.socket_buffer_bytes).into(),
            swept::median(point.rate).into(),
            Cell::Bar { bar: point.rate.map_or(0.0, |r| scale.share(r.median_bytes_per_s)) },
            swept::cause(point).into(),
        ]);
    }
    page.table(table);
    more(page, line.len());
}

fn more(page: &mut Page, rows: usize) {
    if rows > MOST_ROWS {
        page.note(&format!("… and {} more in the record", rows - MOST_ROWS));
    }
}

fn causes(page: &mut Page, result: &SweepResult) {
    let causes = swept::causes(result);
    if causes.is_empty() {
        return;
    }
    page.heading("What it means");
    for (cause, points, explanation) in causes {
        page.bullet(&format!(
            "{} ({}): {}",
            cause.name(),
            super::counted(points as u32, "point"),
            explanation.said
        ));
        page.detail(&format!("what to do: {}", explanation.remedy));
    }
}

fn rates(page: &mut Page, result: &SweepResult) {
    page.heading("The numbers");
    let bounded = result.points.iter().filter_map(|p| p.rate).all(|r| r.interval_bytes_per_s.is_some());
    let ends = if bounded { ["95 % from", "to"] } else { ["lowest", "highest"] };
    let heads = ["buffer", "granted", "write", "-D", "median", ends[0], ends[1], "trials"];
    let mut table = Table::new(&heads.map(|h| (h, Align::Right)));
    for p in result.points.iter().take(MOST_ROWS) {
        let rate = |of: &dyn Fn(&SweepRate) -> f64| {
            p.rate.as_ref().map_or_else(|| "n/a".into(), |r| bit_rate(of(r)))
        };
        table.row(&[
            swept::buffer(p.socket_buffer_bytes),
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
    more(page, result.points.len());
    page.note("rates are those until the receiver had everything");
    if !bounded {
        page.note("lowest and highest of the trials; six of them or more have an interval for their median");
    }
    for p in &result.points {
        for (trial, how) in p.trials.iter().filter_map(|t| Some((t, carried::ended(&t.end)?))) {
            let of = format!("buffer {}, {}", swept::buffer(p.socket_buffer_bytes), swept::series(p));
            page.bullet(&format!("trial {} ({of}): {how}", u64::from(trial.index) + 1));
        }
    }
}
