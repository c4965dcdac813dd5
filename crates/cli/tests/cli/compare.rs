//! `netfathom compare`: runs that are there, runs that are taken, and what is none.

mod change;
mod equal_runs;

use std::fs;
use std::path::{Path, PathBuf};

use netfathom_model::record::{Measurement, Record};
use netfathom_results::store;
use serde_json::Value;

use crate::child::{Ended, end, fixture, netfathom, out, run, signal, start, until_holds};
use crate::refusals::{refused, refused_for};

/// Short, and nothing in it can be VOID: it goes as fast as it goes. Several such runs start within one second, and
/// all have the same seed.
const SHORT: &str = "message pingpong --loopback --over unix --sizes 64 --layers write --cpu-pairs same --trials 2 \
                     --messages 100 --min-time 1ms --max-time 200ms --seed 7";

/// A copy of a record with some thing changed.
fn changed(to: &Path, from: &str, change: impl FnOnce(&mut Record)) -> PathBuf {
    let mut record = store::read(&fixture(from)).unwrap();
    change(&mut record);
    fs::write(to, serde_json::to_vec(&record).unwrap()).unwrap();
    to.to_owned()
}

/// All times of a stack run, multiplied.
fn slower(factor: f64) -> impl FnOnce(&mut Record) {
    move |record| {
        let Measurement::Stack(stack) = &mut record.measurement else { panic!() };
        for path in stack.trials.iter_mut().flat_map(|trial| &mut trial.paths) {
            path.total.mean_ns *= factor;
        }
    }
}

fn compare(paths: &[&Path], options: &str) -> Ended {
    run(netfathom("compare").args(paths).args(options.split_whitespace()).env("COLUMNS", "80"))
}

#[test]
fn a_planted_difference_is_found_and_fails_the_threshold() {
    let dir = out();
    // The fixture's three trials differ by less than a tenth.
    let same = changed(&dir.path().join("same.json"), "stack", slower(1.0001));
    let slow = changed(&dir.path().join("slow.json"), "stack", slower(3.0));
    let before = fixture("stack");
    let gate = "--fail-if tx.mean>5%";
    compare(&[&before, &slow], gate).exited(4).shows(&["worse", "tx.mean>5%: FAIL"]);
    // The other way it is better, which no threshold above is about.
    compare(&[&slow, &before], gate).exited(0).shows(&["better"]);
    compare(&[&before, &same], gate).exited(0).shows(&["not significant"]);
    // Three trials do not tell a thousandth: strict does not let that pass.
    assert_eq!(compare(&[&before, &same], "--fail-if tx.mean>0.1%").status, 0);
    assert_eq!(compare(&[&before, &same], "--strict --fail-if tx.mean>0.1%").status, 6);
    // What is shown beside it comes first.
    let both = "--strict --fail-if tx.mean>5% --fail-if rx.mean>0.1%";
    assert_eq!(compare(&[&before, &slow], both).status, 4);
}

#[test]
fn several_runs_are_each_compared_with_the_first() {
    let dir = out();
    let b = changed(&dir.path().join("b.json"), "stack", slower(3.0));
    let c = changed(&dir.path().join("c.json"), "stack", slower(0.3));
    let value: Value = compare(&[&fixture("stack"), &b, &c], "--json").json();
    let outcomes: Vec<&str> = value["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let quantities = one["quantities"].as_array().unwrap();
            let mean = quantities.iter().find(|q| q["name"] == "tx.mean").unwrap();
            mean["outcome"].as_str().unwrap()
        })
        .collect();
    assert_eq!(outcomes, ["worse", "better"]);
}

#[test]
fn pictures_go_where_they_are_sent_and_never_over_a_record() {
    let dir = out();
    let a = changed(&dir.path().join("a.json"), "stack", |_| {});
    let b = changed(&dir.path().join("b.json"), "stack", slower(2.0));
    let page = dir.path().join("page.html");
    compare(&[&a, &b], &format!("--format html --output {}", page.display())).exited(0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert!(compare(&[&a, &b], "--format html --output -").out.starts_with("<!doctype html>"));
    let markdown = compare(&[&a, &b], "--format md").out;
    assert!(markdown.starts_with("**WORSE**") && markdown.contains("netfathom compare"), "{markdown}");
    let before = fs::read(&b).unwrap();
    let over = compare(&[&a, &b], &format!("--format md --output {}", b.display()));
    assert_eq!((over.status, fs::read(&b).unwrap() == before), (1, true), "{over}");
    assert!(over.err.contains("choose another file"), "{over}");
    let nowhere = compare(&[&a, &b], "--format md --output /nonexistent/x.md");
    nowhere.exited(1).explains(&["choose another place"]);
}

#[test]
fn what_cannot_be_compared() {
    let dir = out();
    let at = |name: &str| dir.path().join(name);
    let whole = fs::read_to_string(fixture("stack")).unwrap();
    fs::write(at("truncated.json"), &whole[..1000]).unwrap();
    fs::write(at("foreign.json"), r#"{"a":1}"#).unwrap();
    fs::write(at("future.json"), whole.replacen(r#""schema_version":1"#, r#""schema_version":9"#, 1))
        .unwrap();
    let b = changed(&at("b.json"), "stack", slower(2.0));
    let a = fixture("stack");
    let mut reply: Vec<String> = Vec::new();
    for other in ["missing.json", "truncated.json", "foreign.json", "future.json"] {
        reply.push(refused(netfathom("compare").arg(&a).arg(at(other)), 1));
    }
    reply.push(refused(netfathom("compare").arg(&a).arg(&a), 2));
    for wrong in ["--fail-if nonsense", "--fail-if tx.mean>=5%", "--fail-if tx.mean<5%", "--format html"] {
        reply.push(refused(netfathom("compare").arg(&a).arg(&b).args(wrong.split(' ')), 2));
    }
    // These are known for wrong only when the quantities are.
    for late in ["--fail-if tx.maen>5%", "--fail-if tx.mean>5"] {
        reply.push(refused(netfathom("compare").arg(&a).arg(&b).args(late.split(' ')), 2));
    }
    reply.push(refused(&mut netfathom("compare"), 2));
    reply.push(refused(netfathom("compare").arg(&a), 2));
    reply.push(refused(netfathom("compare --pairs").args([&a, &b, &b]), 2));
    reply.push(refused(netfathom("compare --run").args(["report x", "--", "stack"]), 2));
    let reply = reply.concat().replace(dir.path().to_str().unwrap(), "DIR");
    let reply = reply.replace(a.to_str().unwrap(), "STACK");
    insta::assert_snapshot!(reply);
    // Of another measurement and VOID: on standard output, as a result.
    let void = changed(&at("void.json"), "stack", |record| {
        slower(2.0)(record);
        record.verdict.lower(netfathom_model::verdict::Level::Void, "a gap");
    });
    for other in [fixture("load"), void] {
        compare(&[&a, &other], "--fail-if tx.mean>5%").exited(3).shows(&["NOT COMPARED"]);
        // A mistake in a threshold is one all the same.
        let misspelled = compare(&[&a, &other], "--fail-if tx.maen>5%");
        assert_eq!((misspelled.status, misspelled.out.as_str()), (2, ""), "{misspelled}");
        misspelled.explains(&["did you mean tx.mean"]);
    }
}

#[test]
fn both_are_interleaved_and_kept() {
    let dir = out();
    let found = run(netfathom("compare --rounds 3 --json --out")
        .arg(dir.path())
        .args(["--run", SHORT, "--"])
        .args(SHORT.split_whitespace()));
    let found = found.measured();
    let value: Value = found.json();
    let one = &value["comparisons"][0];
    assert_eq!(one["design"], "pairs");
    for side in ["a", "b"] {
        let heads = one[side].as_array().unwrap();
        assert_eq!(heads.len(), 3);
        for head in heads {
            let record = store::read(Path::new(head["name"].as_str().unwrap())).unwrap();
            let Measurement::Message(message) = record.measurement else { panic!("another measurement") };
            assert_eq!(message.plan.seed, 7);
        }
    }
    // A B, B A, A B.
    let sides: Vec<&str> =
        found.err.lines().filter(|l| l.starts_with("round ")).map(|l| &l[14..15]).collect();
    assert_eq!(sides, ["A", "B", "B", "A", "A", "B"], "{found}");
    let again = found.err.split("netfathom ").last().unwrap().replace('\\', "");
    let repeated = run(netfathom(&again).arg("--json"));
    assert_eq!(repeated.out, found.out, "{repeated}");
}

#[test]
fn a_failed_run_is_reported_with_its_output() {
    let dir = out();
    let found = run(netfathom("compare --rounds 2 --out").arg(dir.path()).args([
        "--run",
        SHORT,
        "--",
        "cost --nothing --benchmark b='echo none >&2; exit 7'",
    ]));
    found.exited(1).explains(&["round 1, B: the run failed", "none"]);
}

#[test]
fn a_fault_of_b_is_known_before_a_was_run() {
    let dir = out();
    let mut command = netfathom("compare --out");
    command.arg(dir.path()).args(["--run", SHORT, "--", SHORT, "--rounds", "2"]);
    refused_for(&mut command, 2, &["the arguments of B: unexpected argument '--rounds' found"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A run of a command takes what `cost --time 5s` takes.
#[test]
fn commands_of_ones_own_are_compared_by_their_time() {
    let dir = out();
    let mut command = netfathom("compare --rounds 2 --json --out");
    command.arg(dir.path()).args(["--run", "sleep 0.01", "--run", "sleep 0.03"]);
    let value: Value = run(&mut command).json();
    let one = &value["comparisons"][0];
    let names = |side: &str| one[side].as_array().unwrap().iter().map(|head| head["name"].as_str().unwrap());
    let quantities = one["quantities"].as_array().unwrap().iter();
    let main: Vec<&Value> =
        quantities.filter(|quantity| quantity["main"] == true).map(|q| &q["name"]).collect();
    assert_eq!(main, ["command.time"], "{one}");
    for (side, least_ns) in [("a", 1e7), ("b", 3e7)] {
        assert_eq!(names(side).count(), 2, "{one}");
        for name in names(side) {
            let record = store::read(Path::new(name)).unwrap();
            let times = netfathom_results::quantity::of(&record.measurement);
            let [main] = times.iter().filter(|q| q.main).collect::<Vec<_>>()[..] else { panic!("{times:?}") };
            assert_eq!(main.name, "command.time");
            assert!(
                !main.trials.is_empty() && main.trials.iter().all(|ns| *ns >= least_ns),
                "{side}: {main:?}"
            );
        }
    }
}

#[test]
fn ctrl_c_ends_the_run_and_keeps_whole_rounds() {
    let dir = out();
    let child =
        start(netfathom("compare --rounds 1000 --out").arg(dir.path()).args(["--run", SHORT, "--", SHORT]));
    let whole = || {
        let runs = fs::read_dir(dir.path()).unwrap().flatten();
        runs.filter(|run| store::read(&run.path()).is_ok()).count()
    };
    until_holds("whole rounds", || whole() >= 6);
    signal("INT", &child);
    end(child).measured().shows(&["Main quantities"]);
}
