//! Linux stalls a conversation of two writes a message by rule; with each remedy it does not.

use netfathom_model::plan::{MessagePlan, MessageTest, Place};
use netfathom_model::record::Stall;
use netfathom_testkit::{alone, needs_root_alone};

use crate::bench::{cell, plan, run};

/// Linux puts an acknowledgment off for at least as long (TCP_DELACK_MIN), a tick less.
const DELAYED_ACK_NS: i64 = 36_000_000;

fn stalling(names: &str) -> MessagePlan {
    MessagePlan { messages: 12, trials: 1, ..plan(MessageTest::Pingpong, Place::Lab, names) }
}

#[test]
fn two_writes_stall_and_each_remedy_ends_it() {
    needs_root_alone!();
    let p = run(stalling("two,two+nodelay@client,two+nodelay"));
    let p50 = |layer| cell(&p.result, layer).times.p50_ns;
    assert!(p50("two") > 2 * DELAYED_ACK_NS && p50("two+nodelay@client") > DELAYED_ACK_NS, "{}", p50("two"));
    assert!(p50("two+nodelay@client") < 2 * DELAYED_ACK_NS && p50("two+nodelay") < DELAYED_ACK_NS / 4);
    let stalls: Vec<(String, Stall)> =
        p.result.remedies.iter().map(|r| (r.layer.to_string(), r.stall)).collect();
    assert_eq!(
        stalls,
        [("two".to_owned(), Stall::NagleBoth), ("two+nodelay@client".to_owned(), Stall::NagleOne)]
    );
    for remedied in &p.result.remedies {
        let (first, rest) = remedied.rows.split_first().unwrap();
        assert_eq!((&first.layer, first.gone), (&remedied.layer, false));
        assert!(first.delayed_acks_per_message.unwrap() > 0.5, "{first:?}");
        assert_eq!(rest.len(), 7);
        for row in rest {
            assert!(
                row.gone && row.times.p99_ns < first.times.p50_ns,
                "{}: {}",
                row.remedy,
                row.times.p99_ns
            );
        }
    }
    let causes: Vec<&str> = p.findings.iter().map(|f| f.cause.as_str()).collect();
    assert!(causes.iter().any(|t| t.contains("the client and the server writes")), "{causes:?}");
    assert!(causes.iter().any(|t| t.contains("the server writes")), "{causes:?}");
}

#[test]
fn what_does_not_stall_is_not_remedied() {
    let _alone = alone();
    let p = run(MessagePlan {
        trials: 1,
        ..plan(MessageTest::Pingpong, Place::Loopback, "write,two+nodelay,adaptive")
    });
    assert!(p.result.remedies.is_empty());
    assert!(p.findings.iter().all(|f| !f.cause.contains("Nagle")), "{:?}", p.findings);
}

#[test]
fn a_stall_is_recognized_at_a_rate_that_it_cannot_keep() {
    needs_root_alone!();
    let p = run(MessagePlan { rate_per_s: Some(1000.0), remedies: false, ..stalling("two") });
    // Each waits for all before it as well; when it has left it takes what it takes without a rate.
    let cell = cell(&p.result, "two");
    assert!(cell.times.p99_ns > 6 * cell.service_times().p50_ns, "{}", cell.times.p99_ns);
    let causes: Vec<&str> = p.findings.iter().map(|f| f.cause.as_str()).collect();
    assert!(causes.iter().any(|t| t.contains("the client and the server writes")), "{causes:?}");
}
