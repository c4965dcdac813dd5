//! docs/kernels.md: what each kernel was seen to do.

use std::fmt::Write;

use super::commands::runs;
use super::judge::Judged;
use super::seen::Seen;

/// The row of the tests of crates/bpf.
pub const TESTS: &str = "tests of crates/bpf";

const HEAD: &str = "# Kernels and architectures

`make test-kernels` boots each of these kernels in an emulator, runs the commands below, and writes this page. It judges what
is right, never how fast: accounting that closes, stages that add up, planted delays found in their stage. *needs* names the version of
Linux that brought what a command uses. The tests of `crates/bpf` run on amd64 from 5.18 on: emulated arm64 takes them too long.

";

pub fn table(seen: &[Seen], judged: &[Judged]) -> String {
    let mut text = HEAD.to_owned();
    let row = |text: &mut String, name: &str, cells: Vec<String>| {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    let of_each = |of: &dyn Fn(&Seen) -> String| seen.iter().map(of).collect::<Vec<_>>();
    row(&mut text, "", of_each(&|seen| seen.wanted.name.clone()));
    row(&mut text, "---", of_each(&|_| "---".into()));
    row(&mut text, "release", of_each(&|seen| format!("`{}`", seen.release)));
    row(&mut text, "architecture", of_each(&|seen| seen.wanted.machine.debian().into()));
    row(&mut text, "stages that the bpf tap lacks", of_each(&lacks));
    for name in runs().into_iter().map(|run| run.name).chain([TESTS.to_owned()]) {
        let cell = |judged: &Judged| judged.cells.get(&name).cloned().unwrap_or_else(|| "not run".into());
        row(&mut text, &name, judged.iter().map(cell).collect());
    }
    text += "\nThe commands:\n\n";
    for run in runs() {
        let _ = writeln!(text, "- {}: `netfathom {}`", run.name, run.command);
    }
    text
}

/// The stages that the record says this kernel lacks.
fn lacks(seen: &Seen) -> String {
    let result = seen.result("stack-both");
    let left_out = result["left_out"].as_array().into_iter().flatten();
    let stages: Vec<&str> =
        left_out.filter_map(|left_out| left_out["what"].as_str()?.strip_prefix("stage ")).collect();
    if stages.is_empty() { "none".into() } else { stages.join(", ") }
}
