//! What is between the ends: loss, a queue, or a pace.

use super::*;

/// Looks at a full congestion window that moves `bytes_per_ms`.
fn full(min_rtt_us: u32, rtt_us: u32, bytes_per_ms: u64, lost: f64) -> TransferStream {
    let all = bytes_per_ms * LOOKS;
    let again = (lost * all as f64 / f64::from(MSS)).round() as u32;
    let mut full = stream(|tick, s| {
        (s.bytes, s.rtt_us, s.cwnd, s.retransmits) = (1_000_000 + tick * bytes_per_ms, rtt_us, 10, again);
        s.peer_window_bytes = 100_000_000;
        s.recovering = tick % 10 < 3;
        queue(s, 100_000, 85_520, 10);
    });
    full.bytes = all;
    let tcp = full.tcp.as_mut().unwrap();
    (tcp.min_rtt_us, tcp.retransmits) = (Some(min_rtt_us), again);
    full
}

#[test]
fn a_busy_host_is_no_queue() {
    // 1 ms becomes 2, and of 80 Mbit/s 2 % are lost.
    assert_eq!(explained(&full(1000, 2000, 10_000, 0.02)).cause, Cause::Loss);
    assert_eq!(explained(&full(1000, 20_000, 10_000, 0.02)).cause, Cause::Path);
}

#[test]
fn a_few_that_are_lost_matter_on_a_long_path_only() {
    // 57 Mbit/s.
    let mut long = full(80_000, 80_500, 7_100, 0.0);
    // As if it had gone on for longer: 0.02 % of it.
    (long.bytes, long.samples.last_mut().unwrap().retransmits) = (36_000_000, 5);
    assert_eq!(explained(&long).cause, Cause::Loss);
    let bbr = Host { congestion: Some("bbr".into()), ..Host::default() };
    assert_eq!(explain(&plan(Role::Transmit), &long, &bbr).cause, Cause::Path);
    // As many would permit a hundred times as much on a short one.
    let mut short = full(200, 210, 7_100, 0.0);
    (short.bytes, short.samples.last_mut().unwrap().retransmits) = (72_000_000, 5);
    assert_eq!(explained(&short).cause, Cause::Path);
}

#[test]
fn a_path_is_full_only_where_a_queue_was_seen() {
    let without = explained(&full(10_000, 10_500, 10_000, 0.0));
    assert!(without.cause == Cause::Path && without.text.contains("no queue"), "{without:?}");
    let with = explained(&full(10_000, 30_000, 10_000, 0.0));
    assert_eq!((with.cause, with.text.as_str()), (Cause::Path, "the path is full"));
}

#[test]
fn heavy_loss_is_reported_in_addition_to_a_queue() {
    let lossy = explained(&full(10_000, 30_000, 10_000, 0.01));
    assert_eq!(lossy.cause, Cause::Path);
    assert!(lossy.others.iter().any(|(cause, share)| *cause == Cause::Loss && *share > 0.2), "{lossy:?}");
    assert!(lossy.evidence.iter().any(|e| e.contains("faulty link")), "{lossy:?}");
    let few = explained(&full(10_000, 30_000, 10_000, 0.002));
    assert!(few.others.iter().all(|(cause, _)| *cause != Cause::Loss), "{few:?}");
}

/// A sweep shows the remedies too, and has none of these options.
#[test]
fn a_remedy_names_the_command_of_its_options() {
    let bbr = Host { congestion: Some("bbr".into()), ..Host::default() };
    let lossy = full(10_000, 10_500, 10_000, 0.01);
    let found = [
        explained(&lossy),
        explain(&plan(Role::Transmit), &lossy, &bbr),
        explained(&full(10_000, 10_500, 10_000, 0.0)),
    ];
    for explanation in found {
        for option in ["-P 4", "--congestion", "--pace"] {
            let named = explanation.remedy.matches(&format!("netfathom ttcp {option}")).count();
            assert_eq!(explanation.remedy.matches(option).count(), named, "{explanation:?}");
        }
    }
}

#[test]
fn bbr_is_advised_by_what_is_used() {
    let under = |name: Option<&str>| {
        let host = Host { congestion: name.map(str::to_owned), ..Host::default() };
        explain(&plan(Role::Transmit), &full(10_000, 10_500, 10_000, 0.01), &host)
    };
    let cubic = under(Some("cubic")).remedy;
    assert!(cubic.contains("bbr minds loss less than cubic (netfathom ttcp --congestion bbr)"), "{cubic}");
    assert!(under(None).remedy.contains("than the congestion control used"));
}

#[test]
fn loss_without_a_queue_comes_first_under_bbr_too() {
    let bbr = Host { congestion: Some("bbr".into()), ..Host::default() };
    let of = |lost| explain(&plan(Role::Transmit), &full(10_000, 10_500, 10_000, lost), &bbr);
    let lossy = of(0.01);
    assert!(lossy.cause == Cause::Path && lossy.text.starts_with("segments are lost"), "{lossy:?}");
    assert!(lossy.evidence[0].contains("segments went again"), "{lossy:?}");
    assert!(!lossy.remedy.contains("bottleneck") && !of(0.002).text.contains("lost on the way"));
}

#[test]
fn what_a_short_queue_drops_is_not_put_down_to_cables_alone() {
    let lossy = explained(&full(100_000, 104_000, 5000, 0.01));
    assert_eq!(lossy.cause, Cause::Loss);
    assert!(lossy.remedy.contains("queue") && lossy.remedy.contains("policer"), "{lossy:?}");
}

#[test]
fn a_low_pace_leaves_the_queue_empty() {
    let mut paced = plan(Role::Transmit);
    paced.pace_bits_per_s = Some(80_000_000);
    let empty = stream(|_, s| queue(s, 0, 0, 0));
    let explanation = explain(&paced, &empty, &Host::default());
    assert_eq!(explanation.cause, Cause::Pace);
    // It was written at 120 Mb/s.
    let acknowledged = "80.0 Mb/s was acknowledged";
    assert!(explanation.evidence.iter().any(|seen| seen.contains(acknowledged)), "{explanation:?}");
    // Nor is it the pace where the program has nothing to send.
    let mut slow = empty;
    slow.calls_took = Some(CallTimes { standard_ns: 190_000_000, ..CallTimes::default() });
    assert_eq!(explain(&paced, &slow, &Host::default()).cause, Cause::SlowSender);
}
