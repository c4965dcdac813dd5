//! The page of `netfathom compare`: silent, alone, obeying nothing, with the values of the comparison.

use netfathom_results::compare::{Comparison, Gates, Run, Scale, Wishes, apart};
use netfathom_results::render::compared::html::render;
use netfathom_testkit::browser::address;
use serde_json::{Value, json};

use crate::kinds::{ALL, of};
use crate::records::{HOSTILE, poisoned};
use crate::{OPEN_ALL, Shown, open_page};

/// A run beside a later one of the same; each record as `change` leaves it.
fn comparison(kind: &str, name: &str, hostile: bool) -> Comparison {
    let run = |id: &str, name: &str| {
        let mut record = if hostile { poisoned(of(kind)) } else { of(kind) };
        record.id = id.into();
        Run { name: name.into(), record }
    };
    let wishes = Wishes { force: true };
    let (a, b) = (run("20261121T000000Z-a-1", "before"), run("20261122T000000Z-b-2", name));
    apart(&a, &b, &wishes).expect("runs of one kind")
}

fn show(test: &str, comparison: Comparison) -> Option<Shown> {
    let html = render(&[(comparison, Gates::default())]).expect("a comparison can be drawn");
    open_page(test, &html)
}

/// Nothing is said, asked for, run, or wider than the page.
fn stays_quiet(kind: &str, shown: &mut Shown) {
    shown.page.eval(OPEN_ALL);
    for (width, mobile) in [(360, false), (360, true), (800, false), (1600, false)] {
        shown.page.resize(width, 900, mobile);
        let wide = shown.page.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(width)), "{kind}: {wide} at {width}");
    }
    let text = shown.page.eval("document.body.innerText").to_string();
    for nonsense in ["NaN", "undefined", "Infinity", "inf%"] {
        assert!(!text.contains(nonsense), "{kind}: {nonsense}");
    }
    assert_eq!(shown.page.eval("document.querySelectorAll('img').length"), json!(0), "{kind}");
    assert_eq!(shown.page.eval("document.scripts.length"), json!(0), "{kind}");
    assert_eq!(shown.page.eval("window.pwned === undefined"), json!(true), "{kind}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new(), "{kind}");
    assert_eq!(shown.page.requests(), vec![address(&shown.file)], "{kind}");
}

#[test]
fn comparisons_are_silent_and_fit_the_page() {
    for kind in ALL {
        let Some(mut shown) = show(&format!("compare {kind}"), comparison(kind, "after", false)) else {
            return;
        };
        stays_quiet(kind, &mut shown);
    }
}

#[test]
fn hostile_strings_are_shown_and_not_run() {
    for kind in ["stack", "message", "cost", "join"] {
        let Some(mut shown) = show(&format!("compare hostile {kind}"), comparison(kind, HOSTILE, true))
        else {
            return;
        };
        stays_quiet(kind, &mut shown);
        // What stands in the page is read by the rules of HTML: a carriage return ends a line.
        let names = shown.page.eval("[...document.querySelectorAll('.runs .id')].map((n) => n.textContent)");
        let wanted = json!(HOSTILE.replace('\r', "\n"));
        assert!(names.as_array().unwrap().contains(&wanted), "{kind}: {names}");
    }
}

#[test]
fn a_script_and_a_foreign_style_are_refused_by_the_policy() {
    let Some(mut shown) = show("compare policy", comparison("stack", "after", false)) else { return };
    shown.page.eval(
        "(() => { const add = (tag, text) => document.body.append(Object.assign(document.createElement(tag), { textContent: text }));
            add('script', 'window.pwned = 1'); add('style', 'body { opacity: 0.5 }'); })()",
    );
    assert_eq!(shown.page.eval("window.pwned === undefined"), json!(true));
    assert_eq!(shown.page.eval("getComputedStyle(document.body).opacity"), json!("1"));
    assert!(shown.page.complaints().len() >= 2, "the refusals are not noticed, so neither would be another");
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// On a logarithmic axis equal ratios are equally far apart, intervals too.
#[test]
fn points_lie_where_the_ratios_are() {
    let mut all = comparison("cost", "after", false);
    all.quantities.retain(|q| q.change.scale == Scale::Ratio);
    for (place, quantity) in (0_u32..).zip(&mut all.quantities) {
        quantity.change.value = 0.8 + 0.05 * f64::from(place);
        quantity.change.interval = Some((quantity.change.value * 0.9, quantity.change.value * 1.1));
    }
    let ratios: Vec<f64> = all.quantities.iter().map(|q| q.change.value.ln()).collect();
    assert!(ratios.len() > 3, "the test is of no use");
    let Some(mut shown) = show("compare points", all) else { return };
    let read = |shown: &mut Shown, what: &str| {
        let values = format!("[...document.querySelectorAll('.forest {what}.baseVal.valueInSpecifiedUnits)");
        numbers(&shown.page.eval(&values))
    };
    let drawn = read(&mut shown, ".point')].map((p) => p.cx");
    let (from, wide) = (
        read(&mut shown, ".interval')].map((r) => r.x"),
        read(&mut shown, ".interval')].map((r) => r.width"),
    );
    assert_eq!((drawn.len(), from.len()), (ratios.len(), ratios.len()), "a point and an interval a ratio");
    let slope = (drawn[1] - drawn[0]) / (ratios[1] - ratios[0]);
    for (at, ratio) in drawn.iter().zip(&ratios) {
        let wanted = drawn[0] + slope * (ratio - ratios[0]);
        assert!((at - wanted).abs() < 0.01, "{at} is not {wanted}");
    }
    for ((at, from), wide) in drawn.iter().zip(&from).zip(&wide) {
        assert!((from - (at + slope * 0.9_f64.ln())).abs() < 0.01, "{from} of {at}");
        assert!((wide - slope * (1.1_f64 / 0.9).ln()).abs() < 0.01, "{wide}");
    }
}

#[test]
fn the_dark_is_dark_and_everything_can_be_reached_by_keyboard() {
    let Some(mut shown) = show("compare dark", comparison("stack", "after", false)) else { return };
    for (scheme, ground) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 20, 24)")] {
        shown.page.prefer(scheme);
        assert_eq!(shown.page.eval("getComputedStyle(document.body).backgroundColor"), json!(ground));
    }
    let unnamed = "[...document.querySelectorAll('a, summary, .scroll, .row')].filter((n) =>
        n.tabIndex < 0 || !(n.getAttribute('aria-label') || n.textContent.trim())).map((n) => n.outerHTML)";
    assert_eq!(shown.page.eval(unnamed), json!([]));
    let details = "document.querySelector('.spread details')";
    shown.page.eval(&format!("{details}.querySelector('summary').focus()"));
    shown.page.call("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": "Enter", "text": "\r"}));
    shown.page.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": "Enter"}));
    shown.page.settle();
    assert_eq!(shown.page.eval(&format!("{details}.open")), json!(true), "Enter opens no table");
}
