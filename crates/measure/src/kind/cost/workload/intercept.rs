//! Other observers of system calls, around or beside a benchmark: what interception costs is measured by theirs.

use std::env;
use std::process::Command;

use netfathom_model::plan::Interception;

/// Today's forms of the two calls that the paper's module saw, open and execve. Ours sees the opens alone.
const OPENS_AND_EXECS: &str = "trace=execve,execveat,open,openat,openat2,creat";
/// Counts, so that nothing is written meanwhile.
const COUNT_OPENS: &str = "tracepoint:syscalls:sys_enter_openat { @opens = count(); }";
/// Who writes what it sees shall not be measured by the disk.
const NOWHERE: &str = "/dev/null";

/// The program of a way, where it is not one of ours.
pub fn program(way: Interception) -> Option<&'static str> {
    match way {
        Interception::Tracepoints | Interception::Notification => None,
        Interception::Strace | Interception::StraceAll => Some("strace"),
        Interception::PerfTrace => Some("perf"),
        Interception::Bpftrace => Some("bpftrace"),
    }
}

pub fn is_installed(way: Interception) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let there = |program| env::split_paths(&path).any(|directory| directory.join(program).is_file());
    program(way).is_none_or(there)
}

/// A command within such a program; as it is, if the way is one of ours.
pub fn wrapped(way: Interception, command: Command) -> Command {
    let before: &[&str] = match way {
        Interception::Tracepoints | Interception::Notification => return command,
        Interception::Strace => &["strace", "-f", "-o", NOWHERE, "-e", OPENS_AND_EXECS, "--"],
        Interception::StraceAll => &["strace", "-f", "-o", NOWHERE, "--"],
        Interception::PerfTrace => &["perf", "trace", "-o", NOWHERE, "--"],
        // Its -c takes a text, which it divides at spaces.
        Interception::Bpftrace => return bpftrace(&command),
    };
    let mut outer = Command::new(before[0]);
    outer.args(&before[1..]).arg(command.get_program()).args(command.get_args());
    with_environment_of(outer, &command)
}

fn bpftrace(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let text: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let mut outer = Command::new("bpftrace");
    outer.args(["-q", "-e", COUNT_OPENS, "-c", &text.join(" ")]);
    with_environment_of(outer, command)
}

fn with_environment_of(mut outer: Command, inner: &Command) -> Command {
    for (name, value) in inner.get_envs() {
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
