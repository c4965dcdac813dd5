//! Joins of files, experiments beside their originals, and taps beside each other: the record's
//! own values, runs drawn as their own reports draw them, and what is missing or damaged.

use netfathom_model::record::{
    Distribution, JoinResult, Measurement, Record, ReproduceResult, ReproducedRun, StackResult,
};
use serde_json::json;

use crate::kinds::{of, open_all, stays_quiet};
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
fn a_run_is_drawn_as_its_own_report_draws_it() {
    let mut record = of("reproduce");
    let Some(mut shown) = show("whole run", &record) else { return };
    open_all(&mut shown);
    let whole = shown.page.eval("netfathom.charts['run-1-reverse-ignored'].plot.data.at(-1)");
    record.measurement = reproduce(&mut record).runs[1].measurement.clone();
    let Some(mut alone) = show("run alone", &record) else { return };
    assert_eq!(whole, alone.page.eval("netfathom.charts['reverse-ignored'].plot.data.at(-1)"));
    let twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map((n) => n.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i); })()";
    assert_eq!(shown.page.eval(twice), json!([]), "names that stand twice");
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
    for chart in ["figure-0", "run-1-reverse-ignored"] {
        let drawn = shown.page.eval(&format!("Boolean(netfathom.charts['{chart}'])"));
        assert_eq!(drawn, json!(true), "{chart}");
    }
    let text = shown.page.eval("document.body.innerText").to_string();
    assert!(!text.contains("NaN") && !text.contains("undefined"), "{text}");
}
