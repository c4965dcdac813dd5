//! The report in a real browser: it stays silent, asks for nothing, shows the record's own
//! values, and runs nothing that stands in the record.
//!
//! With `NETFATHOM_KEEP_REPORTS=DIR` the drawn reports are left in DIR, to be looked at.

#[path = "browser/blocks.rs"]
mod blocks;
#[path = "browser/compared.rs"]
mod compared;
#[path = "browser/experiments.rs"]
mod experiments;
#[path = "results/fixtures.rs"]
mod fixtures;
#[path = "browser/kinds.rs"]
mod kinds;
#[path = "browser/layout.rs"]
mod layout;
#[path = "browser/long.rs"]
mod long;
#[path = "browser/numbers.rs"]
mod numbers;
#[path = "browser/pictures.rs"]
mod pictures;
#[path = "browser/print.rs"]
mod print;
#[path = "browser/records.rs"]
mod records;
#[path = "browser/safety.rs"]
mod safety;
#[path = "browser/same_words.rs"]
mod same_words;
#[path = "browser/samples.rs"]
mod samples;
#[path = "browser/saved.rs"]
mod saved;
#[path = "results/walk.rs"]
mod walk;

use netfathom_model::record::Record;
use netfathom_results::render::html::{render, render_run};
use netfathom_sys::directory::Directory;
use netfathom_testkit::browser::{Page, address};

/// Opens every table and list of the page.
const OPEN_ALL: &str = "document.querySelectorAll('details').forEach((d) => { d.open = true; })";

/// A report that is open in a browser.
pub struct Shown {
    page: Page,
    file: std::path::PathBuf,
    directory: tempfile::TempDir,
}

/// Draws a record and opens it; `None` where there is no browser.
fn show(test: &str, record: &Record) -> Option<Shown> {
    open(test, &render(record).expect("a record can be drawn"))
}

/// The same with the samples in a run's directory.
fn show_run(test: &str, record: &Record, run: &std::path::Path) -> Option<Shown> {
    open(test, &render_run(record, &Directory::open(run).unwrap()).expect("a run can be drawn"))
}

fn open(test: &str, html: &str) -> Option<Shown> {
    let mut shown = open_page(test, html)?;
    shown.page.wait_for("document.documentElement.dataset.drawn === 'yes'");
    shown.page.settle();
    Some(shown)
}

/// Opens a page that is not drawn by a script.
fn open_page(test: &str, html: &str) -> Option<Shown> {
    if let Some(keep) = std::env::var_os("NETFATHOM_KEEP_REPORTS") {
        let name = format!("{}.html", test.replace(' ', "-"));
        std::fs::write(std::path::Path::new(&keep).join(name), html).expect("a report to keep");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("report.html");
    std::fs::write(&file, html).expect("a report");
    let mut page = Page::start(test)?;
    page.open(&address(&file));
    Some(Shown { page, file, directory })
}
