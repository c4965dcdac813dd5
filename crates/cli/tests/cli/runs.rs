//! `netfathom runs`: what is listed, shown, tagged and removed, and what never is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use netfathom_model::record::Record;
use netfathom_model::verdict::Level;
use netfathom_results::store::{self, RunDir};
use netfathom_testkit::needs_programs;
use serde_json::Value;

use crate::child::{Ended, fixture, netfathom, netfathom_to, out, run, runs, shell};
use crate::refusals::{refused, refused_for};

/// Puts a run there that began on that day of a month, and returns its directory.
pub fn put(out: &Path, day: u32, measurement: &str, change: impl FnOnce(&mut Record)) -> PathBuf {
    let mut record = store::read(&fixture(measurement)).unwrap();
    record.id = format!("202610{day:02}T120000Z-{measurement}-0000{day:04x}");
    record.started_utc = format!("2026-10-{day:02}T12:00:00Z");
    record.environment.host = Some("host-a".into());
    record.verdict.level = Level::Valid;
    change(&mut record);
    let run = RunDir::create(out, &record.id).unwrap();
    run.write_record(&record).unwrap();
    run.path().to_owned()
}

/// Six runs on six days, one of them damaged, and what is no run.
fn some(out: &Path) -> Vec<PathBuf> {
    let put = |day, name, level, host: &str| {
        put(out, day, name, |r| (r.verdict.level, r.environment.host) = (level, Some(host.into())))
    };
    let there = vec![
        put(1, "ttcp", Level::Valid, "host-a"),
        put(2, "join", Level::Void, "host-a"),
        put(3, "ttcp", Level::Degraded, "host-b"),
        put(4, "join", Level::Valid, "host-b"),
        put(5, "ttcp", Level::Void, "host-a"),
        put(6, "join", Level::Valid, "host-a"),
    ];
    fs::write(there[3].join("record.json"), "{\"schema_version\":1,").unwrap();
    fs::create_dir(out.join("photos")).unwrap();
    there
}

fn in_runs(out: &Path, args: &str) -> Ended {
    run(&mut netfathom_to(out, &format!("runs {args}")))
}

/// The days of the runs that are listed.
fn days(out: &Path, args: &str) -> Vec<u32> {
    let listed: Value = in_runs(out, &format!("{args} --json")).quietly().json();
    listed.as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()[6..8].parse().unwrap()).collect()
}

#[test]
fn runs_are_found_by_what_they_are() {
    let dir = out();
    some(dir.path());
    assert_eq!(days(dir.path(), ""), [6, 5, 4, 3, 2, 1]);
    assert_eq!(days(dir.path(), "list"), [6, 5, 4, 3, 2, 1]);
    assert_eq!(days(dir.path(), "--measurement ttcp"), [5, 3, 1]);
    assert_eq!(days(dir.path(), "--host host-b"), [3]);
    assert_eq!(days(dir.path(), "--verdict void"), [5, 2]);
    assert_eq!(days(dir.path(), "--verdict VOID --verdict degraded --measurement ttcp"), [5, 3]);
    assert_eq!(days(dir.path(), "--since 2026-10-05"), [6, 5]);
    assert_eq!(days(dir.path(), "--until 2026-10-02"), [2, 1]);
    assert_eq!(days(dir.path(), "--until 2026-10-02T12:00:00Z"), [1]);
    assert_eq!(days(dir.path(), "--kernel 6.12 --limit 2"), [6, 5]);
    assert_eq!(days(dir.path(), "--kernel 6.1"), [0; 0]);
    assert_eq!(
        in_runs(dir.path(), "tag last~1 base").out,
        format!("{}: base\n", runs(dir.path())[4].display())
    );
    assert_eq!(days(dir.path(), "--tag base"), [5]);
}

#[test]
fn a_list_fits_eighty_columns_and_steers_no_terminal() {
    let dir = out();
    some(dir.path());
    put(dir.path(), 9, "ttcp", |r| {
        r.environment.host = Some("\x1b]0;pwned\x07a-host-with-a-very-long-name".into());
        r.environment.kernel = "\x1b[31m6.99".into();
    });
    fs::create_dir(dir.path().join("evil\x1b[2J\nname")).unwrap();
    let long = "a".repeat(90);
    assert_eq!(in_runs(dir.path(), &format!("tag last base {long}")).status, 0);
    let listed = run(netfathom("runs --out").arg(dir.path()).env("COLUMNS", "80")).quietly();
    assert!(!listed.out.chars().any(|c| c.is_control() && c != '\n'), "{:?}", listed.out);
    for line in listed.out.lines() {
        assert!(line.chars().count() <= 80 || line.contains(&long), "{line}");
    }
    listed.shows(&["damaged: it is cut off", "not runs, left alone", "photos", "base"]);
}

#[test]
fn a_limit_says_what_it_leaves_out() {
    let dir = out();
    some(dir.path());
    in_runs(dir.path(), "--limit 2").shows(&["4 more, older: --limit 0 lists all 6"]);
    assert!(!in_runs(dir.path(), "--limit 0").out.contains("more, older"));
    in_runs(dir.path(), "--verdict void").shows(&["1 without a readable record cannot be matched"]);
    in_runs(dir.path(), "--host elsewhere").shows(&["that match"]);
}

#[test]
fn a_run_is_shown_and_drawn_by_any_of_its_names() {
    let dir = out();
    let all = some(dir.path());
    in_runs(dir.path(), "tag 20261003 tuned/irq");
    for name in ["tuned/irq", "last~3", "20261003", "00000003", all[2].to_str().unwrap()] {
        let shown = in_runs(dir.path(), &format!("show {name}")).quietly();
        assert!(shown.out.starts_with("netfathom ttcp  20261003T120000Z-ttcp-00000003"), "{shown}");
        shown.shows(&["DEGRADED", "host-b", "tags        tuned/irq", "record.json", "tags.json"]);
        let drawn = run(&mut netfathom_to(dir.path(), &format!("report {name} -v")));
        drawn.shows(&["20261003T120000Z-ttcp-00000003"]);
    }
    let output: Value = in_runs(dir.path(), "show tuned/irq --json").json();
    assert_eq!(output["run"]["head"]["verdict"], "DEGRADED");
    assert!(output["answer"].as_str().is_some_and(|a| !a.is_empty()));
    assert!(in_runs(dir.path(), "show 20261004").err.contains("is damaged at line 1"));
    assert!(in_runs(dir.path(), "show nobody").err.contains("no run in"));
    assert!(in_runs(dir.path(), "show 202610").err.contains("is 6 runs"));
}

#[test]
fn a_run_is_named_by_its_record_from_within_its_directory() {
    let dir = out();
    let within = some(dir.path()).swap_remove(2);
    let runs = |args: &str| netfathom(&format!("runs {args}"));
    let shown = run(runs("show record.json").current_dir(&within)).exited(0);
    shown.shows(&["netfathom ttcp  20261003T120000Z-ttcp-00000003"]);
    let tagged = run(runs("tag record.json here --out ..").current_dir(&within)).exited(0);
    assert!(tagged.out.ends_with("20261003T120000Z-ttcp-00000003: here\n"), "{tagged}");
    let elsewhere = ["record.json is not in runs: name its directory with --out "];
    refused_for(runs("tag record.json here").current_dir(&within), 1, &elsewhere);
    fs::copy(within.join("record.json"), dir.path().join("copy.json")).unwrap();
    for name in ["copy.json", "./copy.json"] {
        let why = format!("{name} is a file, and not a run: ");
        refused_for(runs(&format!("show {name}")).current_dir(dir.path()), 1, &[&why]);
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let dir = out();
    some(dir.path());
    let wrong = |args: &str| refused(netfathom(&format!("runs {args} --out")).arg(dir.path()), 2);
    assert!(wrong("--since yesterday").contains("is no time: write how long ago"));
    assert!(wrong("--measurement telepathy").contains("possible values"));
    assert!(wrong("prune").contains("--keep"));
    assert!(wrong("remove").contains("RUN"));
    assert!(wrong("tag last").contains("NAME"));
    assert!(wrong("--host host-a show last").contains("options of the list"));
    let failed = |args: &str| refused(netfathom(&format!("runs {args} --out")).arg(dir.path()), 1);
    assert!(failed("tag last ../up").contains("cannot be a tag"));
    assert!(failed("tag nobody base").contains("no run in"));
    let why = "there is no directory /nonexistent/runs";
    refused_for(&mut netfathom("runs --out /nonexistent/runs"), 1, &[why]);
}

#[test]
fn only_what_is_named_is_removed() {
    let (dir, elsewhere) = (out(), out());
    let all = some(dir.path());
    let outside = put(elsewhere.path(), 7, "join", |_| ());
    symlink(&outside, dir.path().join("20261008T000000Z-join-1")).unwrap();
    let why = "there is no terminal to ask on; add --yes";
    in_runs(dir.path(), "remove last").exited(1).explains(&[why]);
    for name in ["photos", "20261008", "nobody", outside.to_str().unwrap(), "..", "/"] {
        in_runs(dir.path(), &format!("remove last --yes {name}")).exited(1);
        assert!(all[5].exists(), "{name}: a wrong name removes nothing of the others");
    }
    // As a shell completes it, and one that is damaged.
    let completed = format!("{}/", all[0].display());
    let gone = in_runs(dir.path(), &format!("remove last {completed} 20261004 --yes"));
    gone.exited(0).shows(&["removed 3 runs"]);
    assert_eq!(days(dir.path(), ""), [5, 3, 2]);
    assert!(outside.join("record.json").exists() && dir.path().join("photos").exists());
}

#[test]
fn pruning_takes_what_it_says_and_spares_tags() {
    let dir = out();
    some(dir.path());
    in_runs(dir.path(), "tag 20261002 base");
    let dry = in_runs(dir.path(), "prune --void --dry-run");
    dry.exited(0).shows(&["would remove 1 run of ", "20261005", "spared: 1 tagged"]);
    assert_eq!(days(dir.path(), ""), [6, 5, 4, 3, 2, 1]);
    assert_eq!(in_runs(dir.path(), "prune --void").status, 1);
    assert_eq!(in_runs(dir.path(), "prune --void --yes").status, 0);
    assert_eq!(days(dir.path(), ""), [6, 4, 3, 2, 1]);
    // Among the runs of ttcp, the newest one stays.
    assert_eq!(in_runs(dir.path(), "prune --keep 1 --measurement ttcp --yes").status, 0);
    assert_eq!(days(dir.path(), ""), [6, 4, 3, 2]);
    let unread = in_runs(dir.path(), "prune --older-than 2026-10-06 --tagged --yes");
    unread.shows(&["1 without a readable record: remove them by name"]);
    assert_eq!(days(dir.path(), ""), [6, 4]);
    assert_eq!(
        in_runs(dir.path(), "prune --older-than 1000000d --yes").out,
        "spared: 1 without a readable record: remove them by name\nnothing to remove\n"
    );
}

#[test]
fn who_sits_at_a_terminal_is_asked() {
    needs_programs!(["script"], "bsdutils");
    let dir = out();
    let all = some(dir.path());
    let asked = |answer: &str| {
        let remove = format!("\\\"$0\\\" runs remove last --out {}", dir.path().display());
        run(&mut shell(&format!("echo {answer} | script -qec \"{remove}\" /dev/null")))
    };
    asked("n").shows(&["remove 1 run of ", "nothing was removed"]);
    assert!(all[5].exists());
    asked("y").shows(&["removed 1 run"]);
    assert!(!all[5].exists());
}
