//! docs/kernels.md: what each kernel was seen to do.

use std::fmt::Write;

use netfathom_testkit::emulator::Machine;
use serde_json::Value;

use super::MADE_FOR;
use super::commands::{Extent, runs};
use super::judge::Judged;
use super::seen::{Seen, version};

/// The row of the tests of crates/bpf.
pub const TESTS: &str = "tests of crates/bpf";

/// The row of the fentry tap, and what those of its other commands begin with.
const FENTRY: &str = "stack-fentry";

/// The row of what is run with BTF hidden.
pub const WITHOUT_BTF: &str = "without BTF";
/// Of these Debian has no packages. They lie between kernels that were tried.
const UNTRIED: [&str; 3] = ["5.15", "6.6", "6.8"];

const HEAD: &str = "# Kernels and architectures

`make test-kernels` boots these kernels in an emulator, runs the [commands](#commands) below, and writes this page. It checks that the
accounting closes, that stages add up, that planted delays are found in their stage, and that the fentry tap agrees with the bpf tap. It never judges how fast
anything is.

- **works**: the command ran, and passed these checks.
- **needs 5.17**: this version of Linux brought what the command uses. The command names it.
- **no fentry**: the kernel attaches no programs to its functions. The command names that.
- **expected**: not run. It follows from the kernels on either side.
- **named**: without the kernel's types (BTF), each command named what is missing, and what to do.

5.10, 6.1 and the newest kernel of an architecture run every command. The others run one for each set of kernel programs. Only 5.10 and 6.1 of amd64
run `stack-quick`. The tests of `crates/bpf` run on amd64 from 5.18 on, without those that compare how long things take. `make test` boots the
amd64 kernels, too, with fewer commands.

";

const BETWEEN: &str = "
## Untried

Debian has no packages of 5.15, 6.6 and 6.8, so they were not booted. What is expected of them follows from the kernels on either
side. Each command without a row is expected to work on all three.

";

const PARTS: &str = "
## Parts of watch

`watch rx` omits what the kernel lacks. `watch tx`, `watch both` and `--unix` name the version that they need, and end.

| part | from Linux | requires |
| --- | --- | --- |
| received TCP messages, and who had the CPU | 5.17 | CONFIG_SCHED_INFO |
| softirqs and interrupts as what had the CPU | 5.17 | BTF with the variables of each CPU |
| received UDP messages; Unix sockets, with `application` | 6.3 | `sk_data_ready`, `sock_recv_length` |
| received packets that the kernel dropped, by reason | 6.11; before, most are not seen | `kfree_skb` with the receiving socket |
| sent messages, and dropped packets; `application` of TCP and UDP, `answer` | 6.16 | `tcp_sendmsg_locked` |
| stage `socket` of sent UDP messages | 6.16 | fentry |
";

const LIMITS: &str = "
## Limits

- Emulation shows what works, never how fast. An emulator on x86-64 gives arm64 the order of memory of x86-64.
- Linux 6.18 and 7.2 count a piece of a TCP stream that a BPF program drops as read twice (`sk_psock_verdict_apply` clears the parser's mark before
  `tcp_eat_skb` looks for it). Further packets then stay unread. The kernel's end of `message post` empties a piece before it drops it.

";

fn row(text: &mut String, name: &str, cells: &[String]) {
    let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
}

pub fn table(seen: &[Seen], judged: &[Judged]) -> String {
    let mut text = HEAD.to_owned();
    let of_each = |of: &dyn Fn(&Seen) -> String| seen.iter().map(of).collect::<Vec<_>>();
    row(&mut text, "", &of_each(&|seen| seen.wanted.name.clone()));
    row(&mut text, "---", &of_each(&|_| "---".into()));
    row(&mut text, "release", &of_each(&|seen| format!("`{}`", seen.release)));
    row(&mut text, "architecture", &of_each(&|seen| seen.wanted.machine.debian().into()));
    row(&mut text, STAGES, &of_each(&lacks));
    for name in rows() {
        let cell = |(of, judged_of): (&Seen, &Judged)| match judged_of.cells.get(&name) {
            Some(cell) => cell.clone(),
            None if name == TESTS => "not run".into(),
            // What attaches one program to a function attaches the others. Delays are programs of another kind.
            None if name.starts_with(FENTRY)
                && of.version() >= MADE_FOR
                && judged_of.cells.get(FENTRY).is_some_and(|cell| cell == "works") =>
            {
                "expected".into()
            }
            None => {
                between(seen, judged, &name, (of.wanted.machine, of.version())).unwrap_or("not run".into())
            }
        };
        row(&mut text, &name, &seen.iter().zip(judged).map(cell).collect::<Vec<_>>());
    }
    text += BETWEEN;
    row(&mut text, "amd64", &UNTRIED.map(str::to_owned));
    row(&mut text, "---", &UNTRIED.map(|_| "---".into()));
    row(&mut text, STAGES, &UNTRIED.map(|release| lacks_between(seen, judged, release)));
    for name in runs(Extent::Whole).into_iter().map(|run| run.name) {
        let cell = |release| between(seen, judged, &name, untried(release)).unwrap_or("unknown".into());
        let cells = UNTRIED.map(cell);
        if cells.iter().any(|cell| cell != "expected") {
            row(&mut text, &name, &cells);
        }
    }
    text += PARTS;
    text += LIMITS;
    text += "## Commands\n\n";
    for run in runs(Extent::Whole) {
        let _ = writeln!(text, "- {}: `netfathom {}`", run.name, run.command);
    }
    text
}

const STAGES: &str = "stages that the bpf tap lacks";

fn rows() -> impl Iterator<Item = String> {
    let beside = [WITHOUT_BTF.to_owned(), TESTS.to_owned()];
    runs(Extent::Whole).into_iter().map(|run| run.name).chain(beside)
}

/// A kernel that Debian has no package of.
fn untried(release: &str) -> (Machine, (u32, u32)) {
    (Machine::X86_64, version(release))
}

/// The kernels next before and after another one of its machine, of those that ran a command.
fn neighbors(
    seen: &[Seen],
    judged: &[Judged],
    name: &str,
    (machine, release): (Machine, (u32, u32)),
) -> [Option<usize>; 2] {
    let ran = |place: &usize| judged[*place].cells.contains_key(name);
    let all = || (0..seen.len()).filter(|&place| seen[place].wanted.machine == machine).filter(ran);
    let of = |place: &usize| seen[*place].version();
    let before = all().filter(|place| of(place) < release).max_by_key(of);
    [before, all().filter(|place| of(place) > release).min_by_key(of)]
}

/// What a command is expected to come to, by the kernels before and after.
fn between(seen: &[Seen], judged: &[Judged], name: &str, kernel: (Machine, (u32, u32))) -> Option<String> {
    let places = neighbors(seen, judged, name, kernel);
    let [before, after] = places.map(|place| Some(judged[place?].cells[name].as_str()));
    let needs = |cell: &str| cell.strip_prefix("needs ").map(|since| version(since) > kernel.1);
    match (before?, after) {
        // An older kernel that works has what it takes.
        ("works" | "named", _) => Some("expected".into()),
        (before, _) if needs(before) == Some(true) => Some(before.to_owned()),
        (before, Some("works")) if needs(before) == Some(false) => Some("expected".into()),
        _ => None,
    }
}

fn lacks_between(seen: &[Seen], judged: &[Judged], release: &str) -> String {
    let [Some(before), Some(after)] = neighbors(seen, judged, "stack-both", untried(release)) else {
        return "unknown".into();
    };
    if lacks(&seen[after]) != "none" {
        return "unknown".into();
    }
    let result = seen[before].result("stack-both");
    let is_later = |reason: &str| {
        let since = reason.split_once("(Linux ").map(|(_, since)| since);
        since.is_some_and(|since| version(since) > version(release))
    };
    let left_out = result["left_out"].as_array().cloned().unwrap_or_default();
    let later = left_out.iter().filter(|left_out| left_out["reason"].as_str().is_some_and(is_later));
    stages(later)
}

/// The stages that the record says this kernel lacks.
fn lacks(seen: &Seen) -> String {
    let result = seen.result("stack-both");
    stages(result["left_out"].as_array().into_iter().flatten())
}

fn stages<'a>(left_out: impl Iterator<Item = &'a Value>) -> String {
    let stages: Vec<&str> =
        left_out.filter_map(|left_out| left_out["what"].as_str()?.strip_prefix("stage ")).collect();
    if stages.is_empty() { "none".into() } else { stages.join(", ") }
}
