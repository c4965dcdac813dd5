//! The reports of all measurements but stack alone: silent, as wide as the page, with every chart
//! drawn, the record's own values, and no nonsense where something is missing.

use netfathom_model::record::{Distribution, Measurement, Record, State};
use netfathom_testkit::browser::address;
use serde_json::json;

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
        ("message", vec!["message-UU-0", "message-UK-1", "message-times-UU-0-4"]),
        ("cost", vec!["cost-0", "cost-1", "cost-behind-0", "cost-trials-0"]),
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
