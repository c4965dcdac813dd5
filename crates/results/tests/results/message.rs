//! Message benchmarks on a terminal: the answer of each test, what is missing, what is hostile, and
//! what is too wide.

use netfathom_model::layer::Layer;
use netfathom_model::plan::{Carrier, MessageTest, Placement};
use netfathom_model::record::{
    AbsentCell, Contention, Counted, Distribution, EndCost, Estimate, Held, Holder, LoadThread, Measurement,
    MessageCell, MessageResult, Record, State,
};
use netfathom_model::verdict::Level;
use netfathom_results::{draw, story};

use crate::contract::{self, flat};
use crate::curves::{curve, same};
use crate::fixtures::fixture;
use crate::pictures::bars;

fn message(change: impl FnOnce(&mut MessageResult)) -> Record {
    let mut record = fixture("message");
    let Measurement::Message(message) = &mut record.measurement else { panic!("another measurement") };
    change(message);
    record
}

/// The text of a page that fits, and has no numbers that are none.
fn sane(record: &Record) -> String {
    let text = contract::sane(record);
    assert!(!text.contains("inf"), "{text}");
    text
}

#[test]
fn each_test_is_answered_by_what_it_is_about() {
    let answers: [(MessageTest, &[&str]); 3] = [
        (
            MessageTest::Pingpong,
            &[
                "4-byte RTT: 4.37 µs ± 0.49 with “write+nodelay”; “adaptive”: not significant",
                "1,024-byte RTT: 4.84 µs ± 0.49 with “write+nodelay”; “adaptive” ×1.04±0.04",
                "both ends in user space on CPU 1 alone",
                "on CPUs 0 and 1 (apart) “write+nodelay” takes 9.49 ± 0.52 × that on CPU 1 alone",
            ],
        ),
        (
            MessageTest::Oneway,
            &[
                "“adaptive” sends 214k messages/s of 4 bytes, ",
                "messages/s of 1,024 bytes, 0.957 ± 0.067 × that of",
            ],
        ),
        (MessageTest::Post, &["“adaptive” brings replies of 1,024 bytes at 198 MB/s, 0.957"]),
    ];
    for (test, reply) in answers {
        let text = flat(&sane(&message(|m| m.plan.test = test)));
        assert!(text.contains("“two” stalls with 64 bytes: 84.9 ms at the median"), "{text}");
        for part in reply {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn the_p99_of_the_first_layer_stands_beside_its_median() {
    let heads = "bytes +nodelay p99 ";
    let of = |test| flat(&sane(&message(|m| m.plan.test = test)));
    assert!(of(MessageTest::Pingpong).contains(heads), "{}", of(MessageTest::Pingpong));
    assert!(!of(MessageTest::Post).contains(heads), "rates have none");
}

#[test]
fn a_void_cell_has_its_reason_in_place_of_a_value_and_no_part_in_the_answer() {
    let record = message(|m| {
        m.remedies.clear();
        let is_home = |c: &&mut MessageCell| c.layer == Layer::reference() && c.pair == 0 && c.bytes == 4;
        m.cells.iter_mut().filter(is_home).for_each(|c| c.verdict.lower(Level::Void, "3 messages lost"));
    });
    let text = flat(&sane(&record));
    assert!(!text.contains("4-byte RTT: 4.37 µs"), "{text}");
    assert!(!text.contains("4 VOID VOID"), "without the first layer the others are in figures: {text}");
    for part in ["4 VOID", "Cells that are not VALID", "3 messages lost"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (table, columns) in [("times", 5), ("cost of each", 9)] {
        let (_, rows) = text.split_once(&format!(" 4 bytes of a message: {table} ")).expect(table);
        let (_, row) = rows.split_once(" write+nodelay ").expect(table);
        assert!(row.starts_with(&"VOID ".repeat(columns)), "{table}: {row}");
    }
    assert!(!flat(&sane(&message(|_| {}))).contains("Cells that are not VALID"));
}

#[test]
fn a_stall_that_nothing_ends_is_one() {
    let record = message(|m| m.remedies[0].rows.iter_mut().for_each(|row| row.gone = false));
    let text = flat(&sane(&record));
    assert!(text.contains("no remedy ends it"), "{text}");
}

#[test]
fn the_only_layer_stands_by_itself() {
    let record = message(|m| {
        m.remedies.clear();
        m.cells.retain(|c| c.layer == Layer::reference() && c.pair == 0);
    });
    let text = flat(&sane(&record));
    assert!(text.contains("4-byte RTT: 4.37 µs ± 0.49 with “write+nodelay” -"), "{text}");
}

#[test]
fn the_table_on_screen_is_that_of_the_answer() {
    let record = message(|m| {
        m.remedies.clear();
        m.cells.iter_mut().for_each(|cell| cell.pair = 1 - cell.pair);
    });
    let text = flat(&draw::short(&story::of(&record), 80, false));
    assert!(text.contains("UU on CPUs 0 and 1 (apart):") && !text.contains("UU on CPU 1 alone:"), "{text}");
}

/// The answer is of one CPU; the second one is that of another pair.
#[test]
fn waits_for_the_cpus_of_another_pair_are_left_to_the_table() {
    let text = |cpu: usize| {
        let by = Holder::Process { name: "rustc".into(), pid: 7, cgroup: None };
        let waited = Contention {
            thread: LoadThread::Server,
            cpu,
            span_ns: 1000,
            waited_ns: 500,
            holders: vec![Held { by, ns: 500 }],
            stolen_ns: 0,
            interrupts: Vec::new(),
            stopped_ns: 0,
            blocked_ns: 0,
        };
        // The note below the table names the kernel's sched_info.
        flat(&contract::sane(&message(|m| m.contention = vec![waited])))
    };
    let of = |cpu| format!("the server waited 50 % of the time for CPU {cpu}");
    assert!(text(1).contains(&of(1)), "{}", text(1));
    assert!(!text(0).contains(&of(0)), "{}", text(0));
}

#[test]
fn nothing_measured_is_stated() {
    let mut record = message(|m| {
        m.cells.clear();
        m.remedies.clear();
    });
    record.state = State::Interrupted;
    let text = sane(&record);
    assert!(text.contains("there is no answer yet"), "{text}");
    assert!(text.contains("NOT WHOLE: 0 trials of 0 cells"), "{text}");
}

/// A figure for each cell, in whichever part of the table.
#[test]
fn layers_without_room_go_on_below() {
    let long = "writev+nodelay@client+quickack@server";
    let record = message(|m| {
        let like: Vec<_> = m.cells.iter().filter(|c| c.layer.to_string() == "adaptive").cloned().collect();
        for name in [long, "two+cork@client+quickack@server", "inline", "thread", "batch"] {
            let layer: Layer = name.parse().expect("a layer");
            m.plan.layers.push(layer.clone());
            m.cells.extend(like.iter().cloned().map(|mut cell| {
                cell.layer = layer.clone();
                cell
            }));
        }
    });
    let text = sane(&record);
    let table = text.split("\n\n").filter(|part| part.contains("quickack") && part.contains("bytes")).count();
    assert!(table >= 4, "a part with it for each placement and pair: {text}");
    assert!(text.matches(long).count() > 12, "a row for each cell of it");
    let ends = |line: &&str| line.starts_with("  bytes ") && line.ends_with("batch");
    let last = text.lines().filter(ends).count();
    assert_eq!(last, 4, "the last layer has a column for each placement and pair: {text}");
}

#[test]
fn what_was_not_counted_is_not_none() {
    let record = message(|m| {
        for cell in &mut m.cells {
            cell.calls = Counted::Not("\x1b[2Jthe kernel has no such\ntracepoint".into());
            for trial in &mut cell.trials {
                (trial.client, trial.server) = (EndCost::default(), EndCost::default());
                (trial.kernel_workers_ns, trial.tcp) = (None, None);
            }
        }
        m.remedies[0].rows[0].delayed_acks_per_message = None;
    });
    let text = sane(&record);
    assert!(flat(&text).contains("system calls of 36 cells were not counted"), "{text}");
    let row = text.lines().find(|l| l.matches("n/a").count() == 9);
    assert!(row.is_some(), "a row without values: {text}");
}

#[test]
fn open_loop_is_read_by_times_and_says_how_late_it_was() {
    let record = message(|m| {
        (m.plan.test, m.plan.rate_per_s) = (MessageTest::Oneway, Some(1e4));
        // More than a table takes.
        m.cells.extend_from_within(..6);
        m.cells.iter_mut().for_each(|c| c.lag = Some(c.times.clone()));
        m.cells[0].trials[0].lost = 7;
    });
    let text = sane(&record);
    assert!(text.contains("median time to arrival"), "{text}");
    assert!(
        text.contains("How late messages were sent") && text.contains("… and 2 more cells in the record"),
        "{text}"
    );
    assert!(text.contains("messages that did not come: 7"), "{text}");
}

#[test]
fn trials_without_a_whole_message_have_no_times() {
    let nothing = Distribution::from(&netfathom_stats::Distribution::new(5));
    let record = message(|m| {
        for cell in &mut m.cells {
            (cell.rate, cell.ratio, cell.times) = (None, None, nothing.clone());
            cell.trials.iter_mut().for_each(|t| (t.messages, t.p50_ns, t.p99_ns) = (0, 0, 0));
        }
        m.remedies[0].rows.iter_mut().for_each(|row| row.times = nothing.clone());
    });
    let text = sane(&record);
    assert!(text.contains("108 trials: without a single whole message"), "{text}");
    assert!(!text.contains(" 0 ns"), "{text}");
}

/// The plan does not name it, and nothing else was measured.
#[test]
fn what_stands_in_for_a_layer_that_cannot_be_is_shown() {
    let nearest: Layer = "sendfile".parse().expect("a layer");
    let record = message(|m| {
        m.plan.test = MessageTest::Oneway;
        m.plan.placements = vec![Placement::KK, Placement::KU];
        m.remedies.clear();
        m.cells.retain(|c| c.layer == Layer::reference() && c.placement == Placement::UU);
        m.cells.iter_mut().for_each(|c| (c.layer, c.placement) = (nearest.clone(), Placement::KK));
        m.absent.push(AbsentCell {
            placement: Placement::KK,
            layer: Some(Layer::reference()),
            why: "a kernel's end has no such call".into(),
            nearest: "sendfile".into(),
        });
    });
    let text = sane(&record);
    assert!(!text.contains("nothing was measured"), "{text}");
    let reply = flat(&text);
    assert!(reply.contains("“sendfile” sends 225k ± 17k messages/s of 4 bytes -"), "{reply}");
    assert!(reply.contains("sendfile: the nearest to what cannot be in KK: write+nodelay"), "{reply}");
    let rows = text.lines().filter(|line| line.starts_with("  sendfile ")).count();
    assert!(rows >= 12, "a row in the table of placements, and in those of each cell: {rows}\n{text}");
}

/// The kernel that counts and drops has no clock: messages came, and times are not known.
#[test]
fn times_that_were_not_taken_are_not_zero() {
    let nothing = Distribution::from(&netfathom_stats::Distribution::new(5));
    let record = message(|m| {
        (m.plan.test, m.plan.rate_per_s) = (MessageTest::Oneway, Some(5e3));
        m.remedies.clear();
        for cell in m.cells.iter_mut().filter(|c| c.placement == Placement::UK) {
            cell.times = nothing.clone();
            cell.trials.iter_mut().for_each(|t| (t.p50_ns, t.p99_ns) = (0, 0));
        }
    });
    let text = sane(&record);
    assert!(!text.contains("0.00 ns") && !text.contains(" 0 ns"), "{text}");
    let unknown =
        |line: &&str| line.starts_with("  adaptive") && line.contains("µs ± ") && line.ends_with("n/a");
    assert!(text.lines().any(|line| unknown(&line)), "a median of UU beside none of UK: {text}");
    assert!(flat(&text).contains("n/a: times of messages that the kernel took in"), "{text}");
}

#[test]
fn where_an_end_in_the_kernel_runs_is_stated() {
    let whole = flat(&sane(&message(|_| {})));
    let note = "an end in the kernel runs where its packets come in: mostly on the other end's CPU";
    assert_eq!(whole.matches(note).count(), 2, "below the sizes and the placements: {whole}");
    let apart = message(|m| {
        m.plan.placements = vec![Placement::UK];
        m.remedies.clear();
        m.cells.retain(|c| c.placement == Placement::UK);
    });
    let text = flat(&sane(&apart));
    let far = "on CPUs 0 and 1 (apart), though an end in the kernel runs where its packets come in, “";
    assert!(text.contains(far), "{text}");
    let user = flat(&sane(&message(|m| m.cells.retain(|c| c.placement == Placement::UU))));
    assert!(!user.contains("an end in the kernel"), "{user}");
}

#[test]
fn what_cannot_be_known_says_why() {
    let unix = message(|m| {
        m.plan.carrier = Carrier::Unix;
        for trial in m.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
            (trial.client.segments, trial.server.segments, trial.tcp) = (None, None, None);
        }
        m.cells[0].trials[0].kernel_workers_ns = None;
    });
    let text = flat(&sane(&unix));
    assert!(text.contains("n/a: over Unix sockets there are no segments"), "{text}");
    assert!(text.contains("could not be read: /proc of a PID namespace"), "{text}");
    let tcp = flat(&sane(&message(|_| {})));
    assert!(!tcp.contains("Unix") && !tcp.contains("PID namespace"), "{tcp}");
    assert!(tcp.contains("kern: that of all kernel workers of the machine, for any purpose"), "{tcp}");
}

#[test]
fn an_interval_that_reaches_zero_tells_nothing() {
    let record = message(|m| {
        m.plan.test = MessageTest::Oneway;
        m.remedies.clear();
        let wide = Estimate { value: 306.0, half_width: 29_080_947_360_123.0 };
        for cell in m.cells.iter_mut().filter(|c| c.ratio.is_some()) {
            cell.ratio = Some(wide);
        }
    });
    let text = sane(&record);
    assert!(text.contains("306±>100 %") && text.contains("306 ± >100 %"), "{text}");
    assert!(!text.contains("29,080"), "{text}");
    let reply = flat(&text);
    assert!(reply.contains("against “write+nodelay”: inconclusive"), "{reply}");
}

fn cells(record: &Record) -> &[MessageCell] {
    let Measurement::Message(message) = &record.measurement else { panic!("another measurement") };
    &message.cells
}

fn mean_of_medians(cell: &MessageCell) -> f64 {
    cell.trials.iter().map(|t| t.p50_ns as f64).sum::<f64>() / cell.trials.len() as f64
}

#[test]
fn lines_are_what_each_test_is_about() {
    let of_adaptive = |record: &Record, of: fn(&MessageCell) -> f64| -> Vec<f64> {
        let here = |c: &&MessageCell| {
            c.placement == Placement::UU && c.pair == 1 && c.layer.to_string() == "adaptive"
        };
        cells(record).iter().filter(here).map(of).collect()
    };
    let round_trips = fixture("message");
    let page = story::of(&round_trips);
    same(curve(&page, "message-UU-1", "adaptive"), &of_adaptive(&round_trips, mean_of_medians));
    let one_way = message(|m| m.plan.test = MessageTest::Oneway);
    let rate = |c: &MessageCell| c.rate.and_then(|r| r.mean_per_s).expect("three trials").value;
    same(curve(&story::of(&one_way), "message-UU-1", "adaptive"), &of_adaptive(&one_way, rate));
}

#[test]
fn bars_of_placements_are_their_times() {
    let record = fixture("message");
    let page = story::of(&record);
    let smallest_alone = cells(&record).iter().filter(|c| c.bytes == 4 && c.pair == 0);
    let mut wanted: Vec<f64> = smallest_alone.map(mean_of_medians).collect();
    let mut drawn: Vec<Option<f64>> =
        bars(&page)[0].groups.iter().flat_map(|g| &g.bars).map(|b| b.value).collect();
    wanted.sort_by(f64::total_cmp);
    drawn.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    same(&drawn, &wanted);
}

#[test]
fn percentiles_show_the_stall() {
    let record = fixture("message");
    let page = story::of(&record);
    let cell = cells(&record).iter().find(|c| c.bytes == 64 && c.layer.to_string() == "adaptive");
    let times = &cell.expect("it is there").times;
    let drawn = curve(&page, "message-times-UU-0-64", "adaptive");
    for named in [times.p50_ns, times.p99_ns] {
        assert!(drawn.contains(&Some(named as f64)), "{named} is missing");
    }
    let stalled = curve(&page, "message-times-UU-0-64", "two");
    assert!(stalled.iter().flatten().all(|&ns| ns > 40e6), "{stalled:?}");
}
