//! `netfathom watch`: where the messages of an application spend their time, from the link layer to its read.

use netfathom_model::plan::{WatchPlan, WatchTarget};
use netfathom_model::record::{Distribution, WatchResult, WatchStage, WatchedStage};

use super::place::Site;
use super::stages::{PARTLY, new_table, row};
use super::{Body, Story, curves, number, pooled};
use crate::page::{Align, Axis, Color, Fill, Look, Page, Series, Step, Table, Waterfall};

impl Story for WatchResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        stages(&mut page, self);
        account(&mut page, self);
        percentiles(&mut page, self);
        let plan = plan(&self.plan);
        super::asked_for(&mut page, &plan);
        Body {
            title: "Messages of a running application",
            done: format!("watched for {}", number::seconds(self.watched_ns)),
            page,
            remarks: remarks(self),
            plan,
            left_out: &[],
        }
    }

    /// Such as `redis-server (pid 712): 24.1 µs from link layer to read, p99 81.0 µs`.
    fn answer(&self) -> String {
        let (name, total) = (name(self), &self.total);
        match (total.n, self.account.seen) {
            (0, 0) => format!("{name}: no message came in {}", number::seconds(self.watched_ns)),
            (0, _) => format!("{name}: no message has times"),
            _ => format!(
                "{name}: {} from link layer to read, p99 {}",
                number::mean(total.mean_ns),
                number::time(total.p99_ns)
            ),
        }
    }

    fn site(&self) -> Site {
        Site::Here
    }
}

fn plan(plan: &WatchPlan) -> Vec<(&'static str, String)> {
    let target = match plan.target {
        WatchTarget::Process(pid) => format!("sockets of process {pid}, and those that they accept"),
        WatchTarget::Port(port) => format!("sockets with local port {port}"),
    };
    vec![
        ("watched", target),
        ("protocol", "TCP over IPv4 and IPv6, what comes in".into()),
        ("time", plan.time_ns.map_or("until it is ended".into(), number::seconds)),
    ]
}

fn name(result: &WatchResult) -> String {
    match (&result.reader, result.plan.target) {
        (Some(reader), _) => format!("{} (pid {})", reader.name, reader.pid),
        (None, WatchTarget::Process(pid)) => format!("process {pid}"),
        (None, WatchTarget::Port(port)) => format!("port {port}"),
    }
}

fn remarks(result: &WatchResult) -> Vec<String> {
    let account = &result.account;
    let most = result.stages.iter().max_by_key(|stage| stage.times.sum_ns).filter(|_| result.total.n > 0);
    let most = most.map(|stage| {
        let share = number::percent(share(result, stage));
        format!("{share} of it is {}: {}", stage.stage.name(), stage.stage.meaning())
    });
    let timed = (account.seen > 0).then(|| {
        let (share, seen) = (number::percent_down(account.share_timed()), number::count(account.seen));
        format!("{share} of {seen} messages are timed, in {}", number::seconds(result.watched_ns))
    });
    let application = result.application.as_ref().filter(|times| times.n > 0).map(|times| {
        let (mean, p99) = (number::mean(times.mean_ns), number::time(times.p99_ns));
        format!("from its read to its answer the application takes {mean}, p99 {p99}")
    });
    [most, timed, application].into_iter().flatten().collect()
}

fn share(result: &WatchResult, stage: &WatchedStage) -> f64 {
    part(result, stage) / result.total.mean_ns.max(f64::MIN_POSITIVE)
}

/// A stage's part of the mean, over all messages: also over those that did not pass it.
fn part(result: &WatchResult, stage: &WatchedStage) -> f64 {
    stage.times.sum_ns as f64 / result.total.n.max(1) as f64
}

/// What no message passed has no row.
fn passed(result: &WatchResult) -> impl Iterator<Item = &WatchedStage> {
    result.stages.iter().filter(|stage| stage.times.n > 0)
}

fn stages(page: &mut Page, result: &WatchResult) {
    page.main("Receive (rx): link layer to application");
    if result.total.n == 0 {
        page.text("n/a: no message has times");
        return;
    }
    waterfall(page, result);
    let most = passed(result).map(|stage| share(result, stage)).fold(f64::MIN_POSITIVE, f64::max);
    let mut table = new_table();
    for stage in passed(result) {
        row(&mut table, stage.stage.name(), &stage.times, Some(share(result, stage)), most);
    }
    row(&mut table, "total", &result.total, Some(1.0), most);
    if let Some(times) = result.application.as_ref().filter(|times| times.n > 0) {
        row(&mut table, "application *", times, None, most);
    }
    page.table(table);
    if result.application.is_some() {
        page.note("* beside the total: from the last byte read to the first byte sent on the same socket");
    }
    if passed(result).any(|stage| stage.times.n < result.total.n) {
        page.note(PARTLY);
    }
}

fn waterfall(page: &mut Page, result: &WatchResult) {
    let mut at = 0.0;
    let bar = |stage: &WatchedStage| {
        let from = at;
        at += part(result, stage);
        let ends = (from, at);
        let text = (number::mean(part(result, stage)), short_percent(share(result, stage)));
        step((stage.stage.name(), stage.stage.meaning()), (color(stage.stage), Fill::Full), ends, text)
    };
    let mut steps: Vec<Step> = passed(result).map(bar).collect();
    let mean = result.total.mean_ns;
    let text = (number::mean(mean), number::percent(1.0));
    steps.push(step(("total", "mean over all timed messages"), ("ink", Fill::Sum), (0.0, mean), text));
    page.waterfall(Waterfall {
        about: "Stages of a message on its way in, one after the other".into(),
        unit: Axis::Time,
        steps,
        note: "A bar is the stage's part of the mean time over all messages, also over those that did not pass it.",
    });
}

/// A share that fits beside a bar.
fn short_percent(share: f64) -> String {
    if share < 0.001 { "<0.1 %".into() } else { number::percent(share) }
}

fn step(
    (name, about): (&'static str, &'static str),
    (color, fill): (Color, Fill),
    ends: (f64, f64),
    (text, share): (String, String),
) -> Step {
    Step::Bar { name, about, color, fill, ends, text, aside: None, share }
}

fn color(stage: WatchStage) -> Color {
    match stage {
        WatchStage::Protocol => "stage-protocol",
        WatchStage::Lock => "stage-backlog",
        WatchStage::Hole => "stage-device",
        WatchStage::Wakeup => "stage-wakeup",
        WatchStage::Runqueue => "stage-runqueue",
        WatchStage::Blocked => "stage-driver",
        WatchStage::Sockqueue => "stage-sockqueue",
        WatchStage::Read => "stage-read",
    }
}

fn account(page: &mut Page, result: &WatchResult) {
    let account = &result.account;
    page.main("Account: what became of the messages");
    let mut table = Table::new(&[("", Align::Left), ("messages", Align::Right), ("", Align::Left)]);
    let rows = [
        ("seen", account.seen, "what TCP got at once: a segment, or several that GRO joined"),
        ("timed", account.timed, ""),
        ("merged", account.merged, "many waited in one socket: they have the times of the one before"),
        ("refused", account.refused, "by TCP, which had no room; they come again"),
        ("unstamped", account.unstamped, "no stamp of the link layer"),
        (
            "unfollowed",
            account.unfollowed,
            "came before the first read of their thread, or a switch of it was not seen",
        ),
        ("crowded", account.crowded, "too many waited in one socket"),
        ("unread", account.unread().max(0).unsigned_abs(), "in the end, or when the connection was closed"),
    ];
    for (name, count, why) in rows.into_iter().filter(|(name, count, _)| *count > 0 || *name == "seen") {
        table.row_open([name, &number::count(count)], why);
    }
    page.table(table);
    let bytes = account.bytes_read.max(1) as f64;
    let timed = number::percent_down((account.bytes_timed as f64 / bytes).min(1.0));
    let (read, threads) =
        (number::count(account.bytes_read), super::counted(account.threads as u32, "thread"));
    page.note(&format!("{timed} of {read} bytes that were read are of timed messages; {threads} followed"));
}

fn percentiles(page: &mut Page, result: &WatchResult) {
    let known: Vec<(&str, &'static str, &Distribution)> = [("total", "rx", &result.total)]
        .into_iter()
        .chain(passed(result).map(|stage| (stage.stage.name(), color(stage.stage), &stage.times)))
        .filter(|(_, _, times)| times.n > 0)
        .collect();
    if known.is_empty() {
        return;
    }
    page.heading("Percentiles");
    let times: Vec<_> = known.iter().map(|(_, _, times)| pooled::read(times)).collect();
    let series = |&(name, color, _): &(&str, &'static str, &Distribution)| {
        let look = if name == "total" { Look::Strong } else { Look::Thin };
        Series { label: name.into(), color, look, ..Series::default() }
    };
    let all = known.iter().map(series).zip(&times).collect();
    if let Some(chart) = curves::by_percentile("watch-percentiles", "Time by percentile", all) {
        page.chart(chart);
    }
    let right = ["min", "p50", "p90", "p99", "p99.9", "max"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[[("stage", Align::Left)].as_slice(), right.as_slice()].concat());
    for (name, _, d) in &known {
        let q =
            [d.min_ns, d.p50_ns, d.p90_ns, d.p99_ns, d.p999_ns, d.max_ns].map(|ns| number::quantile(d, ns));
        table.row([[(*name).to_owned()].as_slice(), &q].concat());
    }
    page.table(table);
}
