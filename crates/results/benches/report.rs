//! What a report of a run with a million raw samples takes: to write, on disk, and until it is seen; and a list of
//! ten thousand runs.
//!
//! Times depend on the machine: they are printed, not judged. Prints a table in Markdown.

use std::fs;
use std::path::Path;
use std::time::Instant;

use netfathom_model::record::{Measurement, Record};
use netfathom_model::sample::Sample;
use netfathom_results::render::html::render_run;
use netfathom_results::store::{self, samples};
use netfathom_sys::directory::Directory;
use netfathom_testkit::browser::{Page, address};

const SAMPLES: u64 = 1_000_000;
const RUNS: u64 = 10_000;
const REPETITIONS: usize = 5;
const START_NS: u64 = 5_000_000_000_000;

fn main() {
    let record: Record =
        serde_json::from_str(include_str!("../tests/fixtures/stack.json")).expect("the fixture is a record");
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join(store::RECORD_FILE), include_str!("../tests/fixtures/stack.json"))
        .expect("a record");
    samples::write(&Directory::open(dir.path()).unwrap(), &made(&record)).expect("samples");

    let file = dir.path().join(store::REPORT_FILE);
    let written_s = median(|| {
        let start = Instant::now();
        let record = store::read(dir.path()).expect("a record");
        fs::write(&file, render_run(&record, &Directory::open(dir.path()).unwrap()).expect("a report"))
            .expect("a file");
        start.elapsed().as_secs_f64()
    });
    let size_bytes = fs::metadata(&file).expect("a file").len();
    println!("Medians of {REPETITIONS}.\n\n| what | measured |\n|---|---|");
    println!("| report of {SAMPLES} samples, to write | {written_s:.2} s, {size_bytes} bytes |");
    let shown = match seen(&file) {
        Some((chart_s, samples_s)) => format!("{chart_s:.2} s, {samples_s:.2} s"),
        None => "not measured, there is no Chromium".into(),
    };
    println!("| in Chromium, until the first charts, until the samples | {shown} |");
    let (listed_s, record_bytes) = listed();
    println!("| list of {RUNS} runs of {record_bytes} bytes each | {listed_s:.3} s |");
}

/// Seconds of a list of runs that were just written, and the size of each.
fn listed() -> (f64, usize) {
    let out = tempfile::tempdir().expect("a directory");
    let record = store::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stack.json"));
    let first = tempfile::tempdir().expect("a directory");
    let first = store::RunDir::create(first.path(), "first").expect("a run");
    first.write_record(&record.expect("the fixture")).expect("a record");
    let [record, head] =
        [store::RECORD_FILE, store::HEAD_FILE].map(|name| fs::read(first.path().join(name)).expect("a file"));
    for n in 0..RUNS {
        let run = out.path().join(format!(
            "20261121T{:02}{:02}{:02}Z-stack-{n:06x}",
            n / 3600,
            n / 60 % 60,
            n % 60
        ));
        fs::create_dir(&run).expect("a directory");
        fs::write(run.join(store::RECORD_FILE), &record).expect("a record");
        fs::write(run.join(store::HEAD_FILE), &head).expect("a head");
    }
    let listed_s = median(|| {
        let start = Instant::now();
        let found = store::catalogue(out.path()).expect("runs").entries.len();
        let took_s = start.elapsed().as_secs_f64();
        assert_eq!(found as u64, RUNS);
        took_s
    });
    (listed_s, record.len())
}

/// Samples with the chance of real ones: gaps and times that all differ.
fn made(record: &Record) -> Vec<Sample> {
    let Measurement::Stack(stack) = &record.measurement else {
        panic!("the fixture is of another measurement")
    };
    let trials: Vec<u32> = stack.trials.iter().map(|trial| trial.index).collect();
    let each = SAMPLES / trials.len() as u64;
    let due = stack.plan.profile.due_of(stack.plan.seed, 0..each);
    let one = |trial: u32, number: u64, due_ns: u64| {
        let intended_ns = START_NS + u64::from(trial) * 20_000_000_000 + due_ns;
        let sent_ns = intended_ns + 40 + scattered(number, 400);
        let left_ns = sent_ns + 900 + scattered(number + 1, 1_800);
        Sample {
            trial,
            sequence: number,
            intended_ns,
            sent_ns,
            net_dev_start_xmit_ns: Some(left_ns),
            netif_receive_skb_ns: Some(left_ns + 100),
            received_ns: Some(left_ns + 3_000 + scattered(number + 2, 9_000)),
            ..Sample::default()
        }
    };
    let of = |trial: u32| (0..each).zip(&due).map(move |(number, due)| one(trial, number, due.unwrap_or(0)));
    trials.into_iter().flat_map(of).collect()
}

/// A number that looks like chance and is the same every time.
fn scattered(n: u64, below: u64) -> u64 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % below
}

fn median(mut measured: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..REPETITIONS).map(|_| measured()).collect();
    all.sort_by(f64::total_cmp);
    all[REPETITIONS / 2]
}

/// Seconds from opening the page until its first charts are drawn, and until its samples are.
fn seen(file: &Path) -> Option<(f64, f64)> {
    let mut samples_s = Vec::new();
    let mut charts_s = Vec::new();
    for _ in 0..REPETITIONS {
        let mut page = Page::start("bench report")?;
        page.open(&address(file));
        page.wait_for("document.documentElement.dataset.samples === 'drawn'");
        charts_s.push(page.eval("netfathom.drawnMs").as_f64()? / 1e3);
        samples_s.push(page.eval("netfathom.samplesDrawnMs").as_f64()? / 1e3);
    }
    let middle = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Some((middle(charts_s), middle(samples_s)))
}
