//! Numbers in reports: the script writes what Rust writes, for the same values.

use netfathom_model::print::{self, Scale};
use serde_json::{Value, json};

use crate::open_page;

const FORMAT: &str = include_str!("../../src/render/html/script/format.js");

const SCALES: [(Scale, &str); 6] = [
    (Scale::Time, "TIME"),
    (Scale::Rate, "RATE"),
    (Scale::Multiple, "MULTIPLE"),
    (Scale::BitRate, "BIT_RATE"),
    (Scale::ByteRate, "BYTE_RATE"),
    (Scale::Share, "SHARE"),
];

/// Every decade with what lies about the borders of units and roundings, and halves, which are rounded differently by
/// the formatting of the two languages.
fn values() -> Vec<f64> {
    let mantissas = [1.0, 1.005, 1.0235, 1.125, 2.5, 4.2, 9.994, 9.995, 9.9949999, 9.996];
    let decades = (-7..=14).flat_map(|power| mantissas.map(|mantissa| mantissa * 10f64.powi(power)));
    decades
        .flat_map(|value| [value, -value])
        .chain([0.0, 0.0005, 1023.0, 1024.0, 15_583_000.0, 777.98])
        .collect()
}

/// A script may draw a line between a number and its unit, and a longer minus.
fn plain(text: &Value) -> String {
    text.as_str().expect("a text").replace('\u{a0}', " ").replace('\u{2212}', "-")
}

#[test]
fn a_number_is_the_same_in_rust_and_in_a_script() {
    // The declarations of a script are no names of the page that evaluates below, unless they are functions.
    let page = format!(
        "<!doctype html><script>{FORMAT}\nfunction scaleOf(name) {{ return {{ {} }}[name]; }}</script>",
        SCALES.map(|(_, name)| name).join(", ")
    );
    let Some(mut shown) = open_page("numbers", &page) else { return };
    let mut ask = |what: &str| shown.page.eval(what).as_array().expect("a list").clone();
    let values = values();
    let all = json!(values);
    for (scale, name) in SCALES {
        let texts = ask(&format!("{all}.map((v) => inUnits(scaleOf('{name}'), v))"));
        for (value, text) in values.iter().zip(&texts) {
            assert_eq!(plain(text), scale.text(*value), "{value} on {name}");
        }
    }
    let counts = [0, 999, 1_000, 1_234_567, 9_007_199_254_740_991];
    for (n, text) in counts.iter().zip(ask(&format!("{}.map(count)", json!(counts)))) {
        assert_eq!(plain(&text), print::count(*n));
    }
}
