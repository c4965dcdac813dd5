//! The report is silent, asks for nothing, and obeys nothing that stands in the record.

use netfathom_results::render::html::render;
use serde_json::json;

use crate::kinds::quiet;
use crate::records::{HOSTILE, fixture, hostile, stack, ten_trials};
use crate::{open, show};

#[test]
fn where_no_script_runs_the_main_tables_are_text() {
    let html = render(&hostile()).unwrap();
    let text = html.split_once("<noscript>").unwrap().1.split_once("</noscript>").unwrap().0;
    let rows = ["stage", "total", "share"];
    assert!(rows.iter().all(|row| text.contains(row)) && !text.contains("<img"), "{text}");
}

#[test]
fn a_foreign_script_is_refused_by_the_policy() {
    let Some(mut shown) = show("policy", &fixture()) else { return };
    shown.page.eval(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.pwned = 1' }))",
    );
    assert_eq!(shown.page.eval("window.pwned === undefined"), json!(true));
    assert!(!shown.page.complaints().is_empty(), "the refusal is not noticed, so neither would be another");
}

#[test]
fn hostile_strings_are_shown_and_not_run() {
    let record = hostile();
    assert_eq!(record.environment.kernel, HOSTILE);
    assert_eq!(stack(&record).left_out[0].reason, HOSTILE);
    let Some(mut shown) = show("hostile", &record) else { return };
    quiet("hostile", &mut shown);
    assert_eq!(shown.page.eval("document.scripts.length"), json!(4));
    let harmless = HOSTILE.replace(|c| c != '\n' && netfathom_results::page::steers(c), " ");
    for place in ["#environment dd", ".id"] {
        let text = shown.page.eval(&format!("document.querySelector('{place}').textContent"));
        assert_eq!(text, json!(harmless), "{place}");
    }
}

#[test]
fn a_full_measurement_stays_small() {
    let record = ten_trials();
    let html = render(&record).unwrap();
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let Some(mut shown) = open("ten trials", &html) else { return };
    let curves = "netfathom.charts['time-tx'].plot.series.length";
    assert_eq!(shown.page.eval(curves), json!(1 + 10 + 1), "windows, trials, and all of them");
}
