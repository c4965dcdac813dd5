//! A path between the ends limits what goes over it.

use netfathom_model::plan::{MessagePlan, MessageTest, Place, Wire};
use netfathom_testkit::needs_root_alone;

use crate::bench::{cell, plan, run};

const BITS_PER_S: u64 = 10_000_000;
const BODY_BYTES: u64 = 1024;
const QUEUE_BYTES: u64 = 16 << 10;

#[test]
fn messages_come_no_faster_than_the_path_has_it() {
    needs_root_alone!();
    let path = Wire { rate_bits_per_s: Some(BITS_PER_S), queue_bytes: QUEUE_BYTES, ..Wire::long(0) };
    let over = |path| MessagePlan {
        path,
        sizes_bytes: vec![BODY_BYTES],
        messages: 200,
        least_ns: 100_000_000,
        ..plan(MessageTest::Oneway, Place::Lab, "write+nodelay")
    };
    let per_s = |path| {
        let p = run(over(path));
        cell(&p.result, "write+nodelay").trials.iter().filter_map(|trial| trial.per_s()).fold(0.0, f64::max)
    };
    let most = BITS_PER_S as f64 / 8.0 / BODY_BYTES as f64;
    let (limited, free) = (per_s(Some(path)), per_s(None));
    assert!(limited < most, "{limited} of {most} messages a second");
    assert!(free > 2.0 * most, "{free}: without a path the limit is another one");
}

#[test]
fn a_round_trip_takes_the_path_twice() {
    const DELAY_NS: i64 = 3_000_000;
    needs_root_alone!();
    let p = run(MessagePlan {
        path: Some(Wire::long(DELAY_NS as u64)),
        messages: 20,
        ..plan(MessageTest::Pingpong, Place::Lab, "write+nodelay")
    });
    for trial in &cell(&p.result, "write+nodelay").trials {
        assert!(trial.p50_ns >= 2 * DELAY_NS, "{} ns", trial.p50_ns);
    }
}
