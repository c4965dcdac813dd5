//! Every command on kernels that people have, in emulated machines. Only right and wrong are judged: all times there
//! are those of the emulator, so that a run may well be VOID.

use std::fs;
use std::path::Path;
use std::time::Duration;

use netfathom_testkit::emulator::{Image, Kernel, boot, missing_program};
use netfathom_testkit::skipped;
use serde_json::Value;
use tempfile::TempDir;

/// Far beyond what the commands take: a machine that is still on hangs.
const LIMIT: Duration = Duration::from_secs(1500);
/// Short enough for an emulator.
const STACK: &str = "--json --profile constant:1k/200ms --trials 1 --controls 0 --witnesses 0";
const LOAD: &str = "load send --json --lab --profile constant:1k/200ms --trials 1";
const PINGPONG: &str = "message pingpong --json --sizes 64 --cpus same --least 20ms --trials 1 --no-remedies";
const COST: &str = "cost --json --least-blocks 2 --blocks 2 --time 1s";

/// What is run, by the name of what it leaves. A receiver of ttcp runs beside its sender.
fn commands() -> Vec<(String, String)> {
    let own = [
        ("host", "host --json".to_owned()),
        ("stack-both", format!("stack {STACK}")),
        ("stack-tx", format!("stack tx --tap bpf {STACK}")),
        ("stack-loopback", format!("stack --loopback {STACK}")),
        ("stack-timestamping", format!("stack --tap timestamping {STACK}")),
        ("stack-pcap", format!("stack --tap pcap {STACK}")),
        ("message-tcp", format!("{PINGPONG} --layers write --placement UU,KK")),
        ("message-udp", format!("{PINGPONG} --over udp --placement UU,KK")),
        ("ttcp", "ttcp -t --json -s -n 64 -p 5013 127.0.0.1".to_owned()),
        ("cost-self", format!("{COST} --self -- ls /")),
        ("cost-sequence", format!("{COST} --benchmark x=ls --sequence auto --nothing --no-controls")),
        ("capacity", "capacity --json --hold 50ms --trials 1 --engine send --workers 1".to_owned()),
        ("reverse", "reverse --json --time 500ms --trials 1 --inbound 1k..2k --variant ignored".to_owned()),
    ];
    let engines = ["send", "sendmmsg", "gso", "af_xdp", "xdp"];
    let loads = engines.map(|engine| (format!("load-{engine}"), format!("{LOAD} --engine {engine}")));
    own.into_iter().map(|(name, command)| (name.to_owned(), command)).chain(loads).collect()
}

fn script() -> String {
    let one = |(name, command): (String, String)| {
        let before =
            if name == "ttcp" { "netfathom ttcp -r -s -p 5013 >/dev/null 2>&1 & sleep 1\n" } else { "" };
        format!(
            "{before}netfathom {command} >/out/{name}.json 2>/out/{name}.err\n\
             echo $? >/out/{name}.status; echo \"{name}: $(cat /out/{name}.status), $(cut -d. -f1 /proc/uptime) s\"\n"
        )
    };
    "cd /tmp\n".to_owned() + &commands().into_iter().map(one).collect::<String>()
}

/// What the commands left on that kernel; `None` after saying why there is nothing.
fn runs(test: &str, series: &str) -> Option<Runs> {
    if let Some(package) = missing_program() {
        skipped(test, &format!("needs the Debian package {package}"));
        return None;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let kernel = match Kernel::of_debian(series, &cache) {
        Ok(kernel) => kernel,
        Err(why) => {
            skipped(test, &why);
            return None;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_netfathom"));
    let image = Image::make(&kernel, &[program], &script(), folder.path()).unwrap();
    let left = boot(&kernel, &image, folder.path(), LIMIT).unwrap();
    println!("{}", left.console);
    Some(Runs { folder })
}

struct Runs {
    folder: TempDir,
}

impl Runs {
    fn text(&self, name: &str, what: &str) -> String {
        fs::read_to_string(self.folder.path().join(format!("out/{name}.{what}"))).unwrap_or_default()
    }

    /// What a command said on its standard output.
    fn json(&self, name: &str) -> Value {
        let text = self.text(name, "json");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {}", self.text(name, "err")))
    }

    fn result(&self, name: &str) -> Value {
        self.json(name)["measurement"].clone()
    }

    /// Every command measured, and accounts for every message.
    fn check_all(&self) {
        let wrong: Vec<String> = commands().iter().filter_map(|(name, _)| self.wrong(name)).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn wrong(&self, name: &str) -> Option<String> {
        let (status, said) = (self.text(name, "status"), self.text(name, "err"));
        if !["0", "3"].contains(&status.trim()) || said.contains("netfathom: cannot") {
            return Some(format!("{name}: exit status {}: {said}", status.trim()));
        }
        let gaps: Vec<i64> = accountings(&self.json(name)).into_iter().filter(|&gap| gap != 0).collect();
        (!gaps.is_empty()).then(|| format!("{name}: messages that are not accounted for: {gaps:?}"))
    }

    fn row(&self, name: &str) -> Value {
        let groups = self.json("host")["groups"].as_array().unwrap().clone();
        let rows = groups.iter().flat_map(|group| group["rows"].as_array().unwrap());
        rows.into_iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}")).clone()
    }
}

/// Messages sent less those whose end is known, of each accounting in a record.
fn accountings(value: &Value) -> Vec<i64> {
    let below = |value: &Value| accountings(value);
    match value {
        Value::Array(values) => values.iter().flat_map(below).collect(),
        Value::Object(fields) => {
            let of_fields: Vec<i64> = fields.values().flat_map(below).collect();
            let (Some(sent), Some(fates)) =
                (fields.get("sent"), fields.get("fates").and_then(Value::as_array))
            else {
                return of_fields;
            };
            let ended: i64 = fates.iter().map(|fate| fate["count"].as_i64().unwrap()).sum();
            [of_fields, vec![sent.as_i64().unwrap() - ended]].concat()
        }
        _ => Vec::new(),
    }
}

/// What holds from Linux 6.1 on: sending, engines and ends past the stack, system calls of a program.
fn check_what_6_1_has(runs: &Runs) {
    runs.check_all();
    for name in ["XDP, native", "AF_XDP socket", "socket verdict", "tp_btf", "raw_tp"] {
        assert_eq!(runs.row(name)["status"], "works", "{name}: {:?}", runs.row(name));
    }
    assert_eq!(runs.result("stack-tx")["tap"], "bpf");
    assert_eq!(runs.result("reverse")["tap"], "bpf");
    for engine in ["af_xdp", "xdp"] {
        let trials = runs.result(&format!("load-{engine}"));
        assert!(!accountings(&trials).is_empty(), "{engine}: {trials}");
    }
    let cells = runs.result("message-udp")["cells"].as_array().unwrap().clone();
    let of_driver = |cell: &Value| cell["layer"]["form"] == "xdp" && cell["placement"] == "KK";
    assert!(cells.iter().any(of_driver), "{cells:?}");
    let calls = runs.result("cost-self")["benchmarks"][0]["calls"].as_array().map(Vec::len);
    assert!(calls.is_some_and(|count| count > 3), "{calls:?}");
    assert_eq!(runs.result("cost-sequence")["benchmarks"][0]["means"], "tracepoints");
}

#[test]
fn linux_6_1_has_all_but_the_stages_of_receiving() {
    let Some(runs) = runs("kernels::linux_6_1_has_all_but_the_stages_of_receiving", "6.1") else { return };
    check_what_6_1_has(&runs);
    assert_eq!(runs.result("stack-both")["tap"], "timestamping");
    let row = runs.row("bpf");
    assert_eq!(row["status"], "limited");
    let missing = "this kernel has no tracepoint sk_data_ready, sock_recv_length (Linux 6.3)";
    assert!(row["reason"].as_str().unwrap().contains(missing), "{row}");
    assert!(!row["remedy"].as_str().unwrap().contains("netfathom host"), "{row}");
}

#[test]
fn linux_6_12_has_every_stage() {
    let Some(runs) = runs("kernels::linux_6_12_has_every_stage", "6.12") else { return };
    check_what_6_1_has(&runs);
    assert_eq!(runs.row("bpf")["status"], "works");
    let both = runs.result("stack-both");
    assert_eq!(both["tap"], "bpf");
    let ways = both["trials"][0]["paths"].as_array().map(Vec::len);
    assert_eq!(ways, Some(2), "{both}");
}
