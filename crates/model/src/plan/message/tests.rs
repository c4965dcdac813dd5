//! Plans of message benchmarks that can be, and those that cannot.

use super::*;

fn plan() -> MessagePlan {
    MessagePlan::paper(MessageTest::Oneway, Place::Loopback)
}

#[test]
fn the_papers_tests_are_plans() {
    for test in MessageTest::ALL {
        assert!(MessagePlan::paper(test, Place::Lab).validated().is_ok(), "{test:?}");
    }
    let there = Place::To(([10, 0, 0, 2], 9500).into());
    assert!(MessagePlan::paper(MessageTest::Pingpong, there).validated().is_ok());
    assert_eq!(MessageTest::Oneway.sizes_bytes(), [4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    assert_eq!(MessageTest::Post.sizes_bytes(), [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]);
}

/// Others are refused in `refusals.rs` and `message_hosts.rs` of the command's tests.
#[test]
fn what_cannot_be_is_refused_with_what_could() {
    type Change = fn(&mut MessagePlan);
    let cases: [(Change, &str); 13] = [
        (|p| p.sizes_bytes.clear(), "--sizes: times"),
        (|p| p.trials = 0, "--trials 0"),
        (|p| p.until = Some(Until { precision: 0.5, time_limit_ns: S }), "0.1% to 20%"),
        (|p| p.most_ns = 1, "--max-time 1ns: choose from 10ms to 600s"),
        (|p| p.rate_per_s = Some(f64::NAN), "--rate"),
        (|p| (p.carrier, p.layers) = (Carrier::Udp, vec!["two".parse().unwrap()]), "choose write or writev"),
        (|p| p.place = Place::Listen(([127, 0, 0, 1], 1).into()), "message serve"),
        (
            |p| (p.test, p.layers) = (MessageTest::Post, vec!["headerless".parse().unwrap()]),
            "oneway and pingpong",
        ),
        (
            |p| (p.placements, p.layers) = (vec![Placement::UK], vec!["headerless".parse().unwrap()]),
            "both ends in user space",
        ),
        (|p| p.layers = vec!["write+poll@server".parse().unwrap()], "+poll is for pingpong"),
        (
            |p| (p.processors, p.layers) = (ProcessorChoice::Same, vec!["write+poll".parse().unwrap()]),
            "choose cross",
        ),
        (|p| p.path = Some(Wire::long(1)), "choose --lab"),
        (|p| (p.place, p.path) = (Place::Lab, Some(Wire::long(u64::MAX))), "--delay"),
    ];
    for (change, reason) in cases {
        let mut wrong = plan();
        change(&mut wrong);
        let error = wrong.validated().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn all_bare_sockets_poll_and_the_library_does_not() {
    let with = |carrier, layers: &str| MessagePlan {
        carrier,
        layers: layers.split(',').map(|layer| layer.parse().unwrap()).collect(),
        ..MessagePlan::paper(MessageTest::Pingpong, Place::Loopback)
    };
    for (carrier, name) in [(Carrier::Tcp, "two+nodelay"), (Carrier::Unix, "two"), (Carrier::Udp, "write")] {
        let polling = with(carrier, name).polling().unwrap().validated().unwrap();
        assert_eq!(polling.layers[0].to_string(), format!("{name}+poll"));
        assert!(polling.polls() && !with(carrier, name).polls());
    }
    let error = with(Carrier::Tcp, "write,adaptive").polling().unwrap_err().to_string();
    assert!(error.contains("leave it out of --layers"), "{error}");
}

#[test]
fn ends_in_the_driver_are_for_datagrams_in_the_lab() {
    let with = |carrier, place, placement| MessagePlan {
        carrier,
        layers: vec!["xdp".parse().unwrap()],
        placements: vec![placement],
        ..MessagePlan::paper(MessageTest::Pingpong, place)
    };
    use Carrier::{Tcp, Udp};
    use Placement::{KK, UU};
    assert!(with(Udp, Place::Lab, KK).validated().is_ok());
    for wrong in [(Tcp, Place::Lab, KK), (Udp, Place::Loopback, KK), (Udp, Place::Lab, UU)] {
        let error = with(wrong.0, wrong.1, wrong.2).validated().unwrap_err().to_string();
        assert!(error.contains("--over udp --lab"), "{wrong:?}: {error}");
    }
}

#[test]
fn both_ways_into_the_kernel_are_usual_where_they_are() {
    let usual = |carrier, place, placement| {
        let layers = MessagePlan::usual_layers(carrier, place, &[Placement::UU, placement]);
        layers.iter().any(|layer| layer.to_string() == "xdp")
    };
    assert!(usual(Carrier::Udp, Place::Lab, Placement::UK));
    assert!(!usual(Carrier::Udp, Place::Lab, Placement::UU));
    assert!(!usual(Carrier::Udp, Place::Loopback, Placement::UK));
    assert!(!usual(Carrier::Tcp, Place::Lab, Placement::UK));
}
