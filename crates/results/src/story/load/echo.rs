//! What the answers took, from the intended departure and from the actual one.

use crate::page::{Look, Page, Series, Table};
use netfathom_model::record::{Distribution, Echo, LoadResult, LoadSummary};
use netfathom_stats as stats;

use crate::story::curves::by_percentile;
use crate::story::distributions::read;
use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &LoadResult) {
    let Some(summary) = &result.summary else { return };
    if summary.echo_loaded.is_none() && summary.echo_idle.is_none() {
        return;
    }
    page.main("Response times (echo)");
    let curves = curves(summary);
    let curves = curves.iter().map(|(series, d)| (series.clone(), d)).collect();
    if let Some(chart) = by_percentile("echo", "Response, service and lag by percentile", curves) {
        page.chart(chart);
    }
    page.table(table(summary));
    page.note("response: from the intended send time to the answer; service: from the actual send time");
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

fn curves(summary: &LoadSummary) -> Vec<(Series, stats::Distribution)> {
    let mut curves = Vec::new();
    let mut curve = |label: &str, color, look, d: &Distribution| {
        curves.push((Series { label: label.into(), color, look, ..Series::default() }, read(d)));
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
    let of = |echo: &Option<Echo>, part: fn(&Echo) -> &Distribution| echo.as_ref().map(|e| part(e).clone());
    let rows = [
        ("response", "idle", of(&summary.echo_idle, |e| &e.response)),
        ("", "loaded", of(&summary.echo_loaded, |e| &e.response)),
        ("service", "idle", of(&summary.echo_idle, |e| &e.service)),
        ("", "loaded", of(&summary.echo_loaded, |e| &e.service)),
        ("lag", "loaded", Some(summary.lag.clone())),
    ];
    for (name, state, d) in rows {
        if let Some(d) = d {
            let q = |ns| number::quantile(&d, ns);
            table.row(&[
                name.to_owned(),
                state.to_owned(),
                q(d.p50_ns),
                q(d.p90_ns),
                q(d.p99_ns),
                q(d.p999_ns),
                q(d.max_ns),
            ]);
        }
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
         instead of {} and a maximum of {} instead of {}: it leaves out the waits that the load itself caused \
         (coordinated omission)",
        number::least(seen.p99_ns),
        number::least(real.p99_ns),
        number::least(seen.p999_ns),
        number::least(real.p999_ns),
        number::least(seen.max_ns),
        number::least(real.max_ns)
    ))
}
