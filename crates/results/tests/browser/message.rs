//! The report of a message benchmark: every test, carrier and gap is drawn.

use netfathom_model::layer::End;
use netfathom_model::plan::{Carrier, MessageTest};
use netfathom_model::record::{Counted, EndCost, Measurement, MessageResult, Record, State};

use crate::kinds::{of, stays_quiet};

fn with(edit: impl FnOnce(&mut MessageResult)) -> Record {
    let mut record = of("message");
    let Measurement::Message(message) = &mut record.measurement else { panic!("another measurement") };
    edit(message);
    record
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
        ("message without its first layer", with(|m| m.cells.retain(|c| c.layer.to_string() == "thread"))),
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
