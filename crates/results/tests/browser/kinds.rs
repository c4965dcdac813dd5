//! The reports of all measurements: silent, as wide as the page, with every chart
//! drawn, the record's own values, and no nonsense where something is missing.

use netfathom_model::record::{Record, State};
use netfathom_results::{render, story};
use netfathom_testkit::browser::address;
use serde_json::json;

use crate::blocks::{bars_are_drawn, charts_are_drawn};
pub use crate::fixtures::{ALL, fixture as of};
use crate::layout::{COLOURS, has};
use crate::print::printed;
use crate::same_words::carried;
use crate::saved::charts_are_saved;
use crate::walk::{HOSTILE, changed, hollow, poisoned};
use crate::{OPEN_ALL, Shown, show};

/// Opens everything there is to open and to choose.
pub fn open_all(shown: &mut Shown) {
    shown.page.eval("document.querySelectorAll('.choice button').forEach((b) => b.click())");
    shown.page.eval(OPEN_ALL);
    shown.page.settle();
    // What was opened may hold more of both: the runs of an experiment.
    shown.page.eval("document.querySelectorAll('details .choice button').forEach((b) => b.click())");
    shown.page.eval(OPEN_ALL);
    shown.page.settle();
}

fn stays_quiet(name: &str, record: &Record) {
    if let Some(mut shown) = show(name, record) {
        quiet(name, &mut shown);
    }
}

/// No console message, request, script error or part wider than the page, whatever is opened.
pub fn quiet(name: &str, shown: &mut Shown) {
    open_all(shown);
    assert_eq!(shown.page.eval("window.pwned === undefined"), json!(true), "{name}");
    assert_eq!(shown.page.eval("document.querySelectorAll('img').length"), json!(0), "{name}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new(), "{name}");
    assert_eq!(shown.page.requests(), vec![address(&shown.file)], "{name}");
    let text = shown.page.eval("document.body.innerText").to_string();
    for nonsense in ["NaN", "undefined", "Infinity", "[object", "could not be drawn"] {
        assert!(!text.contains(nonsense), "{name}: {nonsense}");
    }
    let empty = "[...document.querySelectorAll('main > section')].filter((s) => s.children.length < 2).map((s) => s.id)";
    assert_eq!(shown.page.eval(empty), json!([]), "{name}: a section says nothing");
    for (width, mobile) in [(360, false), (360, true), (800, false), (1600, false)] {
        shown.page.resize(width, 900, mobile);
        let wide = shown.page.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(width)), "{name}: {wide} at {width}");
        assert_eq!(shown.page.eval("innerWidth"), json!(width), "{name}: the page is shrunk to fit");
    }
}

#[test]
fn every_report_is_silent_and_shows_saves_and_prints_what_its_page_says() {
    let mut bars = 0;
    for kind in ALL {
        let record = of(kind);
        let page = story::of(&record);
        let Some(mut shown) = show(kind, &record) else { return };
        printed(kind, &mut shown);
        quiet(kind, &mut shown);
        charts_are_drawn(kind, &page, &mut shown);
        bars += bars_are_drawn(kind, &page, &mut shown);
        charts_are_saved(kind, &mut shown);
        carried(kind, &page, &render::markdown::render(&record), &mut shown);
    }
    assert!(bars > 3, "{bars}");
}

#[test]
fn hostile_strings_are_shown_and_not_run() {
    // That of stack is in `safety.rs`.
    for kind in ALL.into_iter().filter(|&kind| kind != "stack") {
        let record = poisoned(of(kind));
        assert_eq!(record.environment.kernel, HOSTILE);
        stays_quiet(&format!("hostile {kind}"), &record);
    }
}

#[test]
fn every_chart_is_drawn() {
    let charts = [
        ("load", vec!["rate", "lag-run", "echo", "intervals", "lags", "lag"]),
        ("capacity", vec!["probes-0"]),
        ("reverse", vec!["reverse-ignored", "reverse-stack-ignored", "reverse-other-thread", "reverse-echo"]),
        ("join", vec!["span-0", "span-max-0", "span-1", "span-2", "percentiles"]),
        ("ttcp", vec!["transfer-rate", "transfer-lay-0"]),
        ("sweep", vec!["sweep"]),
        ("message", vec!["message-UU-0", "message-UK-1", "message-times-UU-0-4"]),
        ("cost", vec!["cost-0", "cost-1", "cost-behind-0", "cost-trials-0"]),
        ("watch", vec!["watch-percentiles"]),
        ("watch-tx", vec!["watch-percentiles-tx"]),
        ("cost-offline", vec!["cost-marks-0", "cost-behind-0"]),
        ("reproduce", vec!["figure-0", "run-1-reverse-ignored"]),
    ];
    for (kind, ids) in charts {
        let Some(mut shown) = show(&format!("{kind} charts"), &of(kind)) else { return };
        shown.page.prefer("light");
        open_all(&mut shown);
        for id in ids {
            let colours = shown.page.eval(&format!("{COLOURS}('{id}')"));
            // Axes and bands are grey; a curve is not.
            let drawn = ["#3f4753", "#7a4fa0", "#c44e00", "#00805c", "#0072b2"];
            assert!(drawn.iter().any(|c| has(&colours, c)), "{kind}: {id} is empty: {colours}");
        }
    }
}

#[test]
fn what_is_missing_is_stated() {
    for kind in ALL {
        let mut record = changed(&of(kind), &hollow);
        record.state = State::Interrupted;
        stays_quiet(&format!("hollow {kind}"), &record);
    }
}
