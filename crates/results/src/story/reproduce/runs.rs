//! The measurements that an experiment is made of, each whole.

use itertools::Itertools as _;
use netfathom_model::record::{Measured, Measurement, ReproduceResult};
use netfathom_model::verdict::{Level, Verdict};

use crate::page::Page;
use crate::story::{self, Body, headline, notes};

pub(super) fn draw(page: &mut Page, result: &ReproduceResult) {
    page.heading("Runs");
    if result.runs.is_empty() {
        page.text("n/a: none is finished");
        return;
    }
    for (place, run) in result.runs.iter().enumerate() {
        let verdicts = Verdicts::of(&run.measurement);
        let trust = if verdicts.text.is_empty() { String::new() } else { format!(" ({})", verdicts.text) };
        let name = run.measurement.name();
        page.bullet(&format!(
            "{}: netfathom {name}: {}{trust}",
            run.name,
            story::story(&run.measurement).answer()
        ));
        // An experiment within an experiment is named, not drawn: nothing makes one.
        if ReproduceResult::of(&run.measurement).is_none() {
            let whole = whole(story::story(&run.measurement).body(), &verdicts);
            page.nested(format!("run-{place}"), format!("{}, whole", run.name), whole);
        }
    }
    page.note("the record holds each of them whole; `netfathom report` draws them");
}

fn whole(body: Body<'_>, verdicts: &Verdicts) -> Page {
    let mut page = Page::default();
    if !verdicts.reasons.is_empty() {
        page.heading("Verdicts");
        page.labelled(headline::style(verdicts.level), verdicts.level.name(), &verdicts.text);
        verdicts.reasons.iter().for_each(|reason| page.bullet(reason));
    }
    page.sections.extend(body.page.sections);
    notes::left_out(&mut page, body.left_out);
    if page.sections.iter().all(|section| section.title != story::ASKED_FOR) {
        story::asked_for(&mut page, &body.plan);
    }
    page
}

/// How far the trials of a part can be trusted; it has no verdict of its own in the record.
struct Verdicts {
    /// The worst of them.
    level: Level,
    /// Such as `2 of 10 DEGRADED`; empty where all are VALID.
    text: String,
    /// Why, each reason once.
    reasons: Vec<String>,
}

impl Verdicts {
    fn of(measurement: &Measurement) -> Self {
        let verdicts: Vec<&Verdict> = match measurement {
            Measurement::Stack(result) => result.trials.iter().map(|trial| &trial.verdict).collect(),
            Measurement::Load(result) => result.trials.iter().map(|trial| &trial.verdict).collect(),
            Measurement::Capacity(result) => result.rows.iter().map(|row| &row.verdict).collect(),
            Measurement::Reverse(result) => {
                result.variants.iter().flat_map(|of| &of.trials).map(|trial| &trial.verdict).collect()
            }
            _ => Vec::new(),
        };
        // The tables of the papers are of all messages, under the load that was planned.
        let verdicts: Vec<Verdict> = verdicts.into_iter().map(|v| v.clone().of_everything()).collect();
        let count = |level| verdicts.iter().filter(|v| v.level == level).count();
        let parts: Vec<String> = [Level::Void, Level::Degraded]
            .into_iter()
            .filter(|&l| count(l) > 0)
            .map(|l| format!("{} of {} {}", count(l), verdicts.len(), l.name()))
            .collect();
        let reasons = verdicts.iter().flat_map(|v| &v.reasons).map(|reason| reason.text.clone());
        let level = verdicts.iter().map(|v| v.level).max().unwrap_or(Level::Valid);
        Self { level, text: parts.join(", "), reasons: reasons.unique().collect() }
    }
}
