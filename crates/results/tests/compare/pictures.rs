//! Comparisons as people see them, with records that mean no good too.

use netfathom_model::record::Measurement;
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_results::compare::{Comparison, Gates, Run, Wishes, apart, gates, pairs};
use netfathom_results::page::{Axis, Chart, Page};
use netfathom_results::render::html;
use netfathom_results::{draw, story};

use crate::blocks::{bars, charts};
use crate::fixtures::{ALL, fixture};
use crate::simulated::Maker;

const FORCE: Wishes = Wishes { force: true };

fn none() -> Gates {
    Gates::default()
}

fn page(comparison: Comparison) -> Page {
    story::compare::of(&[(comparison, none())])
}

fn drawn(comparison: Comparison) -> [String; 3] {
    let all = [(comparison, none())];
    let page = story::compare::of(&all);
    [draw::terminal(&page, 80, false), draw::markdown(&page), html::render_comparisons(&all).unwrap()]
}

#[test]
fn every_kind_fits_on_eighty_columns_and_on_a_page() {
    for name in ALL {
        let a = Run { name: "runs/before".into(), record: fixture(name) };
        let mut b = Run { name: "runs/after".into(), record: fixture(name) };
        b.record.id = "20261122T000000Z-later-1".into();
        let [text, markdown, page] = drawn(apart(&a, &b, &FORCE).unwrap());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(markdown.starts_with("**") && markdown.contains("## Settings and plan"), "{name}");
        assert!(page.contains("default-src &#39;none&#39;; script-src &#39;sha256-"), "{name}");
        for wrong in ["NaN", "inf%"] {
            assert!(!text.contains(wrong), "{name}: {wrong}");
        }
    }
}

#[test]
fn a_long_answer_is_wrapped_and_not_cut() {
    let mut maker = Maker::new(21);
    let comparison = apart(&maker.run(10, 1.0), &maker.run(10, 1.12), &Wishes::default()).unwrap();
    let threshold = format!("tx.mean>{}1%", " ".repeat(80));
    let shown = gates(&comparison, &[threshold.parse().unwrap(), "rx.mean>30%".parse().unwrap()]).unwrap();
    let text = draw::terminal(&story::compare::of(&[(comparison, shown)]), 80, false);
    let answer = text.lines().take_while(|line| !line.starts_with("  -")).flat_map(str::split_whitespace);
    let answer = answer.collect::<Vec<_>>().join(" ");
    assert!(answer.contains("% interval") && answer.ends_with("1 more below"), "{text}");
}

/// Two runs that differ, in full: what a user sees.
#[test]
fn a_comparison_in_full() {
    let mut maker = Maker::new(21);
    let (a, mut b) = (maker.run(10, 1.0), maker.run(10, 1.12));
    b.record.environment.kernel = "6.13.0".into();
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let thresholds = ["tx.mean>1%", "rx.mean>30%"].map(|text| text.parse().unwrap());
    let shown = gates(&comparison, &thresholds).unwrap();
    assert!(shown.fail());
    let all = [(comparison, shown)];
    insta::assert_snapshot!("compare_terminal", draw::terminal(&story::compare::of(&all), 80, false));
    insta::assert_snapshot!("compare_markdown", draw::markdown(&story::compare::of(&all)));
}

#[test]
fn a_refusal_says_why_and_shows_no_numbers() {
    let a = Run { name: "a".into(), record: fixture("stack") };
    let b = Run { name: "b".into(), record: fixture("load") };
    let [text, markdown, page] = drawn(apart(&a, &b, &Wishes::default()).unwrap());
    for shown in [&text, &markdown, &page] {
        let on_one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(on_one_line.contains("nothing in common"), "{shown}");
        assert!(!shown.contains("Main quantities"));
    }
    assert!(text.contains("NOT COMPARED") && !text.contains("--force"));
}

#[test]
fn the_picture_has_each_ratio_where_it_is() {
    let mut maker = Maker::new(22);
    let (a, b) = (maker.run(10, 1.0), maker.run(10, 1.2));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let ratios = comparison.quantities.iter().filter(|q| q.name != "rate").count();
    let wanted: Vec<f64> = comparison.quantities.iter().map(|q| q.change.value.ln()).collect();
    let page = page(comparison);
    let bars: Vec<_> = bars(&page).iter().flat_map(|b| &b.groups).flat_map(|group| &group.bars).collect();
    assert_eq!(bars.iter().filter_map(|bar| bar.value).collect::<Vec<_>>(), wanted);
    // All but the rate are worse, and no interval reaches zero.
    assert_eq!(
        bars.iter().filter(|b| b.color == "void" && b.ends.is_some_and(|e| e.0 > 0.0)).count(),
        ratios
    );
}

#[test]
fn a_threshold_in_a_unit_has_no_place_on_the_axis_of_ratios() {
    let mut maker = Maker::new(22);
    let comparison = apart(&maker.run(10, 1.0), &maker.run(10, 1.2), &Wishes::default()).unwrap();
    let shown = gates(&comparison, &["tx.mean>1ms".parse().unwrap()]).unwrap();
    let page = story::compare::of(&[(comparison, shown)]);
    let mut drawn = bars(&page).into_iter().flat_map(|bars| &bars.groups).flat_map(|group| &group.bars);
    let bar = drawn.find(|bar| bar.name == "tx.mean").unwrap();
    let (low, high) = bar.ends.unwrap();
    let value = bar.value.unwrap();
    assert!(low < value && value < high && bar.text.ends_with(" PASS"), "{bar:?}");
}

#[test]
fn values_of_pairs_stand_at_their_rounds() {
    let mut maker = Maker::new(24);
    let mut made: Vec<(Run, Run)> = (0..5).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    made.iter_mut().flat_map(|(a, b)| [a, b]).for_each(|run| run.record.verdict = Verdict::default());
    made[0].0.record.verdict.lower(Level::Void, "gap");
    made[2].1.record.verdict.lower_only(&[Part::Rx], Level::Void, "late");
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    let of = |name: &str| comparison.quantities.iter().find(|q| q.name == name).unwrap().clone();
    let (tx, rx) = (of("tx.mean"), of("rx.mean"));
    let page = page(comparison);
    let xs = |title: &str| {
        let is_values = |chart: &Chart| chart.title == title && chart.x == Axis::Round;
        charts(&page).into_iter().find(|(_, chart)| is_values(chart)).unwrap().1.xs.clone()
    };
    assert_eq!((xs(&tx.title), tx.rounds), (vec![2.0, 3.0, 4.0, 5.0], Some(vec![2, 3, 4, 5])));
    assert_eq!((xs(&rx.title), rx.rounds), (vec![2.0, 4.0, 5.0], Some(vec![2, 4, 5])));
}

#[test]
fn the_short_view_counts_the_differences_that_it_leaves_out() {
    let mut maker = Maker::new(3);
    let (a, mut b) = (maker.run(4, 1.0), maker.run(4, 1.0));
    b.record.environment.kernel = "6.13.0".into();
    let mut comparison = apart(&a, &b, &FORCE).unwrap();
    let difference = comparison.differences.remove(0);
    let mut short = |differences| {
        comparison.differences = vec![difference.clone(); differences];
        draw::short(&page(comparison.clone()), 80, false)
    };
    assert!(!short(4).contains("more (-v"));
    assert!(short(30).contains("  and 26 more"));
}

#[test]
fn distributions_stand_where_the_records_have_them() {
    let a = Run { name: "a".into(), record: fixture("stack") };
    let mut b = a.clone();
    b.record.id.push('x');
    let page = page(apart(&a, &b, &FORCE).unwrap());
    let (_, chart) =
        charts(&page).into_iter().find(|(_, chart)| chart.title == "tx, stack time").expect("a chart");
    assert_eq!(chart.series.iter().map(|s| s.label.as_str()).collect::<Vec<_>>(), ["A", "B"]);
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

#[test]
fn a_significant_change_stands_with_its_interval() {
    let mut maker = Maker::new(5);
    let [text, ..] = drawn(apart(&maker.run(8, 1.0), &maker.run(8, 3.0), &Wishes::default()).unwrap());
    let answer = text.split("\n\n").next().unwrap();
    assert!(answer.starts_with("WORSE ") && answer.contains(" % (") && answer.contains(" to +"), "{text}");
}

#[test]
fn without_a_significant_change_the_closest_one_is_named() {
    let mut maker = Maker::new(5);
    let [text, ..] = drawn(apart(&maker.run(8, 1.0), &maker.run(8, 1.0), &Wishes::default()).unwrap());
    assert!(text.starts_with("INCONCLUSIVE  No significant change; closest: "), "{text}");
    let [alone, ..] = drawn(apart(&maker.run(1, 1.0), &maker.run(1, 1.1), &Wishes::default()).unwrap());
    assert!(alone.starts_with("NOT TESTED  one trial each has no interval"), "{alone}");
    assert!(
        alone.contains("netfathom compare --run 'ARGS OF A'") && !alone.contains("not significant"),
        "{alone}"
    );
}

#[test]
fn runs_of_watch_are_interleaved_by_commands_that_start_the_program() {
    let a = Run { name: "a".into(), record: fixture("watch") };
    let mut b = a.clone();
    b.record.id.push('x');
    let Measurement::Watch(watch) = &mut b.record.measurement else { panic!("another measurement") };
    watch.total.mean_ns *= 2.0;
    let [text, ..] = drawn(apart(&a, &b, &FORCE).unwrap());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("interleave: netfathom compare --before-a 'START A' --before-b"), "{text}");
}
