use proptest::prelude::*;

use super::*;

fn due(text: &str) -> Vec<u64> {
    text.parse::<Profile>().unwrap().schedule().collect()
}

#[test]
fn constant_is_even() {
    assert_eq!(due("constant:100/50ms"), [0, 10_000_000, 20_000_000, 30_000_000, 40_000_000]);
}

#[test]
fn a_ramp_grows_denser() {
    let times = due("ramp:1k..9k/1s");
    assert_eq!(times.len(), 5000);
    let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert!((990_000..=1_000_000).contains(&gaps[0]) && (111_000..112_000).contains(gaps.last().unwrap()));
    assert!(gaps.windows(2).all(|g| g[1] <= g[0] + 1));
}

#[test]
fn a_triangle_is_symmetric() {
    let p: Profile = "triangle:1k..9k/2s".parse().unwrap();
    assert_eq!(p.messages(), 10_000);
    assert_eq!((p.rate_at_s(0.5), p.rate_at_s(1.0), p.rate_at_s(1.5)), (5000.0, 9000.0, 5000.0));
}

#[test]
fn steps_are_equally_long() {
    let times = due("steps:10,100/2s");
    assert_eq!(times.iter().filter(|&&t| t < 1_000_000_000).count(), 10);
    assert_eq!(times.len(), 110);
}

#[test]
fn any_message_finds_its_time() {
    let p: Profile = "triangle:1k..9k/200ms".parse().unwrap();
    for (n, due) in p.schedule().enumerate() {
        assert_eq!(p.due_ns(n as u64), Some(due));
    }
    assert_eq!(p.due_ns(p.messages()), None);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (text, part) in [
        ("ramp", "is not a profile"),
        ("ramp:1k/10s", "is not a profile"),
        ("ramp:200k..1k/10s", "does not rise"),
        ("ramp:1k..1k/10s", "does not rise"),
        ("ramp:0..1k/10s", "cannot be"),
        ("constant:0/10s", "cannot be"),
        ("constant:1G/10s", "cannot be"),
        ("constant:5k/0s", "cannot be"),
        ("constant:5k/10", "is not a time"),
        ("constant:fast/10s", "is not a number"),
        ("constant:0.1/1s", "less than two"),
        ("steps:/10s", "is not a number"),
        ("sine:1k..2k/10s", "is not a profile"),
    ] {
        let error = text.parse::<Profile>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_ramp_is_in_order_and_within_its_time(from in 1.0f64..5e4, rise in 1.0f64..1e5, ms in 20u64..500) {
        let p = Profile::Ramp { from_per_s: from, to_per_s: from + rise, duration_ns: ms * 1_000_000 };
        let times: Vec<u64> = p.schedule().collect();
        prop_assert!(times.windows(2).all(|w| w[0] <= w[1]));
        prop_assert!(times.last().is_none_or(|&t| t <= p.duration_ns()));
        prop_assert_eq!(times.len() as u64, p.messages());
    }

    #[test]
    fn what_is_printed_reads_back(a in 1u32..1000, b in 1001u32..100_000, ms in 20u64..100_000) {
        for kind in ["ramp", "triangle"] {
            let text = format!("{kind}:{a}..{b}/{ms}ms");
            let profile: Profile = text.parse().unwrap();
            let again: Profile = profile.to_string().parse().unwrap();
            prop_assert_eq!(profile, again);
        }
    }
}
