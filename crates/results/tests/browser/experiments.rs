//! Joins of files, experiments beside their originals, and taps beside each other: the record's
//! own values, runs drawn as their own reports draw them, and what is missing or damaged.

use netfathom_model::record::{
    Distribution, FigureKind, JoinResult, Measurement, Record, ReproduceResult, ReproducedRun, StackResult,
};
use serde_json::{Value, json};

use crate::kinds::{of, open_all, stays_quiet};
use crate::records::fixture;
use crate::show;

fn join(record: &mut Record) -> &mut JoinResult {
    let Measurement::Join(join) = &mut record.measurement else { panic!("another measurement") };
    join
}

fn reproduce(record: &mut Record) -> &mut ReproduceResult {
    let Measurement::Reproduce(reproduce) = &mut record.measurement else { panic!("another measurement") };
    reproduce
}

fn stack(record: &mut Record) -> &mut StackResult {
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    stack
}

fn changed<T>(kind: &str, of_kind: fn(&mut Record) -> &mut T, change: impl FnOnce(&mut T)) -> Record {
    let mut record = of(kind);
    change(of_kind(&mut record));
    record
}

#[test]
fn joined_times_over_the_run_are_the_records() {
    let mut record = of("join");
    let Some(mut shown) = show("joined", &record) else { return };
    for (i, span) in join(&mut record).spans.iter().enumerate() {
        let drawn = shown.page.eval(&format!("netfathom.charts['span-{i}'].plot.data[1]"));
        let wanted: Vec<_> = (0..span.series.n.len()).map(|w| span.series.mean_ns(w)).collect();
        assert_eq!(drawn.as_array().unwrap().len(), wanted.len());
        for (a, b) in drawn.as_array().unwrap().iter().zip(wanted) {
            assert!((a.as_f64().unwrap() - b.unwrap()).abs() < 1e-6, "span {i}: {a} is not {b:?}");
        }
    }
}

#[test]
fn every_claim_wears_its_outcome() {
    let Some(mut shown) = show("claims", &of("reproduce")) else { return };
    let badges = "[...document.querySelectorAll('.claims .badge')].map((b) => b.textContent)";
    assert_eq!(shown.page.eval(badges), json!(["holds", "does not hold", "cannot tell"]));
}

#[test]
fn our_rows_stand_beside_those_of_the_source() {
    let Some(mut shown) = show("beside", &of("reproduce")) else { return };
    let rows = "[...document.querySelector('#tables table').querySelectorAll('tbody tr')].map((r) =>
        [r.className, r.children[0].textContent, r.children[2].textContent, r.children[3].textContent])";
    let wanted = json!([
        ["", "Borodin, platform 1", "9.05 ±\u{a0}1.63", "2"],
        ["", "Borodin, platform 2", "10.35 ±\u{a0}0.58", "2"],
        ["", "Borodin, platform 3", "60.23 ±\u{a0}0.96", "<0"],
        ["here", "here", "1.34 ±\u{a0}0.08", "<0"],
    ]);
    assert_eq!(shown.page.eval(rows), wanted);
    // The second table is a long one: the source's rows are folded, and there when opened.
    let second = "document.querySelectorAll('#tables .compared')[1].querySelectorAll('tbody tr').length";
    assert_eq!(shown.page.eval(second), json!(12));
    open_all(&mut shown);
    let third = "document.querySelectorAll('#tables .compared')[2].querySelectorAll('tbody tr').length";
    assert_eq!(shown.page.eval(third), json!(42));
}

#[test]
fn lines_go_through_the_points_of_the_record() {
    let mut record = of("reproduce");
    let Some(mut shown) = show("figure", &record) else { return };
    for series in &reproduce(&mut record).figures[0].series {
        let drawn = shown.page.eval(&format!(
            "(() => {{ const {{ plot }} = netfathom.charts['figure-0'];
                const k = plot.series.findIndex((s, i) => i > 0 && s.label === '{}');
                return plot.data[0].map((x, i) => [x, plot.data[k][i]]).filter((p) => p[1] !== null); }})()",
            series.name
        ));
        let points: Vec<Value> = series.points.iter().map(|p| json!([p.x, p.y])).collect();
        let near = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9;
        let drawn = drawn.as_array().unwrap();
        assert_eq!(drawn.len(), points.len(), "{}", series.name);
        assert!(drawn.iter().zip(&points).all(|(a, b)| near(&a[0], &b[0]) && near(&a[1], &b[1])));
    }
}

#[test]
fn bars_begin_at_zero() {
    let mut record = of("reproduce");
    let Some(mut shown) = show("bars from zero", &record) else { return };
    let drawn = shown.page.eval(
        "[...document.querySelectorAll('.bars-figure .bar')].map((b) => [parseFloat(b.style.left), parseFloat(b.style.width)])",
    );
    let drawn = drawn.as_array().unwrap();
    let figure = &reproduce(&mut record).figures[1];
    assert_eq!(figure.kind, FigureKind::Bars);
    // The bars are gathered by what they stand for, series by series.
    let values: Vec<f64> = (0..2).flat_map(|i| figure.series.iter().map(move |s| s.points[i].y)).collect();
    assert_eq!(drawn.len(), values.len());
    for (bar, value) in drawn.iter().zip(&values) {
        assert_eq!(bar[0], json!(0), "a bar that begins elsewhere");
        let (length, unit) = (bar[1].as_f64().unwrap(), drawn[0][1].as_f64().unwrap() / values[0]);
        assert!((length - value * unit).abs() < 0.05, "{length} is not {value}");
    }
}

#[test]
fn a_run_is_drawn_as_its_own_report_draws_it() {
    let record = of("reproduce");
    let Some(mut shown) = show("whole run", &record) else { return };
    open_all(&mut shown);
    let whole = shown.page.eval("netfathom.charts['run-0-time-rx'].plot.data.at(-1)");
    let Some(mut alone) = show("run alone", &of("taps")) else { return };
    assert_eq!(whole, alone.page.eval("netfathom.charts['time-rx'].plot.data.at(-1)"));
    let twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map((n) => n.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i); })()";
    assert_eq!(shown.page.eval(twice), json!([]), "names that stand twice");
}

#[test]
fn only_a_comparison_has_taps_beside_each_other() {
    let Some(mut shown) = show("one tap", &fixture()) else { return };
    assert_eq!(shown.page.eval("document.getElementById('taps')"), Value::Null);
    let Some(mut shown) = show("all taps", &of("taps")) else { return };
    let text = shown.page.eval("document.getElementById('taps').innerText").to_string();
    for wanted in ["timestamping", "pcap", "cannot tell", "distorts", "25.4"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let captured = shown.page.eval("document.getElementById('accounting').innerText").to_string();
    assert!(captured.contains("packet ring") && captured.contains("17"), "{captured}");
}

#[test]
fn what_is_missing_is_said() {
    let nothing = Distribution::from(&netfathom_stats::Distribution::new(5));
    let no_messages = |join: &mut JoinResult| {
        for s in &mut join.spans {
            (s.times, s.series) = (nothing.clone(), Default::default());
        }
        join.logs[0].missing.clear();
        join.captures[0].kinds.clear();
        join.clocks[0].log = 9;
    };
    let empty = |join: &mut JoinResult| {
        join.spans.clear();
        join.captures.clear();
        join.logs.clear();
        join.clocks.clear();
    };
    let hollow = |r: &mut ReproduceResult| {
        r.tables[0].rows.clear();
        r.tables[1].rows.iter_mut().for_each(|row| row.cells.truncate(2));
        r.figures[0].series.iter_mut().for_each(|s| s.points.truncate(1));
        r.figures[1].series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.y = -p.y);
        r.runs.truncate(1);
    };
    let bare = |r: &mut ReproduceResult| {
        (r.tables, r.figures, r.claims) = Default::default();
        (r.runs, r.differences) = Default::default();
    };
    let no_points = |r: &mut ReproduceResult| r.figures.iter_mut().for_each(|f| f.series.clear());
    let within = |r: &mut ReproduceResult| {
        let itself = Measurement::Reproduce(Box::new(r.clone()));
        r.runs.push(ReproducedRun { name: "itself".into(), measurement: itself });
    };
    let costless = |stack: &mut StackResult| {
        for tap in &mut stack.taps {
            (tap.cost, tap.tx_ns, tap.rx_bias_ns) = (None, None, None);
        }
    };
    for (name, record) in [
        ("join of no messages", changed("join", join, no_messages)),
        ("join of nothing", changed("join", join, empty)),
        ("hollow experiment", changed("reproduce", reproduce, hollow)),
        ("bare experiment", changed("reproduce", reproduce, bare)),
        ("figures of nothing", changed("reproduce", reproduce, no_points)),
        ("experiment within itself", changed("reproduce", reproduce, within)),
        ("taps without costs", changed("taps", stack, costless)),
    ] {
        stays_quiet(name, &record);
    }
}

/// One run is damaged; the other and the tables are drawn all the same.
#[test]
fn a_damaged_run_leaves_the_others_alone() {
    let record = changed("reproduce", reproduce, |r| {
        let Measurement::Stack(stack) = &mut r.runs[0].measurement else { panic!("another measurement") };
        for path in stack.trials.iter_mut().flat_map(|t| &mut t.paths) {
            path.series.sum_ns.clear();
            path.total.buckets = vec![(u32::MAX, 7)];
        }
        stack.summaries.iter_mut().for_each(|s| s.total.grain = 99);
    });
    let Some(mut shown) = show("damaged run", &record) else { return };
    open_all(&mut shown);
    for chart in ["figure-0", "run-0-rate", "run-1-reverse-ignored"] {
        let drawn = shown.page.eval(&format!("Boolean(netfathom.charts['{chart}'])"));
        assert_eq!(drawn, json!(true), "{chart}");
    }
    let text = shown.page.eval("document.body.innerText").to_string();
    assert!(!text.contains("NaN") && !text.contains("undefined"), "{text}");
}
