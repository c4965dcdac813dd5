//! The taps beside each other on the same load: a column a tap, a row a quantity.

use crate::page::{Page, Table};
use netfathom_model::plan::TapChoice;
use netfathom_model::print::Scale;
use netfathom_model::record::{Estimate, SelfCost, StackResult, TapRow};

use super::cost::{added, distorts};
use crate::story::number;

/// Taps beside each other; there are no more kinds of them.
const MOST_TAPS: usize = 3;

/// What stands for a value that there is not.
const UNKNOWN: &str = "-";

/// A value, and a remark on it.
type Remarked = (String, &'static str);

pub(super) fn draw(page: &mut Page, result: &StackResult) {
    // One that only checks the other stands under the cross-check.
    if result.plan.tap != TapChoice::All {
        return;
    }
    // A tap that could not run is listed under what was left out; one alone has nothing to compare with.
    let ran: Vec<&TapRow> = result.taps.iter().filter(|tap| tap.trials > 0).collect();
    if ran.len() < 2 {
        return;
    }
    page.heading("The taps compared, on the same load");
    for taps in ran.chunks(MOST_TAPS) {
        page.table(build(taps));
    }
    page.note("bias: mean minus that of the first tap, over what both see; ±: half the 95 % interval between trials, \
               not widened for a run that stops on its precision, as in the answer");
    page.note("not significant: the interval includes zero");
    let costs = || ran.iter().filter_map(|t| t.cost.as_ref());
    if costs().any(|c| distorts(c.send_call_share) || distorts(c.rate_lost)) {
        page.note(
            "! over 10 %: takes more than 10 % of the send call or of the rate; what it says is the time of a \
             slower program, although nothing was lost",
        );
    }
}

fn build(taps: &[&TapRow]) -> Table {
    let mut table = Table::of("<").figures(taps.iter().map(|t| t.tap.name()));
    let mut row = |name: &str, of: &dyn Fn(&TapRow) -> Remarked| {
        let values: Vec<Remarked> = taps.iter().map(|tap| of(tap)).collect();
        if values.iter().all(|value| value.0 == UNKNOWN) {
            return;
        }
        let cells = values.iter().map(|s| s.0.clone());
        table.row([name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>());
        if values.iter().any(|s| !s.1.is_empty()) {
            let remarks = values.iter().map(|s| s.1);
            table.row([""].into_iter().chain(remarks).collect::<Vec<_>>());
        }
    };
    row("trials", &|t| (t.trials.to_string(), ""));
    row("mean tx", &|t| mean(t.tx_ns));
    row("bias tx", &|t| bias(t.tx_bias_ns));
    row("mean rx", &|t| mean(t.rx_ns));
    row("bias rx", &|t| bias(t.rx_bias_ns));
    row("send() longer by", &|t| bias(cost(t, |c| Some(c.send_call_ns))));
    row("  of the call", &|t| share(cost(t, |c| c.send_call_share)));
    row("reader longer by", &|t| bias(cost(t, |c| c.reader_cpu_ns)));
    row("rate lost", &|t| share(cost(t, |c| c.rate_lost)));
    row("messages not timed", &|t| (number::percent(t.lost), ""));
    table
}

fn cost(tap: &TapRow, of: fn(&SelfCost) -> Option<Estimate>) -> Option<Estimate> {
    tap.cost.as_ref().and_then(of)
}

fn mean(e: Option<Estimate>) -> Remarked {
    (e.map_or_else(|| UNKNOWN.into(), |e| Scale::Time.interval(e.value, Some(e.half_width))), "")
}

fn bias(e: Option<Estimate>) -> Remarked {
    e.map_or_else(|| (UNKNOWN.into(), ""), |e| (added(Scale::Time, e), doubt(e)))
}

fn share(e: Option<Estimate>) -> Remarked {
    let Some(e) = e else { return (UNKNOWN.into(), "") };
    (added(Scale::Share, e), if distorts(Some(e)) { "! over 10 %" } else { doubt(e) })
}

fn doubt(e: Estimate) -> &'static str {
    if e.holds(0.0) { "not significant" } else { "" }
}
