//! One self-contained HTML file, drawn from the record alone.
//!
//! The verdict and the answer are written here, so that they stand even where scripts are
//! off; everything else is drawn in the browser from the record, which the file carries.

pub(super) mod embed;
mod samples;
mod size_limit;

use std::io;

use askama::Template;
use netfathom_model::record::{Record, State};
use netfathom_model::verdict::{Level, Reason};
use netfathom_sys::directory::Directory;
use serde::Serialize;

use crate::compare::{Comparison, Gates};
use crate::{draw, story};
use embed::{json_for_script, sha256_source, squeezed};
use samples::Samples;
use size_limit::Bounded;

const STYLE: &str = concat!(
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("style/base.css"),
    include_str!("style/parts.css"),
    include_str!("style/charts.css"),
    include_str!("style/tools.css"),
    include_str!("style/boxes.css"),
    include_str!("style/transfer.css"),
    include_str!("style/media.css"),
);

/// Reasons of a verdict that stand at the head; a reader that got so far needs the table of trials.
const MOST_REASONS: usize = 50;

const UPLOT: &str = include_str!("vendor/uplot/uPlot.iife.min.js");

/// Concatenated in this order into one function scope; there is no other build step.
const SCRIPT: &str = concat!(
    "(function () {\n'use strict';\n",
    include_str!("script/format.js"),
    include_str!("script/dom.js"),
    include_str!("script/print.js"),
    include_str!("script/csv.js"),
    include_str!("script/unpack.js"),
    include_str!("script/palette.js"),
    include_str!("script/axes.js"),
    include_str!("script/legend.js"),
    include_str!("script/bands.js"),
    include_str!("script/lines.js"),
    include_str!("script/view.js"),
    include_str!("script/zoom.js"),
    include_str!("script/chart.js"),
    include_str!("script/bars.js"),
    include_str!("script/marks.js"),
    include_str!("script/waterfall.js"),
    include_str!("script/samples/unpack.js"),
    include_str!("script/samples/bins.js"),
    include_str!("script/samples/picture.js"),
    include_str!("script/blocks.js"),
    include_str!("script/about.js"),
    include_str!("script/main.js"),
    "})();\n",
);

/// Columns of the tables where no script runs.
const TEXT_WIDTH: usize = 80;

/// What a report with raw samples in it takes at most, in bytes, as far as its record leaves room.
const MOST_BYTES: usize = 2_950_000;
/// What the samples may take whatever the record is like.
const LEAST_ROOM_BYTES: usize = 500_000;

/// Why a record could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write the record into the report: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot pack the samples into the report: {0}")]
    Pack(#[from] io::Error),
    #[error("cannot fill the page of the report: {0}")]
    Page(#[from] askama::Error),
}

#[derive(Default, Template)]
#[template(path = "report.html", config = "src/render/html/askama.toml")]
struct Page<'a> {
    policy: String,
    style: &'a str,
    uplot: &'a str,
    script: &'a str,
    /// What the script draws, as JSON.
    facts: String,
    /// The main part of that, where no script runs.
    text: String,
    carried: Option<Carried>,
    title: String,
    command: String,
    id: String,
    heading: &'a str,
    started: String,
    verdicts: Vec<Verdict>,
}

#[derive(Default)]
struct Verdict {
    level: Level,
    /// Of the style sheet.
    tone: String,
    label: String,
    trust: &'static str,
    state: Vec<String>,
    answer: String,
    reasons: Vec<Reason>,
    more_reasons: usize,
    remarks: Vec<String>,
}

impl Page<'_> {
    /// A page that has nothing on it yet.
    fn new(facts: &ReportData<'_>) -> Result<Self, Error> {
        Ok(Self {
            policy: policy(),
            style: STYLE,
            uplot: UPLOT,
            script: SCRIPT,
            facts: json_for_script(facts)?,
            text: draw::short(facts.page, TEXT_WIDTH, false),
            ..Self::default()
        })
    }
}

/// What the script draws beside the record. A seed may not fit a number of JavaScript, so a plan is in words.
#[derive(Serialize)]
struct ReportData<'a> {
    page: &'a crate::page::Page,
    plan: &'a story::Words,
}

struct Carried {
    /// As JSON; squeezed where there are samples, which need the room.
    record: String,
    is_squeezed: bool,
    samples: Option<Samples>,
    samples_json: String,
}

impl Carried {
    fn of(record: &Record, facts: &str, run: Option<&Directory>) -> Result<Self, Error> {
        let alone = STYLE.len() + UPLOT.len() + SCRIPT.len() + facts.len();
        let squeeze = || Ok::<_, Error>(squeezed(&serde_json::to_vec(record)?)?);
        let with_samples = run.filter(|dir| Samples::are_in(record, dir));
        let (record_text, samples) = match with_samples {
            None => (json_for_script(record)?, None),
            Some(dir) => {
                let text = squeeze()?;
                let room = MOST_BYTES.saturating_sub(alone + text.len()).max(LEAST_ROOM_BYTES);
                (text, Some(Samples::of(record, dir, room)?))
            }
        };
        Ok(Self {
            record: record_text,
            is_squeezed: samples.is_some(),
            samples_json: samples.as_ref().map_or(Ok(String::new()), json_for_script)?,
            samples,
        })
    }
}

/// Draws a record as one HTML file that needs nothing beside itself.
pub fn render(record: &Record) -> Result<String, Error> {
    draw(record, None)
}

/// The same of a record in the directory of its run, with the raw samples that are kept there: up to a
/// million, as exactly as a file of 3 MB holds them. Samples that cannot be read are no error, the report
/// says why.
pub fn render_run(record: &Record, run: &Directory) -> Result<String, Error> {
    draw(record, Some(run))
}

fn draw(record: &Record, run: Option<&Directory>) -> Result<String, Error> {
    let Bounded { record, left_out } = Bounded::of(record)?;
    let body = story::story(&record.measurement).body();
    let mut reasons: Vec<&Reason> = record.verdict.shown().collect();
    // What is not part of the answer comes last.
    reasons.sort_by_key(|reason| (reason.level != record.verdict.level, !reason.is_of_answer()));
    let level = record.verdict.level;
    let page = Page::new(&ReportData { page: &body.page, plan: &body.plan })?;
    let page = Page {
        carried: Some(Carried::of(&record, &page.facts, run)?),
        title: format!("{} · {}", level.name(), record.id),
        command: record.measurement.name().into(),
        id: record.id.clone(),
        heading: &body.title,
        started: record.started_utc.clone(),
        verdicts: vec![Verdict {
            level,
            tone: level.name().to_lowercase(),
            label: story::story(&record.measurement).partial().unwrap_or_else(|| level.name().into()),
            trust: trust(level),
            state: state(record.state, &body.done).into_iter().chain(left_out).collect(),
            answer: story::answer(&record.measurement, &record.verdict),
            reasons: reasons.iter().take(MOST_REASONS).map(|reason| (*reason).clone()).collect(),
            more_reasons: reasons.len().saturating_sub(MOST_REASONS),
            remarks: story::headline::remarks(&record, &body),
        }],
        ..page
    };
    Ok(page.render()?)
}

fn trust(level: Level) -> &'static str {
    match level {
        Level::Valid => "No reason was found to doubt the answer.",
        Level::Degraded => "Read these figures with the reasons in mind.",
        Level::Void => "Do not use the figures that the reasons are about.",
    }
}

/// What is missing of a record that is not whole; `done` is how much of the plan is there.
fn state(state: State, done: &str) -> Option<String> {
    let what = match state {
        State::Complete => return None,
        State::Partial => "Partial: this was written before the run ended.",
        State::Interrupted => "Interrupted: the user ended it early; the finished trials are kept.",
    };
    Some(format!("{what} {done}."))
}

/// Draws comparisons, each with what came of its thresholds, as one HTML file that needs nothing beside itself.
pub fn render_comparisons(comparisons: &[(Comparison, Gates)]) -> Result<String, Error> {
    let verdict = |(comparison, gates): &(Comparison, Gates)| {
        let (style, label) = story::compare::label(comparison, gates);
        Verdict {
            level: Level::Void,
            tone: style.tone().into(),
            label: label.into(),
            answer: story::compare::answer(comparison, gates),
            ..Verdict::default()
        }
    };
    let verdicts: Vec<Verdict> = comparisons.iter().map(verdict).collect();
    let what = comparisons.first().map_or("", |first| first.0.measurement);
    let below = story::compare::below(comparisons);
    let page = Page {
        title: format!("{} · {what} · compare", verdicts.first().map_or("", |first| &*first.label)),
        command: format!("compare · {what}"),
        heading: "B against A",
        verdicts,
        ..Page::new(&ReportData { page: &below, plan: &Vec::new() })?
    };
    Ok(page.render()?)
}

/// Nothing is allowed but the very scripts and the very style of this file.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src {} {}; style-src {}; base-uri 'none'; form-action 'none'",
        sha256_source(UPLOT),
        sha256_source(SCRIPT),
        sha256_source(STYLE),
    )
}

#[cfg(test)]
mod tests {
    use super::SCRIPT;

    /// All parts share one scope, and of two functions of one name the latter would silently win.
    #[test]
    fn no_two_parts_of_the_script_have_a_name_in_common() {
        let name = |line: &'static str| {
            let rest = ["function ", "async function ", "const ", "let "]
                .iter()
                .find_map(|word| line.strip_prefix(word))?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
        };
        let mut names: Vec<&str> = SCRIPT.lines().filter_map(name).collect();
        names.sort_unstable();
        let twice: Vec<&str> = names.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        assert!(names.len() > 100, "the script is not read");
        assert_eq!(twice, Vec::<&str>::new());
    }
}
