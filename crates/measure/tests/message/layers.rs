//! Every layer brings every message, by the calls that it is made of.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_measure::kind::message;
use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Place, ProcessorChoice};
use netfathom_model::record::MessageTrial;
use netfathom_model::verdict::Level;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{alone, needs_root_alone};

use crate::bench::{Watcher, calls, cell, layers, plan, run, trials};

const STREAMS: &str = "write,writev,two,adaptive,inline,thread,batch,zccl";

#[test]
fn nothing_is_lost_on_any_layer() {
    let _alone = alone();
    for test in [MessageTest::Oneway, MessageTest::Pingpong, MessageTest::Post] {
        for carrier in [Carrier::Tcp, Carrier::Unix] {
            let names = if carrier == Carrier::Tcp {
                "write+nodelay,writev+nodelay,two+nodelay,adaptive,inline,thread,batch,zccl"
            } else {
                STREAMS
            };
            let p = run(MessagePlan { carrier, ..plan(test, Place::Loopback, names) });
            assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
            assert_eq!(p.result.cells.len(), 8);
            for c in &p.result.cells {
                assert_eq!(c.trials.len(), 2);
                for t in &c.trials {
                    assert!(
                        t.messages >= 300 && t.lost == 0 && !t.cut_short,
                        "{test:?} {carrier:?} {} {t:?}",
                        c.layer
                    );
                }
                assert!(c.times.n > 0 && c.times.min_ns > 0, "{test:?} {} {:?}", c.layer, c.times.min_ns);
            }
        }
    }
}

#[test]
fn each_form_makes_the_calls_and_segments_that_it_must() {
    needs_root_alone!();
    let names = "write+nodelay,headerless+nodelay,writev+nodelay,two+nodelay,sendmsg+nodelay,two+more,two+cork,inline,thread,zccl";
    let p = run(plan(MessageTest::Pingpong, Place::Lab, names));
    let within = |value: f64, low: f64, high: f64| (low..high).contains(&value);
    for (layer, name, per_message) in [
        ("write+nodelay", "sendto", 1.0),
        ("headerless+nodelay", "sendto", 1.0),
        ("writev+nodelay", "sendmsg", 1.0),
        ("two+nodelay", "sendto", 2.0),
        ("sendmsg+nodelay", "sendmsg", 2.0),
        ("two+more", "sendto", 2.0),
        ("two+cork", "setsockopt", 2.0),
    ] {
        for end in [Side::Client, Side::Server] {
            let counted = calls(cell(&p.result, layer), end, name);
            assert!(
                within(counted, per_message - 0.02, per_message + 0.02),
                "{layer} {end:?} {name} {counted}"
            );
        }
    }
    let segments = |layer| {
        let trials = &cell(&p.result, layer).trials;
        trials.iter().map(|t| t.client.segments.unwrap() as f64 / t.messages as f64).fold(f64::MAX, f64::min)
    };
    // One for each message, and now and then a bare acknowledgment; two where it is cut.
    for one in ["write+nodelay", "writev+nodelay", "two+more", "two+cork", "inline"] {
        assert!(within(segments(one), 0.98, 1.5), "{one} {}", segments(one));
    }
    assert!(segments("two+nodelay") > 1.9, "{}", segments("two+nodelay"));
    // Its thread makes the calls, which count as those of its end, and both wake each other.
    let writes: f64 = ["sendto", "sendmsg", "write", "writev"]
        .iter()
        .map(|name| calls(cell(&p.result, "thread"), Side::Client, name))
        .sum();
    assert!(within(writes, 0.9, 1.2), "{writes}");
    let polls = |layer, end| calls(cell(&p.result, layer), end, "ppoll");
    for end in [Side::Client, Side::Server] {
        assert!(
            polls("zccl", end) > 0.9 && polls("thread", end) < 0.1,
            "{} {}",
            polls("zccl", end),
            polls("thread", end)
        );
    }
    let futex = |layer| calls(cell(&p.result, layer), Side::Client, "futex");
    assert!(futex("thread") > 0.5 && futex("inline") < 0.1, "{} {}", futex("thread"), futex("inline"));
    // Each end has its turn once a message, and one more for each thread that it hands over to. On one
    // CPU a turn ends where a thread waits, or where the thread that it woke preempts it.
    let turns = |layer| {
        let trials = &cell(&p.result, layer).trials;
        let turns = |t: &MessageTrial| t.client.waits.unwrap() + t.client.preemptions.unwrap();
        trials.iter().map(|t| turns(t) as f64 / t.messages as f64).fold(f64::MAX, f64::min)
    };
    let (inline, thread, zccl) = (turns("inline"), turns("thread"), turns("zccl"));
    assert!((0.98..1.3).contains(&inline), "{inline}");
    assert!(thread > 1.8 && zccl > 2.7, "{thread} {zccl}");
}

#[test]
fn bursts_of_the_adaptive_strategy_share_calls() {
    needs_root_alone!();
    let p = run(MessagePlan {
        messages: 20_000,
        ..plan(MessageTest::Oneway, Place::Lab, "write+nodelay,adaptive,sendfile")
    });
    let sent = |layer| {
        let names = ["sendto", "sendmsg", "write", "writev", "sendfile"];
        names.iter().map(|name| calls(cell(&p.result, layer), Side::Client, name)).sum::<f64>()
    };
    assert!((0.99..1.05).contains(&sent("write+nodelay")), "{}", sent("write+nodelay"));
    assert!(sent("adaptive") < 0.1 && sent("sendfile") < 0.01, "{} {}", sent("adaptive"), sent("sendfile"));
}

#[test]
fn the_layers_of_a_round_are_compared() {
    let _alone = alone();
    let p = run(plan(MessageTest::Oneway, Place::Loopback, "write+nodelay,two+nodelay"));
    assert_eq!(cell(&p.result, "write+nodelay").ratio, None);
    let two = cell(&p.result, "two+nodelay");
    let ratios: Vec<f64> = two
        .trials
        .iter()
        .map(|t| {
            let same = cell(&p.result, "write+nodelay").trials.iter().find(|o| o.round == t.round).unwrap();
            t.per_s().unwrap() / same.per_s().unwrap()
        })
        .collect();
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    assert!((two.ratio.unwrap().value - mean).abs() < 1e-9);
}

#[test]
fn the_user_ends_it_early_and_keeps_what_was_finished() {
    let _alone = alone();
    let plan = MessagePlan {
        layers: layers("two,write"),
        processors: ProcessorChoice::Sweep,
        messages: 1_000_000,
        most_ns: 60_000_000_000,
        least_ns: 60_000_000_000,
        ..plan(MessageTest::Pingpong, Place::Loopback, "two")
    };
    let (stop, mut watcher) = (AtomicBool::new(false), Watcher::default());
    let p = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stop.store(true, Relaxed);
        });
        message::run(&plan, &mut watcher, &stop).unwrap()
    });
    assert_eq!((trials(&p.result), watcher.steps.len()), (0, 1));
    assert_eq!(p.verdict.level, Level::Void);
}

#[test]
fn a_record_is_kept_after_each_round() {
    let _alone = alone();
    let plan = plan(MessageTest::Oneway, Place::Loopback, "write,writev,two");
    let mut watcher = Watcher::default();
    message::run(&plan, &mut watcher, &AtomicBool::new(false)).unwrap();
    assert_eq!(watcher.kept[..3], [0, 3, 6]);
    assert!(watcher.steps[0].starts_with("trial 1/"), "{:?}", watcher.steps);
    // Trials that are not timed are spread over the run: with two rounds, the first and the third layer after the first.
    let counting = |step: &&String| step.starts_with("counting calls");
    let after: Vec<usize> =
        watcher.steps.chunk_by(|a, b| counting(&a) == counting(&b)).map(<[_]>::len).collect();
    // Without the right to count there are none.
    assert!([&[3, 2, 3, 1][..], &[6]].contains(&&after[..]), "{:?}", watcher.steps);
}

#[test]
fn a_run_that_never_begins_keeps_nothing_but_its_plan() {
    needs_root_alone!();
    // Its loopback device is down: nothing can be connected.
    let nowhere = Namespace::create().unwrap();
    let plan = plan(MessageTest::Oneway, Place::Loopback, "write");
    let mut watcher = Watcher::default();
    let failed =
        nowhere.run(|| message::run(&plan, &mut watcher, &AtomicBool::new(false)).map(drop)).unwrap();
    assert!(failed.is_err());
    assert_eq!(watcher.kept, [0]);
}
