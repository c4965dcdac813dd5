//! What must hold on a kernel, and what a command comes to there.

use std::collections::BTreeMap;

use netfathom_testkit::emulator::Machine;
use serde_json::Value;

use super::checks::{taps_agree, watched, without_btf};
use super::commands::{FIRST, runs};
use super::seen::{Seen, version};

/// Planted on a message's way, ns.
pub const DELAY_NS: f64 = 1e6;

/// A verdict on one kernel.
#[derive(Default)]
pub struct Judged {
    /// What each command came to, by its name.
    pub cells: BTreeMap<String, String>,
    /// What is not as it must be.
    pub wrong: Vec<String>,
}

pub fn judge(seen: &Seen) -> Judged {
    let mut judged = Judged::default();
    for run in runs(seen.extent) {
        match cell(seen, &run.name) {
            Ok(cell) => drop(judged.cells.insert(run.name, cell)),
            Err(why) => {
                judged.wrong.push(format!("{} {}: {why}", seen.release, seen.wanted.machine.debian()));
                judged.cells.insert(run.name, "fails".into());
            }
        }
    }
    let checks = [
        hypervisor(seen),
        stages(seen),
        contention(seen),
        delays(seen),
        taps_agree(seen),
        watched(seen),
        without_btf(seen, &mut judged.cells),
        tests(seen, &mut judged.cells),
    ];
    let name = |why| format!("{} {}: {why}", seen.release, seen.wanted.machine.debian());
    judged.wrong.extend(checks.into_iter().flatten().map(name));
    judged
}

/// A command measured and accounts for every message, or names the version of Linux that it needs.
fn cell(seen: &Seen, name: &str) -> Result<String, String> {
    if let Some(since) = lacks(seen, name) {
        return Ok(format!("needs {since}"));
    }
    let (status, text) = (seen.status(name), seen.text(name, "err"));
    if name.starts_with("stack-fentry") && !has_functions(seen) {
        let refused = status == "1" && text.contains("attaches no program to its functions (fentry)");
        return if refused { Ok("no fentry".into()) } else { Err(format!("{name}: {status}: {text}")) };
    }
    if !["0", "3"].contains(&status.as_str()) || text.contains("netfathom: cannot") {
        return Err(format!("{name}: exit status {status}: {text}"));
    }
    let gaps: Vec<i64> = accountings(&seen.json(name)).into_iter().filter(|&gap| gap != 0).collect();
    if gaps.is_empty() { Ok("works".into()) } else { Err(format!("{name}: not accounted for: {gaps:?}")) }
}

/// The version of Linux that the command asked for, later than this one.
pub fn lacks(seen: &Seen, name: &str) -> Option<String> {
    let text = seen.text(name, "err");
    needs(&text).filter(|since| version(since) > seen.version()).map(str::to_owned)
}

/// The latest version in `needs Linux 5.18`, or `this kernel has no tracepoint a (Linux 6.16), b (Linux 6.3)`.
fn needs(text: &str) -> Option<&str> {
    let parts: Vec<&str> = text.split("Linux ").collect();
    let pairs = parts.windows(2).filter(|pair| pair[0].ends_with("needs ") || pair[0].ends_with('('));
    let versions = pairs.filter_map(|pair| pair[1].split(|c: char| !c.is_ascii_digit() && c != '.').next());
    versions.map(|since| since.trim_end_matches('.')).max_by_key(|since| version(since))
}

/// Messages sent less those with a known end, of each accounting in a record.
fn accountings(value: &Value) -> Vec<i64> {
    match value {
        Value::Array(values) => values.iter().flat_map(accountings).collect(),
        Value::Object(fields) => {
            let of_fields: Vec<i64> = fields.values().flat_map(accountings).collect();
            let (Some(sent), Some(fates)) =
                (fields.get("sent"), fields.get("fates").and_then(Value::as_array))
            else {
                return of_fields;
            };
            let ended: i64 = fates.iter().map(|fate| fate["count"].as_i64().unwrap_or(0)).sum();
            [of_fields, vec![sent.as_i64().unwrap_or(0) - ended]].concat()
        }
        _ => Vec::new(),
    }
}

/// Whether the kernel lets programs attach to its functions.
pub fn has_functions(seen: &Seen) -> bool {
    seen.row("fentry")["status"] == "works"
}

/// A machine that is emulated is never taken for one of its own: on x86-64 its CPU says so, on arm64 its device tree.
fn hypervisor(seen: &Seen) -> Vec<String> {
    // By what records say a late tick is a pause.
    let record = seen.json("stack-both");
    let (row, virtualised) = (seen.row("hypervisor"), &record["environment"]["virtualised"]);
    let is_own = row["status"] != "limited" || *virtualised == false;
    is_own.then(|| format!("host: {row}, record: {virtualised}")).into_iter().collect()
}

/// Stages that the fentry tap parts, and what stands in their place.
const WHOLE: [&str; 3] = ["socket", "protocol", "read"];
const PARTS: [&str; 6] = ["send", "output", "input", "enqueue", "dequeue", "copy"];

/// The bpf tap and the fentry tap have every stage that the kernel can show; they add up to the whole.
fn stages(seen: &Seen) -> Vec<String> {
    let has_functions = has_functions(seen);
    let has_ready = seen.version() >= (6, 3) || has_functions;
    let mut wrong = Vec::new();
    // What users see first shows where a reader that sleeps is waited for.
    for stage in ["wakeup", "runqueue", "sockqueue"] {
        if seen.was_run(FIRST) && seen.median_ns(FIRST, stage).is_none() {
            wrong.push(format!("{FIRST}: no stage {stage}: {:?}", seen.stage(FIRST, stage)));
        }
    }
    // Every message waits for the call there.
    let slow = "stack-fentry-slow-reader";
    if has_functions && seen.was_run(slow) && seen.median_ns(slow, "entry").is_none() {
        wrong.push(format!("{slow}: no stage entry"));
    }
    let names = [FIRST, "stack-both", "stack-ipv6", "stack-loopback"];
    let of_bpf = names.iter().copied().filter(|name| seen.was_run(name)).map(|name| (name, "bpf"));
    for (name, tap) in of_bpf.chain(has_functions.then_some(("stack-fentry", "fentry"))) {
        let result = seen.result(name);
        if result["tap"] != tap {
            wrong.push(format!("{name}: tap {}, {}", result["tap"], result["left_out"]));
            continue;
        }
        let (here, absent): (&[_], &[_]) = if tap == "bpf" { (&WHOLE, &PARTS) } else { (&PARTS, &WHOLE) };
        wrong.extend(
            absent.iter().filter_map(|stage| seen.stage(name, stage)).map(|s| format!("{name}: {s}")),
        );
        for stage in ["device", "driver", "backlog", "return"].iter().chain(here) {
            let measured = seen.median_ns(name, stage).is_some();
            if measured != (*stage != "protocol" || has_ready) {
                wrong.push(format!("{name}: stage {stage}: {:?}", seen.stage(name, stage)));
            }
        }
        wrong.extend(open_sums(&result).into_iter().map(|sums| format!("{name}: {sums}")));
    }
    let (left_out, is_old) = (seen.result("stack-both")["left_out"].to_string(), seen.version() < (6, 3));
    for hook in ["sk_data_ready", "sock_recv_length"] {
        if left_out.contains(&format!("no tracepoint {hook} (Linux 6.3)")) != is_old {
            wrong.push(format!("the record does not name the hooks that stand in: {left_out}"));
        }
    }
    wrong
}

/// Both threads of a load are followed wherever the program can run. Each of two CPUs that one thread of the host emulates
/// stands still while the other has work, which no kernel there counts as stolen.
fn contention(seen: &Seen) -> Vec<String> {
    let trial = &seen.result("stack-both")["trials"][0];
    let threads: Vec<&Value> = trial["load"]["contention"].as_array().into_iter().flatten().collect();
    let followed: Vec<_> = threads.iter().map(|thread| thread["thread"].as_str().unwrap_or("?")).collect();
    let can = seen.version() >= (5, 17);
    if followed != if can { &["sender", "reader"][..] } else { &[] } {
        return vec![format!("stack-both: threads with known waits: {followed:?}")];
    }
    let stolen: u64 = threads.iter().filter_map(|thread| thread["stolen_ns"].as_u64()).sum();
    if can && seen.wanted.machine == Machine::X86_64 && stolen == 0 {
        return vec!["stack-both: the machine never stood still".into()];
    }
    Vec::new()
}

/// Ways with all of their messages in stages that do not add up to the total.
fn open_sums(result: &Value) -> Vec<String> {
    let trials = result["trials"].as_array().into_iter().flatten();
    let ways = trials.flat_map(|trial| trial["paths"].as_array().into_iter().flatten());
    let is_open = |way: &&Value| {
        let stages = way["stages"].as_array().into_iter().flatten();
        let below = |stage: &Value| ["driver", "backlog"].iter().any(|name| stage["stage"] == *name);
        let inside: Vec<&Value> = stages
            .filter(|stage| !below(stage))
            .map(|stage| &stage["times"]["measured"]["distribution"])
            .filter(|distribution| !distribution.is_null())
            .collect();
        let sum: i64 = inside.iter().filter_map(|d| d["sum_ns"].as_i64()).sum();
        let staged = inside.iter().filter_map(|d| d["n"].as_i64()).max();
        staged == way["total"]["n"].as_i64() && Some(sum) != way["total"]["sum_ns"].as_i64()
    };
    ways.filter(is_open).map(|way| format!("the stages do not add up: {way}")).collect()
}

/// What is planted shows in its stage, and not in those that the same processor passes beside it.
fn delays(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let has_protocol = seen.median_ns("stack-both", "protocol").is_some();
    // Without a hook at the socket's buffer what lies before it is waited for.
    let at_rx = if has_protocol { "protocol" } else { "wakeup" };
    let planted = [("stack-delayed-tx", "stack-both", "socket"), ("stack-delayed-rx", "stack-both", at_rx)];
    let parted = [
        ("stack-fentry-delayed-tx", "stack-fentry", "output"),
        ("stack-fentry-delayed-rx", "stack-fentry", "input"),
    ];
    let all = planted.into_iter().chain(parted.into_iter().filter(|_| has_functions(seen)));
    for (name, without, at) in all.filter(|(name, ..)| seen.was_run(name) && lacks(seen, name).is_none()) {
        if !seen.median_ns(name, at).is_some_and(|ns| ns >= DELAY_NS * 0.9) {
            wrong.push(format!("{name}: not in stage {at}: {:?}", seen.stage(name, at)));
        }
        let others = ["device", "return"].iter().chain(&WHOLE[..2]).chain(&PARTS);
        for stage in others.copied().filter(|&stage| stage != at) {
            let grown = seen.median_ns(name, stage).zip(seen.median_ns(without, stage));
            if grown.is_some_and(|(with, without)| with - without > DELAY_NS / 2.0) {
                wrong.push(format!("{name}: stage {stage} grew: {:?}", seen.stage(name, stage)));
            }
        }
    }
    let share =
        |stage| seen.stage("stack-slow-reader", stage).and_then(|s| s["share"].as_f64()).unwrap_or(0.0);
    let [waited, queued] = ["runqueue", "sockqueue"].map(share);
    if waited + queued < 0.8 || queued < 0.3 {
        let verdict = &seen.json("stack-slow-reader")["verdict"];
        wrong.push(format!("stack-slow-reader: sockqueue {queued}, runqueue {waited}: {verdict}"));
    }
    wrong
}

/// The kernel tests of crates/bpf, where they were handed over.
fn tests(seen: &Seen, cells: &mut BTreeMap<String, String>) -> Vec<String> {
    let text = seen.texts("tests", "txt").concat();
    if text.is_empty() {
        return Vec::new();
    }
    let (cell, wrong) = match seen.failed_tests() {
        Some(0) => match text.matches("skipped: ").count() {
            0 => ("pass".into(), None),
            skipped => (format!("pass, {skipped} skipped"), None),
        },
        Some(failed) => {
            let names =
                text.lines().filter_map(|line| line.strip_prefix("---- ")?.strip_suffix(" stdout ----"));
            let names = names.collect::<Vec<_>>().join("`, `");
            (format!("{failed} fail: `{names}`"), Some(format!("tests of crates/bpf: {text}")))
        }
        None => ("fail".into(), Some(format!("the tests of crates/bpf did not end: {text}"))),
    };
    cells.insert(super::table::TESTS.into(), cell);
    wrong.into_iter().collect()
}
