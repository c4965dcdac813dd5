//! An open loop leaves when it is to, and counts from there.

use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Place, ProcessorChoice};
use netfathom_model::record::MessageTrial;
use netfathom_testkit::{alone, needs};

use crate::bench::{cell, plan, run};

const RATE_PER_S: f64 = 2000.0;

#[test]
fn an_open_loop_takes_as_long_as_it_is_to() {
    let _alone = alone();
    for (test, carrier, names) in [
        (MessageTest::Oneway, Carrier::Tcp, "write+nodelay,adaptive,batch"),
        (MessageTest::Oneway, Carrier::Udp, "write"),
        (MessageTest::Pingpong, Carrier::Tcp, "write+nodelay,adaptive"),
    ] {
        let plan =
            MessagePlan { carrier, rate_per_s: Some(RATE_PER_S), ..plan(test, Place::Loopback, names) };
        let (messages, rate) = (plan.messages, RATE_PER_S);
        for c in run(plan).result.cells {
            for t in &c.trials {
                // The last message is not to leave before then.
                let least_ns = (1e9 * (messages - 1) as f64 / rate) as u64;
                assert!(t.messages >= messages && t.duration_ns >= least_ns, "{} {t:?}", c.layer);
            }
            // Of every message it is known when it left and when it came.
            assert_eq!(c.times.n, c.trials.iter().map(|t| t.messages).sum::<u64>(), "{}", c.layer);
            let lag = c.lag.unwrap();
            assert!(lag.n >= c.times.n && lag.min_ns >= 0, "{} {}", c.layer, lag.min_ns);
        }
    }
}

/// The longest silence that an end waits through at once is shorter than the time between two.
#[test]
fn datagrams_that_leave_seldom_are_waited_for() {
    let _alone = alone();
    for test in [MessageTest::Oneway, MessageTest::Pingpong] {
        let plan = MessagePlan {
            carrier: Carrier::Udp,
            rate_per_s: Some(2.0),
            messages: 3,
            trials: 1,
            ..plan(test, Place::Loopback, "write")
        };
        for t in run(plan).result.cells.iter().flat_map(|c| &c.trials) {
            assert!(t.messages == 3 && t.lost == 0 && t.duration_ns >= 1_000_000_000, "{test:?} {t:?}");
        }
    }
}

/// A sleeping end gives its processor up about once a message.
#[test]
fn an_end_that_polls_does_not_wait() {
    needs!(std::thread::available_parallelism().map_or(1, usize::from) >= 2, "it needs two processors");
    let _alone = alone();
    for carrier in [Carrier::Tcp, Carrier::Unix, Carrier::Udp] {
        let layers = "write,write+poll,write+poll@server";
        let plan = MessagePlan {
            carrier,
            processors: ProcessorChoice::Cross,
            ..plan(MessageTest::Pingpong, Place::Loopback, layers)
        };
        let result = run(plan).result;
        assert!(result.cells.iter().flat_map(|c| &c.trials).all(|t| t.lost == 0), "{carrier:?}");
        let waits = |layer: &str, end: Side| -> u64 {
            let cost = |t: &MessageTrial| if end == Side::Client { t.client } else { t.server };
            cell(&result, layer).trials.iter().map(|t| cost(t).waits.unwrap()).sum()
        };
        let [sleeping, both, one] = ["write", "write+poll", "write+poll@server"]
            .map(|layer| [Side::Client, Side::Server].map(|end| waits(layer, end)));
        println!("{carrier:?}: {sleeping:?} {both:?} {one:?}");
        assert!(2 * both[0] < sleeping[0] && 2 * both[1] < sleeping[1], "{carrier:?} {both:?} {sleeping:?}");
        assert!(2 * one[1] < sleeping[1] && one[0] > both[0], "{carrier:?} {one:?} {sleeping:?} {both:?}");
    }
}

/// The clock is looked at all the time between two messages, which is no work of theirs.
#[test]
fn what_the_pacer_takes_is_no_cost_of_the_client() {
    needs!(std::thread::available_parallelism().map_or(1, usize::from) >= 2, "it needs two processors");
    let _alone = alone();
    let plan = MessagePlan {
        processors: ProcessorChoice::Cross,
        rate_per_s: Some(5.0 * RATE_PER_S),
        messages: 2000,
        ..plan(MessageTest::Oneway, Place::Loopback, "write+nodelay")
    };
    for t in run(plan).result.cells.iter().flat_map(|c| &c.trials) {
        let cpu_ns = t.client.cpu_ns.unwrap();
        assert!(cpu_ns > 0 && cpu_ns < t.duration_ns / 2, "{t:?}");
    }
}
