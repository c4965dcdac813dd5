//! The reports of all measurements but stack alone: silent, as wide as the page, with every chart
//! drawn, the record's own values, and no nonsense where something is missing.

use netfathom_model::record::{Distribution, LoadTrialKind, Measurement, Record, State};
use netfathom_testkit::browser::address;
use serde_json::{Value, json};

use crate::layout::{COLOURS, has};
use crate::records::{HOSTILE, poisoned};
use crate::{OPEN_ALL, Shown, show};

/// The fixtures that are drawn here.
const KINDS: [&str; 10] =
    ["load", "capacity", "reverse", "join", "reproduce", "taps", "ttcp", "sweep", "message", "cost"];

/// Every kind of report there is.
pub const ALL: [&str; 10] =
    ["stack", "load", "capacity", "reverse", "join", "reproduce", "ttcp", "sweep", "message", "cost"];

pub fn of(kind: &str) -> Record {
    let text = match kind {
        "stack" => include_str!("../fixtures/stack.json"),
        "load" => include_str!("../fixtures/load.json"),
        "capacity" => include_str!("../fixtures/capacity.json"),
        "join" => include_str!("../fixtures/join.json"),
        "reproduce" => include_str!("../fixtures/reproduce.json"),
        "taps" => include_str!("../fixtures/taps.json"),
        "ttcp" => include_str!("../fixtures/ttcp.json"),
        "sweep" => include_str!("../fixtures/sweep.json"),
        "message" => include_str!("../fixtures/message.json"),
        "cost" => include_str!("../fixtures/cost.json"),
        "cost-chance" => include_str!("../fixtures/cost-chance.json"),
        "cost-offline" => include_str!("../fixtures/cost-offline.json"),
        "cost-own" => include_str!("../fixtures/cost-own.json"),
        "cost-observers" => include_str!("../fixtures/cost-observers.json"),
        _ => include_str!("../fixtures/reverse.json"),
    };
    serde_json::from_str(text).expect("the fixture is a record")
}

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

pub fn stays_quiet(name: &str, record: &Record) {
    let Some(mut shown) = show(name, record) else { return };
    open_all(&mut shown);
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
    }
}

#[test]
fn reports_are_silent_and_fit_the_page() {
    for kind in KINDS {
        stays_quiet(kind, &of(kind));
    }
}

#[test]
fn hostile_strings_are_shown_and_not_run() {
    for kind in KINDS {
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
        ("message", vec!["message-UU-0", "message-ratio-UU-1", "message-UK-1", "message-rounds-UU-0-4"]),
        ("cost", vec!["cost-0", "cost-1", "cost-apart-0", "cost-behind-0"]),
        ("cost-offline", vec!["cost-marks-0", "cost-behind-0"]),
        ("reproduce", vec!["figure-0", "run-0-time-tx", "run-0-rate", "run-1-reverse-ignored"]),
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
fn what_is_missing_is_said() {
    for (name, record) in sparse() {
        stays_quiet(name, &record);
    }
}

/// Records with something missing, each with its name.
fn sparse() -> Vec<(&'static str, Record)> {
    let with = |kind: &str, edit: fn(&mut Measurement)| {
        let mut record = of(kind);
        edit(&mut record.measurement);
        record.state = State::Interrupted;
        record
    };
    vec![
        (
            "transfer with nobody",
            with("ttcp", |m| {
                let Measurement::Transfer(t) = m else { return };
                t.streams.clear();
                (t.peer, t.plan.host) = (None, None);
            }),
        ),
        (
            "transfer that nobody looked at",
            with("ttcp", |m| {
                let Measurement::Transfer(t) = m else { return };
                (t.explanation, t.cost, t.congestion) = (None, None, None);
                for s in &mut t.streams {
                    (s.peer, s.tcp, s.udp, s.zero_copy, s.calls_took) = Default::default();
                    s.samples.truncate(1);
                }
            }),
        ),
        (
            "service without senders",
            with("ttcp", |m| {
                let Measurement::Transfer(t) = m else { return };
                t.streams.clear();
                (t.served, t.explanation) = (Some(Default::default()), None);
            }),
        ),
        (
            "sweep without points",
            with("sweep", |m| {
                let Measurement::Sweep(s) = m else { return };
                s.points.clear();
            }),
        ),
        (
            "sweep without causes, of which one transfer alone came to its end",
            with("sweep", |m| {
                let Measurement::Sweep(s) = m else { return };
                for (i, p) in s.points.iter_mut().enumerate() {
                    p.cause = None;
                    p.rate = p.rate.filter(|_| i == 0);
                    p.trials
                        .iter_mut()
                        .for_each(|t| (t.explanation, t.tcp, t.calls_took, t.closed_ns) = Default::default());
                }
            }),
        ),
        (
            "load without trials",
            with("load", |m| {
                let Measurement::Load(l) = m else { return };
                l.trials.clear();
                (l.summary, l.receive) = (None, None);
                l.ladder.clear();
            }),
        ),
        (
            "load one way",
            with("load", |m| {
                let Measurement::Load(l) = m else { return };
                (l.receive, l.plan.echo) = (None, false);
                l.trials.truncate(2);
                l.trials.iter_mut().for_each(|t| t.echo = None);
                if let Some(s) = &mut l.summary {
                    (s.lost, s.echo_idle, s.echo_loaded, s.between_trials_per_s) = (None, None, None, None);
                }
            }),
        ),
        (
            "load of nothing",
            with("load", |m| {
                let Measurement::Load(l) = m else { return };
                let nothing = Distribution::from(&netfathom_stats::Distribution::new(5));
                for t in &mut l.trials {
                    (t.intervals, t.wanted_intervals, t.load.lag) =
                        (nothing.clone(), nothing.clone(), nothing.clone());
                    (t.load.series, t.lag_windows) = Default::default();
                    (t.load.sent, t.load.planned, t.load.span_ns) = (0, 0, 0);
                    t.workers.clear();
                }
            }),
        ),
        (
            "capacity without rows",
            with("capacity", |m| {
                let Measurement::Capacity(c) = m else { return };
                c.rows.clear();
                c.inferred = None;
            }),
        ),
        (
            "capacity without answers",
            with("capacity", |m| {
                let Measurement::Capacity(c) = m else { return };
                for r in &mut c.rows {
                    (r.flat_out_per_s, r.capacity_per_s, r.sustained_per_s, r.of_inferred) =
                        Default::default();
                    (r.blocking_per_s, r.blocking) = Default::default();
                    r.searches.clear();
                }
            }),
        ),
        (
            "reverse without trials",
            with("reverse", |m| {
                let Measurement::Reverse(r) = m else { return };
                r.variants.iter_mut().for_each(|v| (v.trials, v.summary) = Default::default());
            }),
        ),
        (
            "reverse without tap",
            with("reverse", |m| {
                let Measurement::Reverse(r) = m else { return };
                r.tap = None;
                for v in &mut r.variants {
                    v.trials.truncate(1);
                    v.trials.iter_mut().for_each(|t| t.stack = None);
                    if let Some(s) = &mut v.summary {
                        (s.drop_interval, s.recovery_interval, s.stack_mean_ns) = (None, None, None);
                        s.stages.clear();
                    }
                }
            }),
        ),
    ]
}

#[test]
fn bars_lie_where_the_rates_are() {
    let record = of("capacity");
    let Measurement::Capacity(capacity) = &record.measurement else { panic!("another measurement") };
    let Some(mut shown) = show("bars", &record) else { return };
    let widths =
        shown.page.eval("[...document.querySelectorAll('.bars .bar')].map((b) => parseFloat(b.style.width))");
    let widths: Vec<f64> = widths.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let of_row = |r: &netfathom_model::record::CapacityRow| {
        [r.sustained_per_s, r.blocking_per_s, r.capacity_per_s, r.flat_out_per_s]
    };
    let rates: Vec<f64> =
        capacity.rows.iter().flat_map(of_row).flatten().map(|b| b.mean_per_s.log10()).collect();
    assert_eq!(widths.len(), rates.len(), "a bar a rate that is known");
    // On a logarithmic scale, equal factors are equally long.
    let slope = (widths[1] - widths[0]) / (rates[1] - rates[0]);
    for (w, r) in widths.iter().zip(&rates) {
        let wanted = widths[0] + slope * (r - rates[0]);
        assert!((w - wanted).abs() < 0.5, "{w} is not {wanted}");
    }
}

#[test]
fn the_response_lies_above_the_service() {
    let record = of("load");
    let Measurement::Load(load) = &record.measurement else { panic!("another measurement") };
    let Some(mut shown) = show("omission", &record) else { return };
    let echo = load.summary.as_ref().and_then(|s| s.echo_loaded.as_ref()).expect("answers");
    for (curve, d) in [("response, loaded", &echo.response), ("service, loaded", &echo.service)] {
        let drawn = shown.page.eval(&format!(
            "(() => {{ const {{ plot }} = netfathom.charts['echo'];
                return plot.data[plot.series.findIndex((s) => s.label === '{curve}')]; }})()"
        ));
        let drawn = drawn.as_array().unwrap();
        for value in [d.p50_ns, d.p99_ns, d.p999_ns] {
            assert!(drawn.contains(&json!(value)), "{curve}: {value} is missing");
        }
    }
    assert!(echo.response.p999_ns > 2 * echo.service.p999_ns, "the fixture shows no omission");
}

#[test]
fn reverse_rates_are_the_records_over_the_window() {
    let record = of("reverse");
    let Measurement::Reverse(reverse) = &record.measurement else { panic!("another measurement") };
    let Some(mut shown) = show("reverse rates", &record) else { return };
    let trials = &reverse.variants[0].trials;
    let drawn = shown.page.eval(
        "(() => { const { plot } = netfathom.charts['reverse-ignored'];
            return plot.data[plot.series.findIndex((s) => s.label === 'outgoing')]; })()",
    );
    for (w, value) in drawn.as_array().unwrap().iter().enumerate() {
        let mean = trials.iter().map(|t| t.outgoing[w] as f64).sum::<f64>() / trials.len() as f64;
        let wanted = mean / (trials[0].window_ns as f64 / 1e9);
        assert!((value.as_f64().unwrap() - wanted).abs() < 1e-6 * wanted, "window {w}");
    }
}

#[test]
fn lag_over_the_run_is_merged_window_by_window() {
    let record = of("load");
    let Measurement::Load(load) = &record.measurement else { panic!("another measurement") };
    let Some(mut shown) = show("lag windows", &record) else { return };
    let drawn = shown.page.eval(
        "(() => { const { plot } = netfathom.charts['lag-run'];
            return plot.data[plot.series.findIndex((s) => s.label === 'p99')].filter((v) => v !== null); })()",
    );
    let loaded: Vec<_> = load.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded).collect();
    let p99 = |w: usize| {
        let mut all = netfathom_stats::Distribution::new(5);
        loaded.iter().for_each(|t| all.merge(&(&t.lag_windows.windows[w]).into()));
        all.quantile(0.99).expect("every window has messages")
    };
    let wanted: Vec<i64> = (0..loaded[0].lag_windows.windows.len()).map(p99).collect();
    assert_eq!(drawn, json!(wanted));
}
