//! What the taps, `watch` and a kernel without BTF are held against.

use std::collections::BTreeMap;

use serde_json::Value;

use super::commands::{Extent, LINE, LINES, WITHOUT_BTF};
use super::judge::{DELAY_NS, has_functions, lacks};
use super::seen::Seen;

/// The fentry tap and the tracepoints each time every message that was sent, both ways, and find a planted delay: in parts
/// that come to the whole stage.
pub fn taps_agree(seen: &Seen) -> Vec<String> {
    if !has_functions(seen) {
        return Vec::new();
    }
    // A machine that stands still beyond the load's end sends fewer than planned.
    let untimed = |name: &str| {
        let trial = &seen.result(name)["trials"][0];
        let timed: Vec<&Value> =
            trial["paths"].as_array().into_iter().flatten().map(|way| &way["total"]["n"]).collect();
        let sent = &trial["load"]["sent"];
        let is_whole = sent.as_u64() > Some(0) && timed == [sent; 2];
        (!is_whole).then(|| format!("{name}: {timed:?} messages timed, {sent} sent"))
    };
    let mut wrong = Vec::new();
    let cases: [(&str, &str, &[&str]); 2] =
        [("delayed-tx", "socket", &["send", "output"]), ("delayed-rx", "protocol", &["input", "enqueue"])];
    for (case, whole, parts) in cases {
        let (bpf, fentry) = (format!("stack-{case}"), format!("stack-fentry-{case}"));
        if !seen.was_run(&fentry) || lacks(seen, &bpf).is_some() {
            continue;
        }
        wrong.extend([&bpf, &fentry].into_iter().filter_map(|name| untimed(name)));
        let sum: f64 = parts.iter().filter_map(|part| seen.median_ns(&fentry, part)).sum();
        let whole = seen.median_ns(&bpf, whole);
        if !whole.is_some_and(|whole| (sum - whole).abs() < DELAY_NS / 2.0) {
            wrong.push(format!("{case}: {sum} ns in {parts:?}, {whole:?} ns whole"));
        }
    }
    wrong
}

/// Every byte that the client sent was read, and sent back, in messages with stages that add up.
pub fn watched(seen: &Seen) -> Vec<String> {
    let sent = LINES * (LINE.len() as u64 + 1);
    let mut wrong = Vec::new();
    for (name, ways) in [("watch-rx", "rx"), ("watch-tx", "tx"), ("watch-both", "rx tx")] {
        if !seen.was_run(name) || lacks(seen, name).is_some() {
            continue;
        }
        let result = seen.result(name);
        let (received, gone) = (&result["account"], &result["send"]);
        let timed = [received, &gone["account"]].map(|account| account["timed"].as_u64().unwrap_or(0));
        // Those that waited for netfathom itself, as it writes its record, are counted apart.
        let slow = |count: &str| result["slow"][count].as_u64().unwrap_or(0);
        let answers = slow("applications") + slow("applications_by_netfathom");
        if slow("kept") + slow("by_netfathom") != timed.iter().sum::<u64>() + answers {
            wrong.push(format!("{name}: {} of {timed:?}", result["slow"]));
        }
        let rx = received["bytes_read"] == sent && adds_up(&result, received, 1);
        let tx = gone["account"]["bytes_timed"] == sent && adds_up(gone, &gone["account"], 0);
        if (ways.contains("rx") && !rx) || (ways.contains("tx") && !tx) {
            wrong.push(format!("{name}: not all of {sent} bytes: {received}, {gone}"));
        }
    }
    wrong
}

/// All messages but the first are timed, if its reader was not known before it; their stages are the total.
fn adds_up(way: &Value, account: &Value, first: u64) -> bool {
    let number = |value: &Value| value.as_i64().unwrap_or(-1);
    let stages: i64 =
        way["stages"].as_array().into_iter().flatten().map(|stage| number(&stage["times"]["sum_ns"])).sum();
    let timed = number(&account["timed"]);
    timed > 0
        && timed + number(&account["merged"]) + first as i64 == number(&account["seen"])
        && number(&way["total"]["n"]) == timed
        && stages == number(&way["total"]["sum_ns"])
}

/// Without BTF what needs it says so, and what to do.
pub fn without_btf(seen: &Seen, cells: &mut BTreeMap<String, String>) -> Vec<String> {
    if seen.extent == Extent::Short {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (name, _) in WITHOUT_BTF {
        let file = format!("without-btf-{name}");
        let (status, text) = (seen.status(&file), seen.text(&file, "err"));
        let row = Seen::row_of(&seen.json(&file), "BTF");
        let named = match name {
            "host" => status == "0" && row["status"] == "missing" && row["remedy"].is_string(),
            _ => {
                status == "1"
                    && text.contains("this kernel has no BTF (")
                    && text.contains("which distributions' kernels have")
            }
        };
        if !named {
            wrong.push(format!("without BTF: {name}: {status}: {row} {text}"));
        }
    }
    let cell = if wrong.is_empty() { "named" } else { "fails" };
    cells.insert(super::table::WITHOUT_BTF.into(), cell.into());
    wrong
}
