//! What the answers took, from the intended departure and from the actual one.

use crate::page::{Look, Page, Series, Table};
use netfathom_model::record::{Distribution, Echo, LoadResult, LoadSummary};
use netfathom_stats as stats;

use crate::story::curves::by_percentile;
use crate::story::number;

/// A loaded median below this part of the idle one is worth a word.
const FASTER: f64 = 0.9;

pub(super) fn draw(page: &mut Page, result: &LoadResult) {
    let Some(summary) = &result.summary else { return };
    if summary.echo_loaded.is_none() && summary.echo_idle.is_none() {
        return;
    }
    page.main("Response times (echo)");
    page.chart(by_percentile("echo", "Response, service and lag by percentile", curves(summary)));
    page.table(table(summary));
    page.note("response: from the intended send time to the answer; service: from the actual send time");
    if is_faster_loaded(summary) {
        page.note("the loaded median is below the idle one: idle CPUs sleep between messages, and their wake-up is part of the response");
    }
    page.rest();
    page.note("idle: so few messages that none waits for another; lag: actual minus intended send time");
    for (name, echo, sent) in [
        ("idle", &summary.echo_idle, None),
        ("loaded", &summary.echo_loaded, Some(super::loaded(result).map(|t| t.load.sent).sum::<u64>())),
    ] {
        let Some(echo) = echo else {
            page.text(&format!("{name}: n/a: there was no such trial"));
            continue;
        };
        let of = sent.map_or(String::new(), |sent| format!(" of {}", number::count(sent)));
        page.text(&format!("{name}: {}{of} messages were answered", number::count(echo.answered)));
    }
    if let Some(text) = summary.echo_loaded.as_ref().and_then(omission) {
        page.text(&text);
    }
}

/// At the median, by more than chance makes of it.
fn is_faster_loaded(summary: &LoadSummary) -> bool {
    let p50 =
        |echo: &Option<Echo>| echo.as_ref().filter(|e| e.response.n > 0).map(|e| e.response.p50_ns as f64);
    p50(&summary.echo_idle)
        .zip(p50(&summary.echo_loaded))
        .is_some_and(|(idle, loaded)| loaded < FASTER * idle)
}

fn curves(summary: &LoadSummary) -> Vec<(Series, stats::Distribution)> {
    let mut curves = Vec::new();
    let mut curve = |label: &str, color, look, d: &Distribution| {
        curves.push((Series::new(label, color, look), d.into()));
    };
    if let Some(echo) = &summary.echo_loaded {
        curve("response, loaded", "rx", Look::Strong, &echo.response);
        curve("service, loaded", "tx", Look::Strong, &echo.service);
    }
    curve("lag, loaded", "lag", Look::Strong, &summary.lag);
    if let Some(echo) = &summary.echo_idle {
        curve("response, idle", "rx", Look::Dashed, &echo.response);
        curve("service, idle", "tx", Look::Dashed, &echo.service);
    }
    curves
}

fn table(summary: &LoadSummary) -> Table {
    let mut table = Table::of("<|<|p50|p90|p99|p99.9|max");
    let (idle, loaded) = (summary.echo_idle.as_ref(), summary.echo_loaded.as_ref());
    let rows = [
        ("response", "idle", idle.map(|e| &e.response)),
        ("", "loaded", loaded.map(|e| &e.response)),
        ("service", "idle", idle.map(|e| &e.service)),
        ("", "loaded", loaded.map(|e| &e.service)),
        ("lag", "loaded", Some(&summary.lag)),
    ];
    for (name, state, d) in rows {
        let Some(d) = d else { continue };
        let [_min, quantiles @ ..] = number::quantiles(d);
        table.row([name, state].map(str::to_owned).into_iter().chain(quantiles));
    }
    table
}

/// Coordinated omission, in this run's own numbers.
fn omission(echo: &Echo) -> Option<String> {
    if echo.response.n == 0 || echo.service.n == 0 {
        return None;
    }
    let (seen, real) = (&echo.service, &echo.response);
    Some(format!(
        "a tester that starts its clock at the actual send time would have reported p99 {} instead of {}, p99.9 {} \
         instead of {} and a maximum of {} instead of {}: it leaves out the lag, which is coordinated omission if the \
         load held up the sender, and the generator's own if another program did",
        number::least(seen.p99_ns),
        number::least(real.p99_ns),
        number::least(seen.p999_ns),
        number::least(real.p999_ns),
        number::least(seen.max_ns),
        number::least(real.max_ns)
    ))
}
