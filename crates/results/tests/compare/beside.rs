//! What changes how times of `watch` read.

use netfathom_model::path::Direction;
use netfathom_model::record::{Measurement, WatchDrop, WatchResult, WatchStage};
use netfathom_results::compare::{Comparison, Gates, Run, Wishes, pairs};
use netfathom_results::{draw, story};

use crate::fixtures::fixture;

/// Four rounds in which messages come ten times faster in B, with what else `change` does to it.
fn rounds(name: &str, change: impl Fn(&mut WatchResult)) -> Comparison {
    let run = |side: &str, round: usize, factor: f64| {
        let mut record = fixture(name);
        record.id = format!("{side}{round}");
        let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
        watch.total.mean_ns *= factor;
        if side == "B" {
            change(watch);
        }
        Run { name: record.id.clone(), record }
    };
    let round = |(round, factor)| (run("A", round, factor), run("B", round, 0.1));
    let made: Vec<(Run, Run)> = [1.0, 1.02, 0.98, 1.01].into_iter().enumerate().map(round).collect();
    pairs(&made, &Wishes::default()).unwrap()
}

/// The default output, as one line.
fn shown(comparison: &Comparison) -> String {
    let page = story::compare::of(&[(comparison.clone(), Gates::default())]);
    draw::short(&page, 100, false).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn dropping(reason: &str, packets: u64) -> impl Fn(&mut WatchResult) {
    move |b| b.drops = vec![WatchDrop { direction: Direction::Rx, reason: reason.into(), packets }]
}

#[test]
fn times_are_not_better_where_packets_were_dropped() {
    assert!(shown(&rounds("watch", |_| ())).starts_with("BETTER rx.mean -90 %"));
    let comparison = rounds("watch", dropping("TCP_LISTEN_OVERFLOW", 3));
    let text = shown(&comparison);
    assert!(text.starts_with("INCONCLUSIVE better: rx.mean -90 %"), "{text}");
    assert!(text.contains(", but B dropped more packets"), "{text}");
    let caution = "B dropped more packets than A: 12 rx TCP_LISTEN_OVERFLOW (A 0); the wait until";
    assert!(comparison.cautions[0].starts_with(caution), "{:?}", comparison.cautions);
    assert!(text.contains(caution), "{text}");
    // 50,000 messages a run.
    let is_much = |packets| rounds("watch", dropping("NO_SOCKET", packets)).b_dropped;
    assert_eq!([1, 40, 60].map(is_much), [false, false, true]);
}

#[test]
fn another_load_is_named_with_both_rates() {
    let comparison = rounds("watch-both", |b| b.watched_ns *= 2);
    let caution = "the load differs (rate 5.27k/s in A, 2.64k/s in B; tx.rate 8.17k/s in A, 4.08k/s in B)";
    assert!(comparison.cautions[0].starts_with(caution), "{:?}", comparison.cautions);
    assert!(shown(&comparison).contains(caution), "{}", shown(&comparison));
    let alike = rounds("watch-both", |b| b.watched_ns += b.watched_ns / 33);
    assert!(!alike.cautions.iter().any(|caution| caution.contains("load")), "{:?}", alike.cautions);
    // The table of the others is cut behind its first rows.
    let others = comparison.quantities.iter().filter(|quantity| !quantity.main);
    let first: Vec<&str> = others.take(4).map(|quantity| quantity.name.as_str()).collect();
    assert_eq!(first, ["rate", "untimed", "tx.rate", "tx.untimed"]);
}

#[test]
fn a_stage_that_explains_a_mean_is_named_though_one_side_lacks_it() {
    let held = |part: i64| {
        rounds("watch-both", move |b| {
            let send = b.send.as_mut().expect("sent");
            let nagle = send.stages.iter_mut().find(|of| of.stage == WatchStage::Nagle).expect("the stage");
            nagle.times = send.total.clone();
            nagle.times.sum_ns /= part;
        })
    };
    let text = shown(&held(2));
    let caution = "B has tx.nagle, 50.0 % of its tx time; A has none";
    assert!(text.contains(caution), "{text}");
    assert!(!shown(&held(4)).contains("has tx.nagle"), "{text}");
    // Both have the stage that takes most of the time to receive.
    let sockqueue =
        |text: &str| text.contains("A has rx.sockqueue, ") && text.contains("; B has next to none");
    let shorter = |part: i64| {
        rounds("watch-both", move |b| {
            let queue = b.stages.iter_mut().find(|of| of.stage == WatchStage::Sockqueue).expect("the stage");
            queue.times.sum_ns /= part;
        })
    };
    assert_eq!([9, 11].map(|part| sockqueue(&shown(&shorter(part)))), [false, true]);
}
