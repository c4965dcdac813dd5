use proptest::prelude::*;

use super::*;

fn due(text: &str) -> Vec<u64> {
    text.parse::<Profile>().unwrap().schedule(1).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|w| w[1] - w[0]).collect()
}

#[test]
fn constant_is_even() {
    assert_eq!(due("constant:100/50ms"), [0, 10_000_000, 20_000_000, 30_000_000, 40_000_000]);
}

#[test]
fn errors_do_not_add_up() {
    // A third of a second is no binary fraction, and a day holds many.
    let p: Profile = "constant:3/86400s".parse().unwrap();
    let day: Vec<u64> = p.schedule(0).collect();
    assert!((0..day.len() as u64).step_by(3).all(|n| day[n as usize] == n / 3 * 1_000_000_000));
    let fast: Profile = "constant:50M/86400s".parse().unwrap();
    let last = fast.messages() - 1;
    assert_eq!(fast.due_of(0, [last]), [Some(last * 20)]);
}

#[test]
fn a_ramp_grows_denser() {
    let times = due("ramp:1k..9k/1s");
    assert_eq!(times.len(), 5000);
    let gaps = gaps(&times);
    assert!((990_000..=1_000_000).contains(&gaps[0]) && (111_000..112_000).contains(gaps.last().unwrap()));
    assert!(gaps.windows(2).all(|g| g[1] <= g[0] + 1));
}

#[test]
fn a_triangle_is_symmetric() {
    let p: Profile = "triangle:1k..9k/2s".parse().unwrap();
    assert_eq!(p.messages(), 10_000);
    assert_eq!(p.pieces().len(), 2);
    assert_eq!((p.rate_at_s(0.5), p.rate_at_s(1.0), p.rate_at_s(1.5)), (5000.0, 9000.0, 5000.0));
}

#[test]
fn a_cap_cuts_the_top_and_keeps_the_slopes() {
    let whole: Profile = "triangle:1k..20k/10s".parse().unwrap();
    let capped: Profile = "triangle:1k..20k,cap=9k/10s".parse().unwrap();
    assert_eq!(capped.peak_per_s(), 9000.0);
    for tenth in 0..=100 {
        let t_s = f64::from(tenth) / 10.0;
        let expected = whole.rate_at_s(t_s).min(9000.0);
        assert!((capped.rate_at_s(t_s) - expected).abs() < 1e-6, "at {t_s} s");
    }
    // What the cap cuts off is a triangle itself, of 11/19 of the width and 11k height.
    let cut: f64 = 10.0 * 11.0 / 19.0 * 11_000.0 / 2.0;
    assert_eq!(capped.messages(), (105_000.0 - cut).round() as u64);
}

#[test]
fn old_records_have_no_cap() {
    let old = r#"{"kind":"triangle","from_per_s":1000.0,"to_per_s":2000.0,"duration_ns":1000000000}"#;
    let profile: Profile = serde_json::from_str(old).unwrap();
    assert_eq!(profile, "triangle:1k..2k/1s".parse().unwrap());
    assert_eq!(serde_json::to_string(&profile).unwrap(), old);
}

#[test]
fn steps_are_equally_long() {
    let times = due("steps:10,100/2s");
    assert_eq!(times.iter().filter(|&&t| t < 1_000_000_000).count(), 10);
    assert_eq!(times.len(), 110);
}

#[test]
fn poisson_gaps_are_exponential() {
    let p: Profile = "poisson:100k/2s".parse().unwrap();
    let times: Vec<u64> = p.schedule(7).collect();
    assert_eq!(times.len(), 200_000);
    let gaps: Vec<f64> = gaps(&times).iter().map(|&g| g as f64).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / (n - 1.0);
    // Of an exponential distribution the deviation is the mean, and 1/e of all are longer.
    assert!((mean - 10_000.0).abs() < 10.0, "mean {mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "deviation {}", variance.sqrt());
    let longer = gaps.iter().filter(|&&g| g > mean).count() as f64 / n;
    assert!((longer - (-1f64).exp()).abs() < 0.01, "longer than the mean: {longer}");
    // Neighbors do not know of each other.
    let covariance = gaps.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n;
    assert!((covariance / variance).abs() < 0.01, "correlation {}", covariance / variance);
    // And it is as dense at the end as at the start.
    let first = times.iter().filter(|&&t| t < 1_000_000_000).count() as f64;
    assert!((first - 100_000.0).abs() < 4.0 * 224.0, "{first} in the first half");
}

#[test]
fn poisson_is_the_seeds() {
    let p: Profile = "poisson:1k/1s".parse().unwrap();
    let of = |seed| p.schedule(seed).collect::<Vec<u64>>();
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}

#[test]
fn any_message_finds_its_time() {
    for text in ["triangle:1k..9k,cap=5k/200ms", "poisson:5k/200ms", "steps:5,50k,100/200ms"] {
        let p: Profile = text.parse().unwrap();
        let all: Vec<Option<u64>> = p.schedule(5).map(Some).collect();
        assert_eq!(p.due_of(5, 0..p.messages()), all, "{text}");
        let some = [3, 3, 17, 2, p.messages() - 1, p.messages(), u64::MAX];
        let last = all[all.len() - 1];
        assert_eq!(p.due_of(5, some), [all[3], all[3], all[17], all[2], last, None, None], "{text}");
    }
}

#[test]
fn a_table_is_read_as_people_write_it() {
    let text = "\u{feff}\"time (s)\",rate\r\n# warm up\r\n100, 1000\r\n\r\n  101,2k\r\n102.5,0\r\n104,0\r\n105,1e3\r\n";
    let p = Profile::from_csv(text).unwrap();
    let points = vec![(0.0, 1000.0), (1.0, 2000.0), (2.5, 0.0), (4.0, 0.0), (5.0, 1000.0)];
    assert_eq!(p, Profile::Table { points });
    assert_eq!(p.messages(), 1500 + 1500 + 500);
    assert_eq!(p.to_string(), "csv:5 points/5s");
    let times: Vec<u64> = p.schedule(0).collect();
    assert!(!times.iter().any(|t| (2_500_000_000..4_000_000_000).contains(t)));
    assert!(times.contains(&4_000_000_000));
}

#[test]
fn a_damaged_table_is_refused_with_its_line() {
    let many: String = (0..=MAX_POINTS).map(|i| format!("{i},5\n")).collect();
    for (text, part) in [
        ("time,rate\n0,5\n1,x\n", "line 3: `x` is not a number"),
        ("0,5\n0,6\n", "line 2: its time is not after"),
        ("# a\n\n0,5\n3,6\n2,6", "line 5: its time is not after"),
        ("0,5\n1e-9,5\n", "line 2: its time is less than a microsecond"),
        ("0,5\n100000,5\n", "line 2: its time is more than 86400s"),
        ("0,5\n1,-1\n", "line 2: a rate of -1"),
        ("0,5\n1,51M\n", "line 2: a rate of 51M"),
        ("0,5\n1,nan\n", "line 2: `nan` is not a number"),
        ("0;5\n1;6\n", "line 1: `0;5` is not a time"),
        ("0,5,7\n1,6,7\n", "line 1: `0,5,7` is not a time"),
        ("x0,5\n1,6\n", "line 1: `x0` is not a number"),
        ("0,5\ntime,rate\n", "line 2: `time` is not a number"),
        ("0,5\n", "1 points has no length"),
        ("", "0 points has no length"),
        ("0,5\n0.001,5\n", "a trial of 1ms"),
        ("0,0\n10,0\n", "less than two messages"),
        (many.as_str(), "line 10001: a table has at most 10000 points"),
        ("\u{1b}[2J\0ELF, and so on\n", "line 1: `[2JELF` is not a number"),
    ] {
        let error = Profile::from_csv(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text:.20}: {error}");
    }
}

#[test]
fn a_table_in_a_file_is_distinguished_from_a_profile() {
    assert_eq!(Profile::csv_path("csv:a/b.csv"), Some("a/b.csv"));
    assert_eq!(Profile::csv_path("csv:"), None);
    assert_eq!(Profile::csv_path("ramp:1k..2k/1s"), None);
    let error = "csv:a/b.csv".parse::<Profile>().unwrap_err().to_string();
    assert!(error.starts_with("csv:a/b.csv is a profile in a file"), "{error}");
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (text, part) in [
        ("ramp", "is not a profile"),
        ("csv:", "is not a profile"),
        ("ramp:1k/10s", "is not a profile"),
        ("ramp:200k..1k/10s", "does not rise"),
        ("ramp:1k..1k/10s", "does not rise"),
        ("triangle:1k..1k/10s", "does not rise"),
        ("triangle:9k..1k,cap=5k/10s", "does not rise"),
        ("triangle:1k..9k,cap=1k/10s", "cap=1k does not cut the triangle 1k..9k"),
        ("triangle:1k..9k,cap=9k/10s", "between the two"),
        ("triangle:1k..9k,cap=60M/10s", "cannot be"),
        ("triangle:1k..9k,cap=/10s", "is not a number"),
        ("triangle:1k..9k,top=5k/10s", "is not a number"),
        ("ramp:1k..9k,cap=5k/10s", "is not a number"),
        ("ramp:0..1k/10s", "cannot be"),
        ("constant:0/10s", "cannot be"),
        ("constant:1G/10s", "cannot be"),
        ("constant:5k/0s", "cannot be"),
        ("constant:5k/10", "is not a time"),
        ("constant:fast/10s", "is not a number"),
        ("constant:0.1/1s", "less than two"),
        ("poisson:0.1/1s", "less than two"),
        ("poisson:60M/1s", "cannot be"),
        ("steps:/10s", "is not a number"),
        ("sine:1k..2k/10s", "is not a profile"),
    ] {
        let error = text.parse::<Profile>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// Any profile at all, as text or as a table; few enough messages to walk.
fn any() -> impl Strategy<Value = Profile> {
    let rates = (1.0f64..5e4, 0.1f64..1e5, 0.01f64..0.99, 20u64..500, 0usize..5);
    let written = rates.prop_map(|(from, rise, cap, ms, kind)| {
        let duration_ns = ms * 1_000_000;
        let (from, to, cap) = (rounded(from), rounded(from + rise), rounded(from + cap * rise));
        let cap_per_s = Some(cap).filter(|cap| *cap > from && *cap < to && ms % 2 == 0);
        match kind {
            0 => Profile::Constant { rate_per_s: to, duration_ns },
            1 => Profile::Ramp { from_per_s: from, to_per_s: to, duration_ns },
            2 => Profile::Triangle { from_per_s: from, to_per_s: to, cap_per_s, duration_ns },
            3 => Profile::Steps { rates_per_s: vec![from, to, cap, to, 0.3], duration_ns },
            _ => Profile::Poisson { rate_per_s: to, duration_ns },
        }
    });
    let point = (1e-6f64..0.1, prop_oneof![Just(0.0), Just(1e-300), 0.1f64..1e5]);
    let table = proptest::collection::vec(point, 2..20).prop_map(|points| {
        let mut at_s = -points[0].0;
        let points = points.into_iter().map(|(gap_s, rate)| {
            at_s += gap_s;
            (at_s, rate)
        });
        Profile::Table { points: points.collect() }
    });
    prop_oneof![3 => written, 1 => table]
        .prop_filter("holds messages", |p: &Profile| p.clone().validated().is_ok())
}

/// As a rate is that was written down.
fn rounded(rate: f64) -> f64 {
    (rate * 1e3).round() / 1e3
}

proptest! {
    #[test]
    fn departures_are_in_order_within_the_time_and_all_there(p in any(), seed: u64) {
        let times: Vec<u64> = p.schedule(seed).collect();
        prop_assert!(times.windows(2).all(|w| w[0] <= w[1]));
        prop_assert!(times.last().is_none_or(|&t| t <= p.duration_ns()));
        prop_assert_eq!(times.len() as u64, p.messages());
        prop_assert_eq!(p.schedule(seed).len(), times.len());
    }

    #[test]
    fn departures_follow_the_rate(p in any()) {
        // Between two departures lies one message: the area under the rate.
        prop_assume!(!matches!(p, Profile::Poisson { .. }));
        let area = |until_s: f64| p.pieces().iter().map(|piece| {
            let within_s = (until_s - piece.start_s).clamp(0.0, piece.length_s);
            let slope = (piece.to_per_s - piece.from_per_s) / piece.length_s;
            piece.from_per_s * within_s + slope * within_s * within_s / 2.0
        }).sum::<f64>();
        for (n, due_ns) in p.schedule(0).enumerate().step_by(97) {
            // Half a nanosecond of rounding at the highest rate.
            let error = (area(due_ns as f64 / 1e9) - n as f64).abs();
            prop_assert!(error < 1e-3, "message {} is off by {} messages", n, error);
        }
    }

    #[test]
    fn lanes_together_are_the_whole(p in any(), seed: u64, lanes in 1u64..7) {
        let whole: Vec<u64> = p.schedule(seed).collect();
        let mut merged = vec![None; whole.len()];
        for first in 0..lanes {
            let lane = p.schedule(seed).lane(first, lanes);
            let mut expected = lane.len();
            for (i, due_ns) in lane.enumerate() {
                merged[first as usize + i * lanes as usize] = Some(due_ns);
                expected -= 1;
            }
            prop_assert_eq!(expected, 0);
        }
        prop_assert_eq!(merged, whole.into_iter().map(Some).collect::<Vec<_>>());
        let beyond = p.messages();
        prop_assert_eq!(p.schedule(seed).lane(beyond, 1).len(), 0);
    }

    #[test]
    fn a_lane_of_a_lane_is_a_lane(p in any(), seed: u64) {
        let nested: Vec<u64> = p.schedule(seed).lane(1, 2).lane(1, 3).collect();
        prop_assert_eq!(nested, p.schedule(seed).lane(3, 6).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_printed_reads_back(p in any()) {
        prop_assume!(!matches!(p, Profile::Table { .. }));
        prop_assert_eq!(p.to_string().parse::<Profile>(), Ok(p));
    }

    #[test]
    fn a_table_that_is_written_reads_back(p in any()) {
        if let Profile::Table { points } = &p {
            let text: String = points.iter().map(|(t, r)| format!("{t},{r}\n")).collect();
            prop_assert_eq!(Profile::from_csv(&text), Ok(p));
        }
    }

    #[test]
    fn records_keep_every_profile(p in any()) {
        let text = serde_json::to_string(&p).unwrap();
        let again: Profile = serde_json::from_str(&text).unwrap();
        // serde_json reads floats to within their last digit.
        prop_assert_eq!(again.messages(), p.messages());
        prop_assert_eq!(again.duration_ns(), p.duration_ns());
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}") {
        let _ = text.parse::<Profile>();
        let _ = Profile::from_csv(&text);
    }
}
