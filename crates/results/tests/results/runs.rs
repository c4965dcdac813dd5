//! Directories of runs: finding, naming, tagging and removing them, on good days and bad ones.

mod bad;
mod names;
mod removed;

use std::fs;
use std::path::{Path, PathBuf};

use netfathom_model::verdict::Level;
use netfathom_results::store::{Catalogue, Filter, Moment, catalogue};
use tempfile::TempDir;

pub const MEASUREMENTS: [&str; 5] = ["stack", "load", "transfer", "message", "cost"];
const LEVELS: [&str; 3] = ["VALID", "DEGRADED", "VOID"];
const HOSTS: [&str; 3] = ["anna", "berta", "clara"];
const KERNELS: [&str; 3] = ["6.1.0-18-amd64 #1 SMP", "6.12.57+deb13-amd64 #1 SMP", "5.10.0 #3"];

pub fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The head of a record, as it stands before what was measured.
pub fn head(i: usize, id: &str) -> String {
    let (level, host, kernel) = (LEVELS[i % 3], HOSTS[i / 3 % 3], KERNELS[i / 9 % 3]);
    let (hour, minute, second) = (i / 3600 % 24, i / 60 % 60, i % 60);
    format!(
        r#"{{"schema_version":1,"id":"{id}","tool":"netfathom 0.1.0","started_utc":"2026-11-0{}T{hour:02}:{minute:02}:{second:02}Z","state":"complete","verdict":{{"level":"{level}","reasons":[]}},"command":"netfathom","environment":{{"host":"{host}","kernel":"{kernel}","cpu_model":"x","mitigations":{{}}}},"measurement":{{"kind":"{}""#,
        1 + i / 86_400,
        MEASUREMENTS[i % 5],
    )
}

pub fn id(i: usize) -> String {
    let (hour, minute, second) = (i / 3600 % 24, i / 60 % 60, i % 60);
    format!("2026110{}T{hour:02}{minute:02}{second:02}Z-{}-{i:08x}", 1 + i / 86_400, MEASUREMENTS[i % 5])
}

/// Puts the i-th of many runs there; they begin a second after each other.
pub fn put(out: &Path, i: usize) -> PathBuf {
    let run = out.join(id(i));
    fs::create_dir(&run).expect("a directory");
    fs::write(run.join("record.json"), head(i, &id(i)) + ",\"trials\":[]},\"findings\":[]}\n")
        .expect("a record");
    run
}

pub fn listed(out: &Path) -> Catalogue {
    catalogue(out).expect("a directory of runs")
}

/// The names of the runs that a filter wants, as they are listed.
fn wanted(all: &Catalogue, filter: &Filter) -> Vec<String> {
    all.entries.iter().filter(|e| filter.wants(e)).map(|e| e.name.clone()).collect()
}

#[test]
fn ten_thousand_runs_are_listed_in_order_and_filtered() {
    const RUNS: usize = 10_000;
    let out = directory();
    // In no order.
    (0..RUNS).for_each(|i| drop(put(out.path(), i * 7919 % RUNS)));
    let all = listed(out.path());
    let newest_first = |such: &dyn Fn(usize) -> bool| -> Vec<String> {
        (0..RUNS).rev().filter(|&i| such(i)).map(id).collect()
    };
    assert_eq!(wanted(&all, &Filter::default()), newest_first(&|_| true));
    let stack = Filter { measurements: vec!["stack".into()], ..Filter::default() };
    assert_eq!(wanted(&all, &stack), newest_first(&|i| i % 5 == 0));
    let ttcp = Filter { measurements: vec!["ttcp".into(), "cost".into()], ..Filter::default() };
    assert_eq!(wanted(&all, &ttcp), newest_first(&|i| i % 5 == 2 || i % 5 == 4));
    let void = Filter { verdicts: vec![Level::Void, Level::Degraded], ..Filter::default() };
    assert_eq!(wanted(&all, &void), newest_first(&|i| i % 3 != 0));
    let host = Filter { host: Some("berta".into()), ..Filter::default() };
    assert_eq!(wanted(&all, &host), newest_first(&|i| i / 3 % 3 == 1));
    let kernel = Filter { kernel: Some("6.1".into()), ..Filter::default() };
    assert_eq!(wanted(&all, &kernel), newest_first(&|i| i / 9 % 3 == 0));
    let now = "2026-11-01T02:00:00Z".parse().unwrap();
    let hour = Filter {
        since: Some(Moment::parse("1h", now).unwrap().first),
        until: Some(now),
        measurements: vec!["load".into()],
        ..Filter::default()
    };
    assert_eq!(wanted(&all, &hour), newest_first(&|i| (3600..7200).contains(&i) && i % 5 == 1));
    let day = Moment::parse("2026-11-01", now).unwrap();
    let until = Filter { until: Some(day.end), ..Filter::default() };
    assert_eq!(wanted(&all, &until).len(), RUNS);
    assert_eq!(wanted(&all, &Filter { until: Some(day.first), ..Filter::default() }), Vec::<String>::new());
}

#[test]
fn every_fixture_shows_its_head() {
    let out = directory();
    let fixtures = fs::read_dir(crate::contract::file("tests/fixtures")).expect("the fixtures");
    let mut names = Vec::new();
    for fixture in fixtures.map(|f| f.expect("a fixture").path()) {
        let name = fixture.file_stem().unwrap().to_string_lossy().into_owned();
        let run = out.path().join(&name);
        fs::create_dir(&run).unwrap();
        fs::copy(&fixture, run.join("record.json")).unwrap();
        names.push(name);
    }
    let all = listed(out.path());
    assert_eq!(all.entries.len(), names.len());
    for entry in &all.entries {
        let head = entry.head.as_ref().unwrap_or_else(|| panic!("{}: {:?}", entry.name, entry.problem));
        let record = netfathom_results::store::read(&entry.path).expect("a record");
        assert_eq!(head.measurement, record.measurement.name());
        assert_eq!(head.verdict, record.verdict.level, "{}", entry.name);
        assert_eq!((&head.id, &head.kernel), (&record.id, &record.environment.kernel));
        assert_eq!(entry.started, head.started().unwrap());
    }
}

#[test]
fn a_long_answer_is_listed_whole() {
    let out = directory();
    put(out.path(), 0);
    let mut entry = listed(out.path()).entries.remove(0);
    let answer = format!("{}last 1.18 µs", "it takes 2.02 µs; ".repeat(9));
    entry.head.as_mut().expect("a head").answer = Some(answer.clone());
    let page = netfathom_results::story::runs::list(&[&entry], &[], 80);
    let text = netfathom_results::draw::terminal(&page, 80, false);
    assert!(crate::contract::flat(&text).contains(&answer), "{text}");
}

#[test]
fn runs_that_come_change_and_go_meanwhile_break_nothing() {
    use netfathom_results::store::RunDir;
    let out = directory();
    (0..50).for_each(|i| drop(put(out.path(), i)));
    let mut record = crate::contract::stack_fixture();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut writer = || {
            let run = RunDir::create(out.path(), "20261201T000000Z-stack-00000001").expect("a run");
            for i in 0..8 {
                record.environment.cpus = i;
                run.write_record(&record).expect("written");
                let short = put(out.path(), 60_000 + i);
                fs::remove_dir_all(short).expect("removed");
            }
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
        };
        let reader = scope.spawn(|| {
            let mut lists = 0;
            while !ended.load(std::sync::atomic::Ordering::Relaxed) || lists == 0 {
                let all = listed(out.path());
                for entry in &all.entries {
                    let i = usize::from_str_radix(entry.name.rsplit('-').next().unwrap(), 16).unwrap();
                    // What is just made or removed may have no record; what stands has one.
                    let stands = i < 50 && !entry.name.starts_with("20261201");
                    assert!(entry.head.is_some() || !stands, "{entry:?}");
                    let damaged = entry
                        .problem
                        .as_ref()
                        .is_some_and(|p| p.kind == netfathom_results::store::ProblemKind::Damaged);
                    // Only `put` writes in place; netfathom moves whole files there.
                    assert!(!damaged || i >= 60_000, "{entry:?}");
                }
                lists += 1;
            }
        });
        writer();
        reader.join().expect("no panic");
    });
}
