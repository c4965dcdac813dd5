//! `netfathom join`: times between the places that a message passes, and what the files held.

mod ways;

use crate::page::{Axis, Chart, Look, Page, Series, Table};
use netfathom_model::path::Direction;
use netfathom_model::plan::{ClockChoice, JoinPlan};
use netfathom_model::record::{ClockOffset, JoinResult, JoinedSpan, KindCount, LogFile, PacketKind};

use super::{Body, Story, curves, number, place::Site};

impl Story for JoinResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        spans(&mut page, self);
        percentiles(&mut page, self);
        captures(&mut page, self);
        logs(&mut page, self);
        clocks(&mut page, self);
        Body {
            title: "Time in the network stack, from captures and logs".into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan(&self.plan),
            left_out: &[],
        }
    }

    /// Such as `A message takes 4.20 µs to send and 12.3 µs to receive`.
    fn answer(&self) -> String {
        let ways = ways::ways(self);
        if ways.is_empty() {
            return "no message was in both a capture and a log, so there is no answer yet".into();
        }
        let time = |w: &ways::JoinedWay| {
            let above = ways::above_shortest(self, w.span);
            let steps =
                ways::doubt(w.span).map_or_else(String::new, |ns| format!(" (±{})", number::mean(ns)));
            format!("{}{steps}{above} to {}", number::mean(w.span.times.mean_ns), w.direction.verb())
        };
        format!("A message takes {}", ways.iter().map(time).collect::<Vec<_>>().join(" and "))
    }

    fn site(&self) -> Site {
        Site::Elsewhere("captures and logs")
    }
}

fn plan(plan: &JoinPlan) -> Vec<(&'static str, String)> {
    vec![
        ("captures", plan.captures.join(", ")),
        ("logs", plan.logs.join(", ")),
        ("a message's number", ways::numbering(plan)),
        ("UDP port", plan.port.map_or("any".into(), |p| p.to_string())),
        ("clocks", ways::clock(plan).into()),
        ("window", format!("{} messages", plan.window)),
    ]
}

fn finished(result: &JoinResult) -> String {
    let plan = &result.plan;
    format!(
        "{} of {} captures and {} of {} logs are read",
        result.captures.len(),
        plan.captures.len(),
        result.logs.len(),
        plan.logs.len()
    )
}

fn remarks(result: &JoinResult) -> Vec<String> {
    let by = |w: &ways::JoinedWay| {
        let (joined, logged) = (number::count(w.span.times.n), number::count(w.logged));
        let what = if w.direction == Direction::Tx { "sent" } else { "received" };
        format!("{joined} of {logged} {what} messages")
    };
    let by: Vec<String> = ways::ways(result).iter().map(by).collect();
    let clocks = format!("clocks {}", ways::clock(&result.plan));
    if by.is_empty() { Vec::new() } else { vec![format!("matched {}", by.join(", ")), clocks] }
}

fn spans(page: &mut Page, result: &JoinResult) {
    page.main("Time between capture points, per message");
    if result.spans.is_empty() {
        page.text("n/a: no message was seen at two places");
        return;
    }
    let mut table = Table::of("<way|messages|mean|p50|p99|max|below zero");
    for span in &result.spans {
        let (d, way) = (&span.times, span.direction.map_or("between", Direction::name));
        let place = format!("{} -> {}", span.from, span.to);
        if d.n == 0 {
            table.row_across(way, &format!("{place}: n/a: no message was seen at both"));
            continue;
        }
        table.row(&[
            way.to_owned(),
            number::count(d.n),
            number::mean(d.mean_ns),
            number::quantile(d, d.p50_ns),
            number::quantile(d, d.p99_ns),
            number::quantile(d, d.max_ns),
            number::count(d.negative),
        ]);
        let steps = ways::uncertainty(span)
            .map_or_else(String::new, |ns| format!("; ±{} clock resolution", number::mean(ns)));
        table.row_across("", &format!("{place}, up to {}{steps}", number::rate(span.peak_per_s)));
    }
    page.table(table);
    if result.spans.iter().any(|s| s.times.negative > 0) {
        page.note("below zero: negative times from clock error; all statistics include them");
    }
    if result.plan.clock == ClockChoice::Fitted {
        let by_way_out = result.spans.iter().any(|span| ways::is_by_way_out(result, span));
        let except = if by_way_out { ", except to receive, which has what that removed" } else { "" };
        page.note(&format!("the clocks were fitted so that the shortest time of each is zero{except}"));
    }
}

/// The mean and the longest time of each window, by the time at the first place.
fn over_time(page: &mut Page, place: usize, span: &JoinedSpan) {
    let windows = &span.series;
    let chart = |id: String, title: String, height, values| Chart {
        id,
        title,
        about: "Times by window, by the time at the first place.".into(),
        x: Axis::Run,
        y: Axis::Time,
        height,
        sync: Some(format!("join-{}", windows.window_ns)),
        xs: curves::middles(windows.window_ns, windows.n.len()),
        series: vec![curve(span, "all".into(), Look::Strong, values)],
        ..Chart::default()
    };
    let name = name(span);
    page.chart(chart(format!("span-{place}"), format!("Mean, {name}"), 200, curves::means(windows)));
    page.chart(chart(format!("span-max-{place}"), format!("Longest, {name}"), 130, curves::longest(windows)));
}

fn curve(span: &JoinedSpan, label: String, look: Look, values: Vec<Option<f64>>) -> Series {
    Series { values, ..Series::new(label, span.direction.map_or("rate", Direction::name), look) }
}

fn name(span: &JoinedSpan) -> String {
    format!("{} -> {}", span.from, span.to)
}

fn percentile_chart(page: &mut Page, result: &JoinResult) {
    let times = result.spans.iter().map(|span| &span.times);
    let look = |place: usize| {
        let before = result.spans[..place].iter().filter(|s| s.direction == result.spans[place].direction);
        [Look::Strong, Look::Dashed, Look::Thin][before.count() % 3]
    };
    // Names may be alike; what a switch of the legend belongs to must not be.
    let series = |(i, span): (usize, &JoinedSpan)| {
        curve(span, format!("{}: {}", i + 1, name(span)), look(i), Vec::new())
    };
    let curves = result.spans.iter().enumerate().map(series).zip(times).collect();
    page.chart(curves::by_percentile("percentiles", "Time by percentile", curves));
}

fn percentiles(page: &mut Page, result: &JoinResult) {
    let known = || result.spans.iter().filter(|s| s.times.n > 0);
    if known().next().is_none() {
        return;
    }
    page.rest();
    for (place, span) in result.spans.iter().enumerate().filter(|(_, s)| s.times.n > 0) {
        over_time(page, place, span);
    }
    percentile_chart(page, result);
    page.gap();
    let mut table = Table::of("<way|min|p50|p90|p99|p99.9|max|S*");
    for span in known() {
        let way = span.direction.map_or("between", Direction::name).to_owned();
        let error = span.times.mean_error_ns.map_or_else(|| "-".into(), number::mean);
        table.row([way].into_iter().chain(number::quantiles(&span.times)).chain([error]));
    }
    page.table(table);
    page.note("S*: the papers' mean error; assumes independence, which queued messages lack");
}

fn captures(page: &mut Page, result: &JoinResult) {
    page.heading("Captures");
    if result.captures.is_empty() {
        page.text("n/a: none was read");
    }
    for place in 0..result.captures.len() {
        draw_capture(page, place, result);
    }
}

fn draw_capture(page: &mut Page, place: usize, result: &JoinResult) {
    let c = &result.captures[place];
    let links = if c.links.is_empty() { "no link type".into() } else { c.links.join(", ") };
    page.bullet(&format!("{}: {}; {links}", c.name, c.format));
    ways::steps(&c.steps_ns).iter().for_each(|steps| page.detail(steps));
    page.detail(&format!(
        "{} packets, {} bytes captured, {} from the first to the last",
        number::count(c.packets),
        number::count(c.bytes),
        number::seconds(c.span_ns)
    ));
    if c.by_log.is_empty() {
        draw_kinds(page, "", c.packets, &c.kinds);
    }
    for of_log in &c.by_log {
        let log = result.logs.get(of_log.log as usize).map_or("n/a", |log| &log.name);
        draw_kinds(page, &format!("with {log}: "), c.packets, &of_log.kinds);
    }
    if c.kinds.iter().all(|k| k.kind != PacketKind::Joined || k.count == 0) {
        page.detail("no packet of it was a message of a log");
    }
    ways::out_of_order(result, place).for_each(|order| page.detail(&order));
    if c.backwards > 0 {
        page.detail(&format!(
            "{} packets have a time before that of their predecessor",
            number::count(c.backwards)
        ));
    }
    if c.untimed > 0 {
        page.detail(&format!("{} packets have no capture time", number::count(c.untimed)));
    }
    damage(page, &c.damage);
}

fn draw_kinds(page: &mut Page, with: &str, packets: u64, kinds: &[KindCount]) {
    let sum: u64 = kinds.iter().map(|k| k.count).sum();
    let relation = if sum == packets { "=" } else { "≠" };
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|k| k.count > 0)
        .map(|k| format!("{} {}", k.kind.name(), number::count(k.count)))
        .collect();
    if !kinds.is_empty() {
        page.detail(&format!("{with}{} {relation} {}", number::count(packets), kinds.join(" + ")));
    }
}

fn damage(page: &mut Page, damage: &Option<String>) {
    damage.iter().for_each(|text| page.detail(&format!("DAMAGED: {text}")));
}

fn logs(page: &mut Page, result: &JoinResult) {
    page.heading("Logs");
    if result.logs.is_empty() {
        page.text("n/a: none was read");
    }
    for log in &result.logs {
        draw_log(page, log, result);
    }
}

fn draw_log(page: &mut Page, l: &LogFile, result: &JoinResult) {
    let times = match (l.has_sent, l.has_received) {
        (true, true) => "of sending and receiving",
        (true, false) => "of sending",
        (false, true) => "of receiving",
        (false, false) => "none",
    };
    page.bullet(&format!("{}: {}; times: {times}", l.name, l.format));
    page.detail(&format!("{} messages; clock: {}", number::count(l.messages), l.clock));
    ways::steps(&[l.step_ns]).iter().for_each(|steps| page.detail(steps));
    for (i, capture) in result.captures.iter().enumerate() {
        let missing = l.missing.get(i).map_or_else(|| "n/a".into(), |&n| number::count(n));
        page.detail(&format!("missing in {}: {missing}", capture.name));
    }
    if l.unusable > 0 {
        page.detail(&format!("repeated records, left out: {}", number::count(l.unusable)));
    }
    damage(page, &l.damage);
}

fn clocks(page: &mut Page, result: &JoinResult) {
    if result.clocks.is_empty() {
        return;
    }
    page.heading("Clocks: what was added to a log's times");
    for c in &result.clocks {
        let name = |named: Option<&String>| named.map_or("n/a", String::as_str).to_owned();
        page.bullet(&format!(
            "{} on {}: {}",
            name(result.logs.get(c.log as usize).map(|l| &l.name)),
            name(result.captures.get(c.capture as usize).map(|f| &f.name)),
            c.how
        ));
        page.detail(&offset(c));
    }
}

fn offset(c: &ClockOffset) -> String {
    let moved = c.moved_ns.map_or("movement unknown".into(), |ns| format!("moved by {}", number::time(ns)));
    let drift = c.drift_ppm.map_or("drift unknown".into(), |ppm| format!("drift {ppm:+.4} ppm"));
    format!("{} ns; {moved}; {drift}", number::signed(c.offset_ns))
}
