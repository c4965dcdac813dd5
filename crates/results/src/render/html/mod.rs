//! One self-contained HTML file, drawn from the record alone.
//!
//! The verdict and the answer are written here, so that they stand even where scripts are
//! off; everything else is drawn in the browser from the record, which the file carries.

mod answer;
pub(super) mod embed;
mod facts;

use askama::Template;
use netfathom_model::record::Record;
use netfathom_model::verdict::Reason;

use answer::Words;
use embed::{json_for_script, sha256_source};
use facts::Facts;

const STYLE: &str = concat!(
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("style/base.css"),
    include_str!("style/parts.css"),
    include_str!("style/charts.css"),
    include_str!("style/boxes.css"),
    include_str!("style/experiment.css"),
    include_str!("style/transfer.css"),
    include_str!("style/message.css"),
    include_str!("style/cost.css"),
    include_str!("style/media.css"),
);

const UPLOT: &str = include_str!("vendor/uplot/uPlot.iife.min.js");

/// Concatenated in this order into one function scope; there is no other build step.
const SCRIPT: &str = concat!(
    "(function () {\n'use strict';\n",
    include_str!("script/format.js"),
    include_str!("script/dom.js"),
    include_str!("script/palette.js"),
    include_str!("script/windows.js"),
    include_str!("script/axes.js"),
    include_str!("script/legend.js"),
    include_str!("script/chart.js"),
    include_str!("script/curves.js"),
    include_str!("script/percentiles.js"),
    include_str!("script/accounting.js"),
    include_str!("script/about.js"),
    include_str!("script/stack/glance.js"),
    include_str!("script/stack/waterfall.js"),
    include_str!("script/stack/run.js"),
    include_str!("script/stack/percentiles.js"),
    include_str!("script/stack/trials.js"),
    include_str!("script/stack/ruler.js"),
    include_str!("script/load/overview.js"),
    include_str!("script/load/run.js"),
    include_str!("script/load/echo.js"),
    include_str!("script/capacity/bars.js"),
    include_str!("script/capacity/tables.js"),
    include_str!("script/reverse/overview.js"),
    include_str!("script/reverse/run.js"),
    include_str!("script/reverse/shares.js"),
    include_str!("script/stack/taps.js"),
    include_str!("script/join/spans.js"),
    include_str!("script/join/files.js"),
    include_str!("script/reproduce/claims.js"),
    include_str!("script/reproduce/lines.js"),
    include_str!("script/reproduce/bars.js"),
    include_str!("script/reproduce/runs.js"),
    include_str!("script/transfer/held_up.js"),
    include_str!("script/transfer/run.js"),
    include_str!("script/transfer/streams.js"),
    include_str!("script/sweep/rates.js"),
    include_str!("script/sweep/tables.js"),
    include_str!("script/message/words.js"),
    include_str!("script/message/bars.js"),
    include_str!("script/message/remedies.js"),
    include_str!("script/message/picture.js"),
    include_str!("script/message/placements.js"),
    include_str!("script/message/times.js"),
    include_str!("script/message/numbers.js"),
    include_str!("script/message/trials.js"),
    include_str!("script/cost/words.js"),
    include_str!("script/cost/forest.js"),
    include_str!("script/cost/picture.js"),
    include_str!("script/cost/sequences.js"),
    include_str!("script/cost/details.js"),
    include_str!("script/cost/program.js"),
    include_str!("script/cost/numbers.js"),
    include_str!("script/main.js"),
    "})();\n",
);

/// Why a record could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of it could not be written as JSON.
    #[error("cannot write the record into the report: {0}")]
    Json(#[from] serde_json::Error),
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
    record_json: String,
    facts_json: String,
    id: &'a str,
    measurement: &'a str,
    level: &'a str,
    trust: &'a str,
    reasons: &'a [Reason],
    title: String,
    answer: String,
    state: Option<String>,
    circumstances: Vec<String>,
}

/// Draws a record as one HTML file that needs nothing beside itself.
///
/// # Errors
/// Where the record cannot be written as JSON, or the page cannot be filled.
pub fn render(record: &Record) -> Result<String, Error> {
    let words = Words::of(record);
    let page = Page {
        policy: policy(),
        style: STYLE,
        uplot: UPLOT,
        script: SCRIPT,
        record_json: json_for_script(record)?,
        facts_json: json_for_script(&Facts::of(&record.measurement))?,
        id: &record.id,
        measurement: record.measurement.name(),
        level: record.verdict.level.name(),
        trust: answer::trust(record.verdict.level),
        reasons: &record.verdict.reasons,
        state: words.state(record.state),
        title: words.title,
        answer: words.sentence,
        circumstances: words.circumstances,
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
            let rest = ["function ", "const ", "let "].iter().find_map(|word| line.strip_prefix(word))?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
        };
        let mut names: Vec<&str> = SCRIPT.lines().filter_map(name).collect();
        names.sort_unstable();
        let twice: Vec<&str> = names.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        assert!(names.len() > 100, "the script is not read");
        assert_eq!(twice, Vec::<&str>::new());
    }
}
