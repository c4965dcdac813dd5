//! The report of a message benchmark: its pictures hold the record's own values, and every test,
//! carrier and gap is drawn.

use netfathom_model::layer::End;
use netfathom_model::plan::{Carrier, MessageTest, Placement};
use netfathom_model::record::{Counted, EndCost, Measurement, MessageResult, Record, State};
use serde_json::{Value, json};

use crate::kinds::{of, open_all, stays_quiet};
use crate::layout::{COLOURS, has};
use crate::{Shown, show};

fn result(record: &Record) -> &MessageResult {
    let Measurement::Message(message) = &record.measurement else { panic!("another measurement") };
    message
}

fn with(edit: impl FnOnce(&mut MessageResult)) -> Record {
    let mut record = of("message");
    let Measurement::Message(message) = &mut record.measurement else { panic!("another measurement") };
    edit(message);
    record
}

/// What a curve of a chart really holds, read back from the chart.
fn drawn(shown: &mut Shown, chart: &str, curve: &str) -> Vec<Option<f64>> {
    let values = shown.page.eval(&format!(
        "(() => {{ const {{ plot }} = netfathom.charts['{chart}'];
            return [...plot.data[plot.series.findIndex((s, i) => i > 0 && s.label === '{curve}')]]; }})()"
    ));
    values.as_array().expect("a curve").iter().map(Value::as_f64).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= b.abs() * 1e-9
}

#[test]
fn lines_are_the_means_of_the_trials_medians() {
    let record = of("message");
    let Some(mut shown) = show("message lines", &record) else { return };
    open_all(&mut shown);
    for (placement, pair) in [(Placement::UU, 0), (Placement::UU, 1), (Placement::UK, 1)] {
        for layer in ["write+nodelay", "two", "adaptive"] {
            let chart = format!("message-{}-{pair}", placement.name());
            let curve = drawn(&mut shown, &chart, layer);
            let of_it = result(&record)
                .cells
                .iter()
                .filter(|c| c.placement == placement && c.pair == pair && c.layer.to_string() == layer);
            let wanted: Vec<f64> = of_it
                .map(|c| c.trials.iter().map(|t| t.p50_ns as f64).sum::<f64>() / c.trials.len() as f64)
                .collect();
            assert_eq!(curve.len(), wanted.len(), "a point a size");
            for (a, b) in curve.iter().zip(&wanted) {
                assert!(close(a.expect("a value"), *b), "{chart}, {layer}: {a:?} is not {b}");
            }
        }
    }
}

#[test]
fn one_way_the_lines_are_rates_and_the_ratios_those_of_the_record() {
    let record = with(|m| m.plan.test = MessageTest::Oneway);
    let Some(mut shown) = show("message rates", &record) else { return };
    open_all(&mut shown);
    let of_adaptive = || {
        let here = |c: &&netfathom_model::record::MessageCell| {
            c.placement == Placement::UU && c.pair == 1 && c.layer.to_string() == "adaptive"
        };
        result(&record).cells.iter().filter(here)
    };
    let rates = drawn(&mut shown, "message-UU-1", "adaptive");
    let ratios = drawn(&mut shown, "message-ratio-UU-1", "adaptive");
    assert_eq!(rates.len(), 3);
    for ((cell, rate), ratio) in of_adaptive().zip(rates).zip(ratios) {
        let mean = cell.rate.and_then(|r| r.mean_per_s).expect("three trials").value;
        assert!(close(rate.expect("a rate"), mean));
        assert!(close(ratio.expect("a ratio"), cell.ratio.expect("three trials").value));
    }
    // The first layer has no ratio to itself.
    let of_first =
        "netfathom.charts['message-ratio-UU-1'].plot.series.some((s) => s.label === 'write+nodelay')";
    assert_eq!(shown.page.eval(of_first), json!(false));
}

#[test]
fn a_layer_can_be_switched_off() {
    let Some(mut shown) = show("message toggle", &of("message")) else { return };
    shown.page.prefer("light");
    let drawn = format!("{COLOURS}('message-UU-0')");
    let button = "document.querySelector('#chart-message-UU-0 button[data-group=\"adaptive\"]')";
    assert!(has(&shown.page.eval(&drawn), "#0072b2"));
    shown.page.eval(&format!("{button}.click()"));
    shown.page.settle();
    assert!(!has(&shown.page.eval(&drawn), "#0072b2"), "still drawn");

    // Without what is ten thousand times as slow the others can be told apart.
    let span = "(() => { const { min, max } = netfathom.charts['message-ratio-UU-0'].plot.scales.y; return max / min; })()";
    assert!(shown.page.eval(span).as_f64() > Some(1e4));
    shown.page.eval("document.querySelector('#chart-message-ratio-UU-0 button[data-group=\"two\"]').click()");
    shown.page.settle();
    assert!(shown.page.eval(span).as_f64() < Some(20.0), "the axis stays as it was");
}

#[test]
fn placements_are_bars_as_long_as_their_times() {
    let record = of("message");
    let Some(mut shown) = show("message placements", &record) else { return };
    let widths =
        "[...document.querySelectorAll('#placements .bars .bar')].map((b) => parseFloat(b.style.width))";
    let widths = shown.page.eval(widths);
    let widths: Vec<f64> = widths.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let smallest = || result(&record).cells.iter().filter(|c| c.bytes == 4);
    assert_eq!(widths.len(), smallest().count(), "a bar for each layer, placement and pair");
    // Layer by layer, as they stand; equal factors are equally long.
    let mean = |c: &netfathom_model::record::MessageCell| {
        (c.trials.iter().map(|t| t.p50_ns as f64).sum::<f64>() / c.trials.len() as f64).log10()
    };
    let by_layer: Vec<f64> = result(&record)
        .plan
        .layers
        .iter()
        .flat_map(|layer| smallest().filter(move |c| c.layer == *layer))
        .map(mean)
        .collect();
    let slope = (widths[1] - widths[0]) / (by_layer[1] - by_layer[0]);
    for (w, t) in widths.iter().zip(&by_layer) {
        let wanted = widths[0] + slope * (t - by_layer[0]);
        assert!((w - wanted).abs() < 0.5, "{w} is not {wanted}");
    }
    let text = shown.page.eval("document.querySelector('#placements').innerText").to_string();
    for said in ["it is a library of user space", "UU with nng, or UK with write+nodelay"] {
        assert!(text.contains(said), "{said}");
    }
}

#[test]
fn percentiles_show_the_stall() {
    let record = of("message");
    let Some(mut shown) = show("message times", &record) else { return };
    open_all(&mut shown);
    let cell = result(&record).cells.iter().find(|c| c.bytes == 64 && c.layer.to_string() == "adaptive");
    let times = &cell.expect("it is there").times;
    let curve = drawn(&mut shown, "message-times-UU-0-64", "adaptive");
    for named in [times.p50_ns, times.p99_ns] {
        assert!(curve.contains(&Some(named as f64)), "{named} is missing");
    }
    let stalled: Vec<f64> = drawn(&mut shown, "message-times-UU-0-64", "two").into_iter().flatten().collect();
    assert!(stalled.iter().all(|&ns| ns > 40e6), "{stalled:?}");
}

#[test]
fn a_stall_comes_first() {
    let Some(mut shown) = show("message stall", &of("message")) else { return };
    let answer = shown.page.eval("document.querySelector('.answer').innerText").to_string();
    assert!(answer.contains("“two” stalls with 64 bytes"), "{answer}");
    assert_eq!(shown.page.eval("document.querySelector('main > section').id"), json!("remedies"));
    let marks = "[...document.querySelectorAll('#remedies .bars .mark')].map((m) => m.innerText)";
    let marks = shown.page.eval(marks);
    let stalls = marks.as_array().unwrap().iter().filter(|m| **m == json!("it stalls")).count();
    assert_eq!((marks.as_array().unwrap().len(), stalls), (6, 2));
}

#[test]
fn what_is_not_known_says_why() {
    let Some(mut shown) = show("message unknown", &of("message")) else { return };
    open_all(&mut shown);
    let titles =
        "[...new Set([...document.querySelectorAll('#tables .unknown')].map((n) => n.title))].sort()";
    let titles = shown.page.eval(titles).to_string();
    for why in ["an end in the kernel has no thread", "its threads were there before"] {
        assert!(titles.contains(why), "{titles}");
    }
    let cost = "[...document.querySelectorAll('#tables td')].some((n) => n.innerText === '2.10\u{a0}µs')";
    assert_eq!(shown.page.eval(cost), json!(true), "a message's processor time");
}

#[test]
fn every_test_and_every_gap_is_drawn() {
    for (name, record) in sparse() {
        stays_quiet(name, &record);
    }
}

/// The other tests, and records with something missing, each with its name.
fn sparse() -> Vec<(&'static str, Record)> {
    let mut none = with(|m| {
        m.cells.clear();
        m.remedies.clear();
        m.absent.clear();
    });
    none.state = State::Interrupted;
    vec![
        ("message post", with(|m| m.plan.test = MessageTest::Post)),
        ("message of nothing", none),
        ("message open loop over udp", with(open_loop)),
        (
            "message of one cell",
            with(|m| {
                m.cells.truncate(1);
                m.remedies.clear();
                m.cells[0].trials.truncate(1);
                m.cells[0].rate =
                    m.cells[0].rate.map(|r| netfathom_model::record::MessageRate { mean_per_s: None, ..r });
            }),
        ),
        ("message without its first layer", with(|m| m.cells.retain(|c| c.layer.to_string() == "nng"))),
        ("message that nobody counted", with(uncounted)),
        ("message of empty trials", with(empty)),
        ("message on processors without names", with(|m| m.pairs.clear())),
        ("message of twelve layers", with(twelve)),
    ]
}

fn open_loop(m: &mut MessageResult) {
    (m.plan.test, m.plan.carrier, m.plan.rate_per_s) = (MessageTest::Oneway, Carrier::Udp, Some(1e4));
    for cell in &mut m.cells {
        cell.lag = Some(cell.times.clone());
        cell.trials.iter_mut().for_each(|t| t.lost = 3);
    }
}

fn uncounted(m: &mut MessageResult) {
    for cell in &mut m.cells {
        cell.calls = Counted::Not("the kernel has no such tracepoint".into());
        for trial in &mut cell.trials {
            (trial.client, trial.server) = (EndCost::default(), EndCost::default());
            (trial.kernel_workers_ns, trial.tcp) = (None, None);
        }
    }
    for row in m.remedies.iter_mut().flat_map(|r| &mut r.rows) {
        row.delayed_acks_per_message = None;
    }
    assert!(m.cells.iter().all(|c| c.cpu_ns_per_message(End::Client).is_none()));
}

fn empty(m: &mut MessageResult) {
    let nothing = netfathom_model::record::Distribution::from(&netfathom_stats::Distribution::new(5));
    for cell in &mut m.cells {
        (cell.rate, cell.ratio, cell.times) = (None, None, nothing.clone());
        cell.trials.iter_mut().for_each(|t| (t.messages, t.p50_ns, t.p99_ns) = (0, 0, 0));
    }
    m.remedies.iter_mut().flat_map(|r| &mut r.rows).for_each(|row| row.times = nothing.clone());
}

/// The longest names that there are.
fn twelve(m: &mut MessageResult) {
    let long = [
        "writev+nodelay@client+quickack@server",
        "two+cork@client+quickack@server",
        "two+nodelay@client+quickack@server",
        "two+more",
        "writev",
        "sendfile",
        "inline",
        "thread",
    ];
    let like: Vec<_> = m.cells.iter().filter(|c| c.layer.to_string() == "adaptive").cloned().collect();
    for name in long {
        let layer: netfathom_model::layer::Layer = name.parse().expect("a layer");
        m.plan.layers.push(layer.clone());
        m.cells.extend(like.iter().cloned().map(|mut cell| {
            cell.layer = layer.clone();
            cell
        }));
    }
}
