//! One self-contained HTML file, drawn from the record alone.
//!
//! The verdict and the answer are written here, so that they stand even where scripts are
//! off; everything else is drawn in the browser from the record, which the file carries.

mod bounded;
pub(super) mod embed;
mod samples;
mod words;

use std::io;

use askama::Template;
use netfathom_model::record::Record;
use netfathom_model::verdict::Reason;
use netfathom_sys::directory::Directory;
use serde::Serialize;

use crate::page::printable;
use crate::story;
use bounded::Bounded;
use embed::{json_for_script, sha256_source, squeezed};
use samples::Samples;

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

/// What a report with raw samples in it takes at most, in bytes, as far as its record leaves room.
const MOST_BYTES: usize = 2_950_000;
/// What the samples may take whatever the record is like.
const LEAST_ROOM_BYTES: usize = 500_000;

/// Why a record could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of it could not be written as JSON.
    #[error("cannot write the record into the report: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of it could not be squeezed.
    #[error("cannot pack the samples into the report: {0}")]
    Pack(#[from] io::Error),
    /// The page around it could not be filled.
    #[error("cannot fill the page of the report: {0}")]
    Page(#[from] askama::Error),
}

#[derive(Template)]
#[template(path = "report.html", config = "src/render/html/askama.toml")]
struct Page<'a> {
    policy: String,
    style: &'a str,
    uplot: &'a str,
    script: &'a str,
    carried: Carried,
    id: String,
    measurement: &'a str,
    level: &'a str,
    trust: &'a str,
    reasons: Vec<Reason>,
    more_reasons: usize,
    title: &'a str,
    answer: String,
    state: Option<String>,
    left_out: Option<String>,
    started: String,
}

/// What the script draws beside the record. A seed may not fit a number of JavaScript, so a plan is in words.
#[derive(Serialize)]
struct Facts<'a> {
    page: &'a crate::page::Page,
    plan: &'a story::Words,
}

/// The data that the page holds.
struct Carried {
    /// As JSON; squeezed where there are samples, which need the room.
    record: String,
    is_squeezed: bool,
    facts_json: String,
    samples: Option<Samples>,
    samples_json: String,
}

impl Carried {
    fn of(record: &Record, facts: &Facts<'_>, run: Option<&Directory>) -> Result<Self, Error> {
        let facts_json = json_for_script(facts)?;
        let alone = STYLE.len() + UPLOT.len() + SCRIPT.len() + facts_json.len();
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
            facts_json,
            samples_json: samples.as_ref().map_or(Ok(String::new()), json_for_script)?,
            samples,
        })
    }
}

/// Draws a record as one HTML file that needs nothing beside itself.
///
/// # Errors
/// Where the record cannot be written as JSON, or the page cannot be filled.
pub fn render(record: &Record) -> Result<String, Error> {
    draw(record, None)
}

/// The same of a record in the directory of its run, with the raw samples that are kept there: up to a
/// million, as exactly as a file of 3 MB holds them. Samples that cannot be read are no error, the report
/// says why.
///
/// # Errors
/// Where the record cannot be written as JSON, or the page cannot be filled.
pub fn render_run(record: &Record, run: &Directory) -> Result<String, Error> {
    draw(record, Some(run))
}

fn draw(record: &Record, run: Option<&Directory>) -> Result<String, Error> {
    let Bounded { record, left_out } = Bounded::of(record)?;
    let body = story::body(&record.measurement);
    let facts = Facts { page: &body.page, plan: &body.plan };
    let reasons = &record.verdict.reasons;
    let shown = |r: &Reason| Reason { text: printable(&r.text), ..r.clone() };
    let page = Page {
        policy: policy(),
        style: STYLE,
        uplot: UPLOT,
        script: SCRIPT,
        carried: Carried::of(&record, &facts, run)?,
        id: printable(&record.id),
        measurement: record.measurement.name(),
        level: record.verdict.level.name(),
        trust: words::trust(record.verdict.level),
        reasons: reasons.iter().take(MOST_REASONS).map(shown).collect(),
        more_reasons: reasons.len().saturating_sub(MOST_REASONS),
        state: words::state(record.state, &body.done),
        left_out,
        title: body.title,
        answer: printable(&bounded::sentence(story::answer(&record.measurement))),
        started: printable(&record.started_utc),
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
