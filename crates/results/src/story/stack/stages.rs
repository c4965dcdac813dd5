//! Where the time goes, stage by stage.

use crate::page::{Page, Table};
use netfathom_model::record::{Distribution, PathSummary, StageSummary, StageSummaryTimes};

use crate::story::number;
use crate::story::stages::{PARTLY, new_table, row};

/// The time of `all` messages stands below the total of those of the summary.
pub(super) fn draw(page: &mut Page, summary: &PathSummary, all: Option<&Distribution>) {
    if summary.stages.is_empty() {
        return;
    }
    let most = summary.stages.iter().filter_map(|s| s.share).fold(1.0, f64::max);
    page.table(build(summary, all, most));
    let outside = summary.stages.iter().any(|s| !s.inside && s.times.distribution().is_some());
    if outside {
        page.note("* below the link layer: not part of the total");
    }
    let mut inside = summary.stages.iter().filter(|s| s.inside).filter_map(|s| s.times.distribution());
    if inside.any(|d| d.n < summary.total.n) {
        page.note(PARTLY);
    }
    negatives(page, summary);
}

/// How many times of a stage lie below zero: they stand in no percentile of the table.
fn negatives(page: &mut Page, summary: &PathSummary) {
    let below = |s: &StageSummary| {
        let d = s.times.distribution().filter(|d| d.negative > 0)?;
        let of = number::short_count(d.n);
        let share = number::percent(d.negative as f64 / d.n as f64);
        Some(format!("{} {} of {of} ({share})", s.stage.name(), number::count(d.negative)))
    };
    let found: Vec<String> = summary.stages.iter().filter_map(below).collect();
    if !found.is_empty() {
        page.note(&format!("negative times: {}; all statistics include them", found.join(", ")));
    }
}

fn build(summary: &PathSummary, all: Option<&Distribution>, most: f64) -> Table {
    let mut table = new_table();
    if let Some(reason) = one_reason(&summary.stages) {
        table.row_across("all stages", &format!("n/a: {reason}"));
        row(&mut table, "total", &summary.total, (summary.total.n > 0).then_some(1.0), most);
        return table;
    }
    let (inside, outside): (Vec<_>, Vec<_>) = summary.stages.iter().partition(|s| s.inside);
    for stage in inside {
        stage_row(&mut table, stage, stage.stage.name(), most);
    }
    row(&mut table, "total", &summary.total, (summary.total.n > 0).then_some(1.0), most);
    if let Some(all) = all {
        row(&mut table, "all messages", all, None, most);
    }
    for stage in outside {
        // No part of the total, so no share of it.
        let alone = StageSummary { share: None, ..stage.clone() };
        stage_row(&mut table, &alone, &format!("{} *", stage.stage.name()), most);
    }
    table
}

/// Why a tap that sees no stage at all has none of them.
pub(super) fn one_reason(stages: &[StageSummary]) -> Option<&str> {
    let StageSummaryTimes::Unavailable(first) = &stages.first()?.times else { return None };
    let same = |s: &StageSummary| matches!(&s.times, StageSummaryTimes::Unavailable(r) if r == first);
    stages.iter().all(same).then_some(first)
}

fn stage_row(table: &mut Table, stage: &StageSummary, name: &str, most: f64) {
    match &stage.times {
        StageSummaryTimes::Measured(d) => row(table, name, d, stage.share, most),
        StageSummaryTimes::Unavailable(reason) => table.row_across(name, &format!("n/a: {reason}")),
    }
}
