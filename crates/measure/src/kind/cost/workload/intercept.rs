//! Other observers of system calls, around or beside a benchmark: what interception costs is measured by theirs.

use std::env;
use std::process::Command;

use itertools::Itertools as _;
use netfathom_model::plan::Interception;

/// Today's forms of the two calls that the paper's module saw, open and execve. Ours sees the opens alone.
const OPENS_AND_EXECS: &str = "trace=execve,execveat,open,openat,openat2,creat";
/// Counts, so that nothing is written meanwhile.
const COUNT_OPENS: &str = "tracepoint:syscalls:sys_enter_openat { @opens = count(); }";
/// Who writes what it sees shall not be measured by the disk.
const NOWHERE: &str = "/dev/null";

/// The program of a way with its options, before the command; nothing where the way is one of ours.
fn before(way: Interception) -> &'static [&'static str] {
    match way {
        Interception::Tracepoints | Interception::Notification => &[],
        Interception::Strace => &["strace", "-f", "-o", NOWHERE, "-e", OPENS_AND_EXECS, "--"],
        Interception::StraceAll => &["strace", "-f", "-o", NOWHERE, "--"],
        Interception::PerfTrace => &["perf", "trace", "-o", NOWHERE, "--"],
        Interception::Bpftrace => &["bpftrace", "-q", "-e", COUNT_OPENS, "-c"],
    }
}

pub fn is_installed(way: Interception) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let there = |program| env::split_paths(&path).any(|directory| directory.join(program).is_file());
    before(way).first().is_none_or(there)
}

/// A command within such a program; as it is, if the way is one of ours.
pub fn wrapped(way: Interception, command: Command) -> Command {
    let [program, options @ ..] = before(way) else { return command };
    let mut outer = Command::new(program);
    outer.args(options);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    if way == Interception::Bpftrace {
        // Its -c takes a text, which it divides at spaces.
        outer.arg(words.map(|word| word.to_string_lossy()).join(" "));
    } else {
        outer.args(words);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stays_whole_within_another() {
        let mut tar = Command::new("tar");
        tar.args(["-cf", "/dev/zero", "."]).env("LC_ALL", "C").env_remove("GZIP");
        let strace = wrapped(Interception::Strace, tar);
        let words: Vec<_> = strace.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(
            (strace.get_program().to_str(), &words[6..]),
            (Some("strace"), &["tar", "-cf", "/dev/zero", "."].map(Into::into)[..])
        );
        assert_eq!(strace.get_envs().count(), 2);
        let ours = wrapped(Interception::Tracepoints, Command::new("tar"));
        assert_eq!(ours.get_program(), "tar");
    }
}
