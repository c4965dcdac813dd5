//! Comparisons as people see them, with records that mean no good too.

use netfathom_model::record::Record;
use netfathom_results::compare::{Comparison, Gates, Run, Wishes, apart, gates, pairs};
use netfathom_results::render::compared::{html, markdown};
use netfathom_results::{draw, story};

use serde_json::Value;

use crate::quantities::{FIXTURES, fixture};
use crate::simulated::Maker;

const HOSTILE: &str =
    "<script>alert(1)</script>\"><img src=x onerror=alert(2)>[a](http://b.c)|`@all\u{1b}[31m\n# x";
const FORCE: Wishes = Wishes { force: true };

/// A record whose texts are hostile, as far as it can still be read.
fn hostile(name: &str) -> Record {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"));
    let mut value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut changed = 0;
    let places = strings(&value, String::new());
    // Most are of free form; those that are not keep the record from being read, and stay.
    for place in places {
        let before = value.pointer(&place).unwrap().clone();
        *value.pointer_mut(&place).unwrap() = HOSTILE.into();
        if changed < 60 && serde_json::from_value::<Record>(value.clone()).is_ok() {
            changed += 1;
        } else {
            *value.pointer_mut(&place).unwrap() = before;
        }
        if changed >= 60 {
            break;
        }
    }
    assert!(changed > 5, "{name}: {changed}");
    serde_json::from_value(value).unwrap()
}

fn strings(value: &Value, at: String) -> Vec<String> {
    match value {
        Value::String(_) => vec![at],
        Value::Array(items) => {
            let few = items.iter().take(3).enumerate();
            few.flat_map(|(place, item)| strings(item, format!("{at}/{place}"))).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                let name = name.replace('~', "~0").replace('/', "~1");
                strings(field, format!("{at}/{name}"))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn none() -> Gates {
    Gates::default()
}

fn drawn(comparison: Comparison) -> [String; 3] {
    let all = [(comparison, none())];
    [
        draw::terminal(&story::compare::of(&all), 80, false),
        markdown::render(&all),
        html::render(&all).unwrap(),
    ]
}

#[test]
fn nothing_of_a_hostile_record_is_obeyed() {
    for name in ["stack", "message", "cost", "join"] {
        let record = hostile(name);
        let a = Run { name: HOSTILE.into(), record: fixture(name) };
        let b = Run { name: HOSTILE.into(), record };
        let [text, markdown, page] = drawn(apart(&a, &b, &FORCE).unwrap());
        assert!(!text.contains('\u{1b}'), "{name}");
        assert!(!markdown.contains("<script") && !markdown.contains("<img"), "{name}");
        assert!(!markdown.contains("@all") && !markdown.contains("[a]("), "{name}");
        assert!(!page.contains("<script") && !page.contains("<img"), "{name}");
        assert!(page.contains("&#60;script") || page.contains("&lt;script"), "{name}");
    }
}

#[test]
fn every_kind_fits_on_eighty_columns_and_on_a_page() {
    for name in FIXTURES {
        let a = Run { name: "runs/before".into(), record: fixture(name) };
        let mut b = Run { name: "runs/after".into(), record: fixture(name) };
        b.record.id = "20261122T000000Z-later-1".into();
        let [text, markdown, page] = drawn(apart(&a, &b, &FORCE).unwrap());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(markdown.starts_with("### netfathom compare: "), "{name}");
        assert!(page.contains("default-src &#39;none&#39;; style-src &#39;sha256-"), "{name}");
        assert!(!page.contains(" style=\""), "{name}: the policy would not let it count");
        for wrong in ["NaN", "inf%", "<a href=\"http"] {
            assert!(!page.contains(wrong), "{name}: {wrong}");
        }
    }
}

/// Two runs that differ, told in full: what a user sees.
#[test]
fn what_is_told_is_this() {
    let mut maker = Maker::new(21);
    let (a, mut b) = (maker.run(10, 1.0), maker.run(10, 1.08));
    b.record.environment.kernel = "6.13.0".into();
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let thresholds = ["tx.mean>5%", "rx.mean>30%"].map(|text| text.parse().unwrap());
    let told = gates(&comparison, &thresholds).unwrap();
    assert!(told.fail(false));
    let all = [(comparison, told)];
    insta::assert_snapshot!("compare_terminal", draw::terminal(&story::compare::of(&all), 80, false));
    insta::assert_snapshot!("compare_markdown", markdown::render(&all));
}

#[test]
fn a_refusal_says_why_and_shows_no_numbers() {
    let a = Run { name: "a".into(), record: fixture("stack") };
    let b = Run { name: "b".into(), record: fixture("load") };
    let [text, markdown, page] = drawn(apart(&a, &b, &Wishes::default()).unwrap());
    for told in [&text, &markdown, &page] {
        let on_one_line = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(on_one_line.contains("nothing in common"), "{told}");
        assert!(!told.contains("Main quantities"));
    }
    assert!(text.contains("NOT COMPARED") && text.contains("--force"));
}

#[test]
fn the_picture_has_each_ratio_where_it_is() {
    let mut maker = Maker::new(22);
    let (a, b) = (maker.run(10, 1.0), maker.run(10, 1.2));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let ratios = comparison.quantities.iter().filter(|q| q.name != "rate").count();
    let [_, _, page] = drawn(comparison);
    assert_eq!(page.matches(r#"class="row worse"#).count(), ratios);
    let places: Vec<f64> = page
        .split(r#"class="point" cx=""#)
        .skip(1)
        .map(|rest| rest.split('%').next().unwrap().parse().unwrap())
        .collect();
    // All but the rate are worse: right of the middle.
    assert_eq!(places.iter().filter(|&&place| place > 55.0 && place <= 100.0).count(), ratios);
}

#[test]
fn distributions_stand_where_the_records_have_them() {
    let a = Run { name: "a".into(), record: fixture("stack") };
    let mut b = a.clone();
    b.record.id.push('x');
    let [_, _, page] = drawn(apart(&a, &b, &FORCE).unwrap());
    assert!(page.contains("tx, stack time") && page.contains(r#"class="bar a""#));
    let mut other = b.clone();
    other.record.id.push('y');
    let (mut first, mut second) = (a.clone(), b.clone());
    first.record.id.push('1');
    second.record.id.push('2');
    let both = pairs(&[(a, b), (first, second)], &FORCE).unwrap();
    // Merged: twice as many as of one run.
    let spreads: Vec<u64> = both.spreads.iter().map(|(a, _)| a.times.n).collect();
    let of_one = netfathom_results::quantity::pooled(&other.record.measurement)[0].times.n;
    assert_eq!(spreads[0], 2 * of_one);
}
