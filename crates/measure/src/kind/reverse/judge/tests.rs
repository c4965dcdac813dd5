use super::*;

const GOOD: Checks = Checks {
    sent: 1000,
    arrived: 990,
    dropped: 10,
    inbound_planned: Some(100),
    inbound_absent: 0.05,
    inbound_sent: 97,
    inbound_arrived: 90,
    inbound_dropped: 7,
    inbound_ended: Some(90),
    processor: ProcessorShares { user: 0.2, system: 0.7, irq: 0.0, softirq: 0.1, idle: 0.0, steal: 0.04 },
    waited_alone: 0.02,
    late: 0.01,
    steered: true,
    shared: false,
    contention: Vec::new(),
    between: None,
};

#[test]
fn counts_that_agree_are_valid() {
    assert_eq!(trial(&GOOD).level, Level::Valid, "{:?}", trial(&GOOD));
    assert_eq!(run(&[GOOD, GOOD], 2).level, Level::Valid);
}

#[test]
fn a_count_that_nothing_explains_is_void() {
    for bad in [
        Checks { sent: 0, arrived: 0, dropped: 0, ..GOOD },
        Checks { arrived: 991, ..GOOD },
        Checks { arrived: 989, ..GOOD },
        Checks { inbound_arrived: 89, inbound_ended: Some(89), ..GOOD },
        Checks { inbound_arrived: 91, inbound_ended: Some(91), ..GOOD },
        Checks { inbound_ended: Some(89), ..GOOD },
        Checks { inbound_ended: Some(91), ..GOOD },
    ] {
        assert_eq!(trial(&bad).level, Level::Void, "{bad:?}");
        assert_eq!(run(&[GOOD, GOOD, bad.clone()], 3).level, Level::Void, "{bad:?}");
    }
}

#[test]
fn a_peak_without_inbound_load_is_void() {
    let lost = BetweenHosts { inbound_lost: 90, ..BetweenHosts::default() };
    for bad in [
        Checks { inbound_absent: 0.91, ..GOOD },
        Checks { inbound_absent: 1.0, inbound_planned: None, ..GOOD },
        Checks { between: Some(lost), ..GOOD },
    ] {
        assert_eq!(trial(&bad).level, Level::Void, "{bad:?}");
        // One variant of several does not take the answer from the others.
        assert_eq!(run(&[GOOD, GOOD, bad.clone()], 3).level, Level::Degraded, "{bad:?}");
    }
    assert_eq!(trial(&Checks { inbound_absent: 0.9, ..GOOD }).level, Level::Valid);
}

#[test]
fn who_does_not_send_is_no_firewall() {
    let advice = |checks: Checks| trial(&checks).reasons[0].text.clone();
    let absent = Checks { inbound_absent: 1.0, ..GOOD };
    assert!(advice(absent.clone()).contains("firewall"));
    let unsent =
        Checks { inbound_sent: 0, inbound_arrived: 0, inbound_dropped: 0, inbound_ended: None, ..absent };
    assert!(advice(unsent).contains("--inbound"));
}

#[test]
fn what_disturbs_is_degraded() {
    for bad in [
        Checks { inbound_planned: Some(110), ..GOOD },
        Checks { processor: ProcessorShares { steal: 0.06, ..GOOD.processor }, ..GOOD },
        Checks { waited_alone: 0.06, ..GOOD },
        Checks { late: 0.2, ..GOOD },
        Checks { steered: false, ..GOOD },
        Checks { shared: true, ..GOOD },
    ] {
        assert_eq!(trial(&bad).level, Level::Degraded, "{bad:?}");
    }
    // No reader and no plan: nothing to compare with.
    let echo = Checks { inbound_planned: None, inbound_ended: None, ..GOOD };
    assert_eq!(trial(&echo).level, Level::Valid);
}

#[test]
fn what_hosts_lose_is_degraded() {
    let lost = |between| Checks { between: Some(between), ..GOOD };
    let none = BetweenHosts::default();
    assert_eq!(trial(&lost(none)).level, Level::Valid);
    for bad in [
        BetweenHosts { not_sent: 11, ..none },
        BetweenHosts { lost: 11, ..none },
        BetweenHosts { inbound_lost: 6, ..none },
    ] {
        assert_eq!(trial(&lost(bad)).level, Level::Degraded, "{bad:?}");
    }
}

#[test]
fn missing_trials_are_reported() {
    assert_eq!(run(&[GOOD], 2).level, Level::Degraded);
    assert_eq!(run(&[], 2).level, Level::Void);
}

#[test]
fn a_cut_that_could_be_anything_is_void_where_no_variant_knows_better() {
    for (halves, level) in
        [([0.1, 0.99], Level::Valid), ([0.1, 1.0], Level::Degraded), ([48.3, 1.0], Level::Void)]
    {
        let mut verdict = Verdict::default();
        precision(&mut verdict, &[(Variant::Ignored, halves[0]), (Variant::Echo, halves[1])]);
        assert_eq!(verdict.level, level, "{halves:?}");
    }
}
