//! The raw samples of a run in its report: their own values, all of them, binned and unbinned.

use std::fs::{self, OpenOptions};
use std::path::Path;

use netfathom_model::record::Record;
use netfathom_model::sample::Sample;
use netfathom_results::render::html::render_run;
use netfathom_results::store::{SAMPLES_FILE, samples};
use netfathom_sys::directory::Directory;
use serde_json::{Value, json};

use crate::records::{fixture, stack};
use crate::saved::saved;
use crate::{Shown, open, show_run};

/// Where the clock stood when the first trial began.
const START_NS: u64 = 5_000_000_000_000;

/// A number that looks like chance and is the same every time.
fn scattered(n: u64, below: u64) -> u64 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % below
}

/// Samples of two trials of the fixture, in the order of their departure.
fn made(record: &Record, each: u64) -> Vec<Sample> {
    let plan = &stack(record).plan;
    let of = |trial: u32| {
        let numbers: Vec<u64> = (0..each).map(|i| i * 1_000_000 / each).collect();
        let due = plan.profile.due_of(plan.seed, numbers.clone());
        numbers.into_iter().zip(due).map(move |(number, due)| sample(trial, number, due.expect("a due time")))
    };
    of(0).chain(of(2)).collect()
}

fn sample(trial: u32, number: u64, due_ns: u64) -> Sample {
    let intended_ns = START_NS + u64::from(trial) * 20_000_000_000 + due_ns;
    let sent_ns = intended_ns + 40 + scattered(number, 50);
    let left = sent_ns + 900 + scattered(number + 1, 900);
    let came_in = left + 100;
    let received = came_in + 3_000 + scattered(number + 2, 9_000);
    Sample {
        trial,
        sequence: number,
        intended_ns,
        sent_ns,
        net_dev_start_xmit_ns: Some(left),
        netif_receive_skb_ns: Some(came_in),
        // One in ten is lost.
        received_ns: (scattered(number + 3, 10) > 0).then_some(received),
        ..Sample::default()
    }
}

fn run(rows: &[Sample]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    samples::write(&Directory::open(dir.path()).unwrap(), rows).expect("samples");
    dir
}

fn shown(test: &str, record: &Record, dir: &Path) -> Option<Shown> {
    show_run(test, record, dir).map(with_samples)
}

/// The report, once its samples are drawn.
fn with_samples(mut shown: Shown) -> Shown {
    shown.page.wait_for("document.documentElement.dataset.samples === 'drawn'");
    shown.page.settle();
    shown
}

fn column(shown: &mut Shown, chart: &str, curve: usize) -> Vec<Option<f64>> {
    let values = shown.page.eval(&format!("[...netfathom.charts['{chart}'].plot.data[{curve}]]"));
    values.as_array().expect("values").iter().map(Value::as_f64).collect()
}

#[test]
fn few_samples_are_there_exactly() {
    let record = fixture();
    let rows = made(&record, 1_000);
    let dir = run(&rows);
    let Some(mut shown) = shown("few samples", &record, dir.path()) else { return };
    let mut wanted: Vec<(f64, f64)> = rows
        .iter()
        .map(|s| {
            let start = START_NS + u64::from(s.trial) * 20_000_000_000;
            ((s.sent_ns - start) as f64 / 1e9, (s.net_dev_start_xmit_ns.unwrap() - s.sent_ns) as f64)
        })
        .collect();
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (xs, ys) = (column(&mut shown, "samples-tx-all", 0), column(&mut shown, "samples-tx-all", 4));
    assert_eq!((xs.len(), ys.len()), (2_000, 2_000));
    for (i, (x, y)) in wanted.iter().enumerate() {
        assert!((xs[i].unwrap() - x).abs() < 1e-9, "{i}: {:?} is not {x}", xs[i]);
        // Messages of two trials may leave at the same moment of theirs.
        assert!(ys[i.saturating_sub(1)..(i + 2).min(2_000)].contains(&Some(*y)), "{i}: {y}");
    }
    let text = shown.page.eval("document.getElementById('report').innerText").to_string();
    assert!(text.contains("2,000 of the 2,000 messages") && text.contains("Their times are exact"), "{text}");
    let lost = rows.iter().filter(|s| s.received_ns.is_none()).count();
    assert!(lost > 0 && text.contains(&format!("{lost} have no stack time rx")), "{lost}: {text}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn many_samples_are_binned_and_zoom_down_to_each() {
    let record = fixture();
    let rows = made(&record, 40_000);
    let dir = run(&rows);
    let Some(mut shown) = shown("many samples", &record, dir.path()) else { return };
    let chart = "samples-tx-all";
    let (low, high) = (column(&mut shown, chart, 1), column(&mut shown, chart, 3));
    assert!(low.len() <= 1_000 && low.len() > 500, "{}", low.len());
    let took = |s: &Sample| (s.net_dev_start_xmit_ns.unwrap() - s.sent_ns) as f64;
    let least = rows.iter().map(took).fold(f64::INFINITY, f64::min);
    let most = rows.iter().map(took).fold(0.0, f64::max);
    assert_eq!(low.iter().flatten().copied().fold(f64::INFINITY, f64::min), least);
    assert_eq!(high.iter().flatten().copied().fold(0.0, f64::max), most);
    let means = column(&mut shown, chart, 2);
    assert!((0..low.len()).all(|i| low[i] <= means[i] && means[i] <= high[i]));

    shown.page.eval("netfathom.charts['samples-tx-all'].plot.setScale('x', { min: 5, max: 5.05 })");
    shown.page.settle();
    let inside = |s: &&Sample| {
        let at = s.sent_ns - START_NS - u64::from(s.trial) * 20_000_000_000;
        (5_000_000_000..5_050_000_000).contains(&at)
    };
    let wanted = rows.iter().filter(inside).count();
    let single = column(&mut shown, chart, 4);
    assert_eq!(single.iter().flatten().count(), wanted);
    assert!(wanted > 100, "the test is of no use");
    // The way in is looked at in the same place.
    let range = shown.page.eval("((s) => [s.min, s.max])(netfathom.charts['samples-rx-all'].plot.scales.x)");
    assert_eq!(range, json!([5, 5.05]));

    shown.page.eval("document.querySelector('#chart-samples-tx-all .reset').click()");
    shown.page.settle();
    assert_eq!(column(&mut shown, chart, 1), low, "not the whole range again");
    assert_eq!(shown.page.eval("document.querySelector('#chart-samples-tx-all .reset').hidden"), json!(true));
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn samples_and_record_are_saved_from_what_is_squeezed() {
    let record = fixture();
    let rows = made(&record, 500);
    let dir = run(&rows);
    let Some(mut shown) = shown("saved samples", &record, dir.path()) else { return };
    let text = saved(
        &mut shown,
        "document.querySelector('#chart-samples-tx-all .csv')",
        &format!("{}-Single_messages_stack_time_tx.csv", record.id),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "trial,time (s),stack time tx (ns),stack time rx (ns)");
    assert_eq!(lines.len(), 1 + rows.len());
    let s = &rows[7];
    let fields: Vec<&str> = lines[8].split(',').collect();
    assert_eq!(fields[2], (s.net_dev_start_xmit_ns.unwrap() - s.sent_ns).to_string());
    let lost = rows.iter().position(|s| s.received_ns.is_none()).expect("a lost message");
    assert_eq!(lines[1 + lost].split(',').next_back(), Some(""), "a lost message has a time");
    let text = saved(&mut shown, "document.getElementById('download')", &format!("{}.json", record.id));
    let kept: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(serde_json::to_value(kept).unwrap(), serde_json::to_value(record).unwrap());
}

#[test]
fn a_million_samples_fit_and_are_drawn() {
    let record = fixture();
    let dir = run(&made(&record, 500_000));
    let html = render_run(&record, &Directory::open(dir.path()).unwrap()).expect("a report");
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let Some(mut shown) = open("million samples", &html).map(with_samples) else { return };
    let text = shown.page.eval("document.getElementById('report').innerText").to_string();
    assert!(text.contains("1,000,000 of the 1,000,000 messages"), "{text}");
    assert!(text.contains("rounded by at most"), "{text}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn samples_that_cannot_be_read_are_reported() {
    let record = fixture();
    let whole = run(&made(&record, 1_000));
    let file = whole.path().join(SAMPLES_FILE);
    let cut = tempfile::tempdir().unwrap();
    fs::copy(&file, cut.path().join(SAMPLES_FILE)).unwrap();
    let length = fs::metadata(&file).unwrap().len();
    OpenOptions::new().write(true).open(cut.path().join(SAMPLES_FILE)).unwrap().set_len(length / 2).unwrap();
    let linked = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&file, linked.path().join(SAMPLES_FILE)).unwrap();
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join(SAMPLES_FILE), "<script>window.pwned=1</script>").unwrap();
    for (dir, why) in
        [(&cut, "could not be read"), (&linked, "it is no regular file"), (&foreign, "could not be read")]
    {
        let Some(mut shown) = show_run("bad samples", &record, dir.path()) else { return };
        let text = shown.page.eval("document.getElementById('report').innerText").to_string();
        assert!(text.contains(why), "{text}");
        assert_eq!(shown.page.complaints(), Vec::<String>::new());
    }
}
