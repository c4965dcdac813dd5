//! Interleaved runs of A and B: A B, B A, A B and so on, each a netfathom of its own.

use std::env;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use netfathom_measure::ground::environment;
use netfathom_model::print::lasting;
use netfathom_model::record::{CATALOGUE, Record};
use netfathom_model::verdict::Level;
use netfathom_results::compare::{self, Run, Threshold, ThresholdError};

use super::change::{self, Change, Journal};
use super::current::Current;
use super::kernel::Kernel;
use crate::args::{Args, Command, CompareArgs, is_ours, parsed};
use crate::{capacity, output, stack};

const OURS: [&str; 3] = ["--out", "--json", "--quiet"];

/// What was taken until the end, or until it was ended.
#[derive(Default)]
pub struct RoundsTaken {
    pub pairs: Vec<(Run, Run)>,
    /// What must be known of the changes to read the result.
    pub notes: Vec<String>,
    /// Why there are no more.
    pub failed: Option<Error>,
}

impl RoundsTaken {
    /// A threshold that no run can be tested by.
    pub fn wrong_threshold(&self) -> Option<&Error> {
        self.failed.as_ref().filter(|failed| failed.is::<ThresholdError>())
    }
}

/// The arguments of both, word by word.
pub fn sides(runs: &[String], against: &[String]) -> Result<[Vec<String>; 2]> {
    let (a, b) = match (runs, against) {
        // The change is in the commands before the runs.
        ([a], []) => ([a.clone()], std::slice::from_ref(a)),
        ([a, b], []) => ([a.clone()], std::slice::from_ref(b)),
        ([a], typed) => ([a.clone()], typed),
        _ => bail!("--run: name two sides, A and B, each with --run; or B after --"),
    };
    Ok([arguments("A", &a)?, arguments("B", b)?])
}

/// The arguments of both sides, which are the same.
pub fn same_words(typed: &[String]) -> Result<Vec<String>> {
    checked("A and B", words("A and B", &line(typed))?)
}

/// Those of a run of ours, or of one that measures a command of the user's own.
fn arguments(side: &str, typed: &[String]) -> Result<Vec<String>> {
    let line = line(typed);
    let mut words = words(side, &line)?;
    if words.first().is_some_and(|word| word == "netfathom") {
        words.remove(0);
    } else if starts_netfathom(&words) {
        bail!(
            "the arguments of {side} start netfathom: leave out all before its own arguments. It is always this one: put \
             sudo, chrt and the like before compare itself, and use another build's compare for another build"
        );
    } else if is_of_user(&words) {
        let measured = COMMAND.split(' ').map(Into::into);
        return Ok(measured.chain([format!("command={line}")]).collect());
    }
    let may_be_program = !words.first().is_some_and(|word| word.is_empty() || is_ours(word));
    checked(side, words).map_err(|fault| match may_be_program {
        true => anyhow!("{fault}; nor is it a program on PATH: the shell's own words need \"sh -c '...'\""),
        false => fault,
    })
}

/// What the plan of `stack` or `capacity` refuses, before a round is taken. The others refuse it in the first round.
fn planned(command: &Command) -> Result<()> {
    match command {
        Command::Stack(args) => stack::plan(args).map(drop),
        Command::Capacity(args) => capacity::plan(args).map(drop),
        _ => Ok(()),
    }
}

fn read(words: &[String]) -> Result<Args, clap::Error> {
    let typed = ["netfathom"].into_iter().chain(words.iter().map(String::as_str));
    parsed(typed.map(Into::into).collect())
}

/// How a command of the user's own is measured; its benchmark follows.
const COMMAND: &str = "cost --quick --time 5s --settle 0s --nothing --benchmark";

/// Whether it is a netfathom by its path, or one of its commands under another program, such as sudo or chrt.
fn starts_netfathom(words: &[String]) -> bool {
    let is_netfathom = |word: &String| Path::new(word).file_name().is_some_and(|name| name == "netfathom");
    words.first().is_some_and(is_netfathom)
        || words.windows(2).any(|pair| is_netfathom(&pair[0]) && is_ours(&pair[1]))
}

/// Whether a shell finds the program, and it is no command of netfathom by which the line begins.
fn is_of_user(words: &[String]) -> bool {
    // Variables may be set before it.
    let Some(program) = words.iter().find(|word| !word.contains('=')) else { return false };
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_there = |path: &Path| path.metadata().is_ok_and(|of| of.is_file() && of.mode() & 0o111 != 0);
    let is_found = if program.contains('/') {
        is_there(Path::new(program))
    } else {
        env::split_paths(&folders).any(|folder| is_there(&folder.join(program)))
    };
    is_found && (words.first() != Some(program) || !is_ours(program))
}

/// What was typed for a side, in quotes or word by word, or what follows its quotes.
fn line(typed: &[String]) -> String {
    let (first, rest) = typed.split_at(typed.len().min(1));
    first.iter().cloned().chain(rest.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.into(), Into::into)
}

fn words(side: &str, text: &str) -> Result<Vec<String>> {
    shlex::split(text)
        .ok_or_else(|| anyhow!("the arguments of {side} have a quote that is not closed: {text}"))
}

fn checked(side: &str, words: Vec<String>) -> Result<Vec<String>> {
    let first = words.first().map_or("", String::as_str);
    // A sweep is made by a command below ttcp.
    let commands: Vec<&str> =
        CATALOGUE.iter().map(|entry| entry.command).filter(|command| !command.contains(' ')).collect();
    if first.is_empty() || is_ours(first) && !commands.contains(&first) {
        bail!(
            "the arguments of {side} begin with `{first}`, which makes no run; write them as after netfathom, such as \
             'stack tx --trials 3' (one of {})",
            commands.join(", ")
        );
    }
    let args = read(&words)
        .map_err(|fault| anyhow!("the arguments of {side}: {}", in_a_line(&fault.to_string())))?;
    let before_program = words.iter().take_while(|word| *word != "--");
    for word in before_program {
        if OURS.iter().any(|ours| word == ours || word.starts_with(&format!("{ours}="))) {
            bail!(
                "the arguments of {side} have {word}, which is for the whole: give --out and --quiet before --run"
            );
        }
    }
    planned(&args.command).map_err(|fault| anyhow!("the arguments of {side}: {fault:#}"))?;
    Ok(words)
}

/// What a parser has to say, without the usage.
fn in_a_line(fault: &str) -> String {
    let about = ["\nUsage:", "\nFor more information"];
    let end = about.iter().filter_map(|about| fault.find(about)).min().unwrap_or(fault.len());
    let fault = fault[..end].trim_start_matches("error: ");
    let lines: Vec<&str> = fault.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

/// Takes the rounds. What was whole before a run failed or a signal came is kept.
pub fn take(
    sides: &[Vec<String>; 2],
    changes: &[Change; 2],
    thresholds: &[Threshold],
    args: &CompareArgs,
) -> Result<RoundsTaken> {
    let changed = changes.iter().any(|change| change.shown.is_some());
    let before = changed.then(environment::host_settings);
    let mut taken = rounds(sides, changes, thresholds, args)?;
    if let Some(before) = before {
        let (line, warning) = change::settings_now(&before);
        tell(args, &line);
        taken.notes.extend(warning);
    }
    Ok(taken)
}

fn are_emulated(changes: &[Change; 2]) -> bool {
    changes.iter().flat_map(|change| &change.kernel).any(Kernel::is_emulated)
}

fn rounds(
    sides: &[Vec<String>; 2],
    changes: &[Change; 2],
    thresholds: &[Threshold],
    args: &CompareArgs,
) -> Result<RoundsTaken> {
    let current = Current::watch()?;
    let mut journal = Journal::open(changes)?;
    if changes.iter().any(|change| change.before.is_some() && change.after.is_none()) {
        tell(args, "no --after: what the last command before a run has changed stays changed");
    }
    let mut taken = RoundsTaken::default();
    let began = Instant::now();
    // What a kernel can do, one run shows.
    let rounds = if are_emulated(changes) { 1 } else { args.rounds };
    for round in 0..rounds {
        // There and back, so that a steady drift is for both.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut pair = [None, None];
        let mut wrote = [String::new(), String::new()];
        for (nth, side) in order.into_iter().enumerate() {
            let left = time_left(began.elapsed(), 2 * round + nth as u32, 2 * rounds);
            tell(args, &progress(rounds, round, side, &sides[side], &left));
            let run = || current.run(&sides[side], &changes[side], args);
            let around = (|before| current.prepare(before), |after| current.put_back(after));
            match journal.around(&changes[side], around, run) {
                Ok((run, errors)) => {
                    wrote[side] = errors;
                    tell(args, &format!("  {} {}", run.name, verdict(&run.record)));
                    pair[side] = Some(run);
                    // A mistake in a threshold shows before all rounds were taken for it.
                    if let [Some(a), b] = &pair
                        && round == 0
                        && let Err(wrong) = compare::testable(a, b.as_ref(), thresholds)
                    {
                        taken.pairs.extend(pair[0].take().zip(pair[1].take()));
                        taken.failed = Some(wrong.into());
                        return Ok(taken);
                    }
                }
                Err(error) => {
                    // A run that was asked to end has not failed, but its change must not stay unseen.
                    let ended = current.stop.load(Relaxed) && !journal.has_entry;
                    let option = format!("the command of --before-{}", ["a", "b"][side]);
                    let error = anyhow!(format!("{error:#}").replace("the command of --setup", &option));
                    taken.failed = (!ended).then(|| error.context(failed(round, side, &taken)));
                    return Ok(taken);
                }
            }
            if current.stop.load(Relaxed) && pair.iter().any(Option::is_none) {
                tell(args, "ended: the round is not whole and does not count");
                return Ok(taken);
            }
        }
        if let [Some(a), Some(b)] = pair {
            taken.pairs.push((a, b));
        }
        if round == 0
            && let Some((a, b)) = taken.pairs.first()
        {
            taken.notes.extend(change::without_effect(changes, (&a.record, &b.record), &wrote));
        }
        if current.stop.load(Relaxed) {
            break;
        }
    }
    let whole = taken.pairs.len() as u32;
    if whole > 1 && taken.failed.is_none() {
        let each = (began.elapsed() / whole).as_secs_f64();
        tell(args, &format!("{whole} rounds, {each:.0} s each"));
    }
    Ok(taken)
}

fn failed(round: u32, side: usize, taken: &RoundsTaken) -> String {
    format!(
        "round {}, {}: the run failed; {} rounds are whole",
        round + 1,
        ["A", "B"][side],
        taken.pairs.len()
    )
}

/// Letters of a reason beside the name of a run, on a line of 80; the whole stands in the comparison.
const LONGEST_REASON: usize = 32;

/// The level; of a VOID run, which may not count, also why.
fn verdict(record: &Record) -> String {
    let level = record.verdict.level;
    let why = record.verdict.deciding().filter(|_| level == Level::Void);
    why.map_or_else(
        || level.name().into(),
        |why| {
            let why: String = output::harmless(&why.text).chars().take(LONGEST_REASON).collect();
            format!("{}: {why}…", level.name())
        },
    )
}

fn time_left(since: Duration, done: u32, runs: u32) -> String {
    if done == 0 { String::new() } else { format!(", about {} left", lasting(since * (runs - done) / done)) }
}

fn progress(rounds: u32, round: u32, side: usize, words: &[String], left: &str) -> String {
    let of_user = words.last().and_then(|last| last.strip_prefix("command="));
    let own =
        of_user.filter(|_| words.iter().map(String::as_str).take(words.len() - 1).eq(COMMAND.split(' ')));
    let words = output::harmless(&own.map_or_else(|| joined(words), Into::into));
    format!("round {} of {}, {}: {words}{left}", round + 1, rounds, ["A", "B"][side])
}

/// Shows the command that compares the same runs again, by the same thresholds unless they were the mistake.
pub fn show_again(args: &CompareArgs, taken: &RoundsTaken) {
    if taken.pairs.is_empty() {
        return;
    }
    let pairs = taken.pairs.iter().map(|(a, b)| format!(" \\\n  {} {}", quoted(&a.name), quoted(&b.name)));
    let pairs: String = pairs.collect();
    let fit = taken.wrong_threshold().is_none();
    let thresholds = args.fail_if.iter().filter(|_| fit).map(|text| format!(" --fail-if {}", quoted(text)));
    let thresholds: String = thresholds.collect();
    let strict = if args.strict && fit { " --strict" } else { "" };
    let force = if args.force { " --force" } else { "" };
    tell(
        args,
        &format!("to compare them once more:\n  netfathom compare{thresholds}{strict}{force} --pairs{pairs}"),
    );
}

pub fn tell(args: &CompareArgs, line: &str) {
    if !args.quiet {
        // A message without a reader is no reason to end.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[&str], against: &[&str]) -> Result<[Vec<String>; 2]> {
        let [runs, against] =
            [runs, against].map(|of| of.iter().map(|&word| word.into()).collect::<Vec<_>>());
        sides(&runs, &against)
    }

    fn refused(a: &str, b: &[&str]) -> String {
        of(&[a], b).unwrap_err().to_string()
    }

    #[test]
    fn arguments_are_words_as_a_shell_reads_them() {
        let quoted = ["stack tx --profile 'constant:1k/1s'"];
        let [a, b] = of(&["cost -- sh -c 'exit 0' --json"], &quoted).unwrap();
        assert_eq!(a, ["cost", "--", "sh", "-c", "exit 0", "--json"]);
        assert_eq!(b.last().unwrap(), "constant:1k/1s");
        let both = ["stack", quoted[0]];
        assert_eq!(of(&both, &[]).unwrap()[1], b);
        assert_eq!(of(&both[..1], &["stack", "tx"]).unwrap()[1], ["stack", "tx"]);
        assert_eq!(of(&["netfathom stack tx"], &[]).unwrap(), [["stack", "tx"], ["stack", "tx"]]);
        assert!(of(&both, &["stack"]).is_err());
    }

    #[test]
    fn what_makes_no_run_is_refused() {
        assert!(refused("report x", &["stack"]).contains("begin with `report`"));
        assert!(refused("", &["stack"]).contains("of A begin with ``"));
        assert!(refused("stack 'x", &["stack"]).contains("not closed"));
        assert!(refused("stack", &["stack --json"]).contains("of B have --json"));
        assert!(refused("stack --out=x", &["stack"]).contains("--out=x"));
        assert!(same_words(&["gzip F".into()]).is_err());
    }

    #[test]
    fn a_fault_is_the_one_that_the_parser_of_the_command_finds() {
        let fault = refused("cost --nothing", &["cost --quick --nothing", "--rounds", "2"]);
        assert!(fault.starts_with("the arguments of B: unexpected argument '--rounds' found"), "{fault}");
        assert!(!fault.contains('\n') && !fault.contains("one of"), "{fault}");
        let size = refused("stack --loopback --size 70000", &["stack"]);
        assert!(size.starts_with("the arguments of A: --size 70000"), "{size}");
        let typo = refused("stak tx", &["stack"]);
        assert!(typo.contains("'stak'") && typo.contains("'stack'") && typo.contains("on PATH"), "{typo}");
        for line in ["/etc/passwd x", "cd / && make"] {
            assert!(refused(line, &["stack"]).contains("nor is it a program on PATH"), "{line}");
        }
        for line in
            ["./old/netfathom stack tx", "sudo /usr/bin/netfathom stack tx", "chrt -f 50 netfathom stack tx"]
        {
            assert!(refused(line, &["stack"]).contains("start netfathom"), "{line}");
        }
        let option = refused("stack --rate 10k", &["stack"]);
        assert!(option.contains("'--profile'") && !option.contains("For more"), "{option}");
    }

    #[test]
    fn a_command_of_the_users_own_is_measured() {
        let [a, b] = of(&["LC_ALL=C ls -1 'a b' >x"], &["ls", "-2", "a b"]).unwrap();
        let measured = |command: &str| {
            let words = COMMAND.split(' ').map(str::to_owned);
            words.chain([format!("command={command}")]).collect::<Vec<_>>()
        };
        assert_eq!([a, b], ["LC_ALL=C ls -1 'a b' >x", "ls -2 'a b'"].map(measured));
        assert_eq!(of(&["/bin/sh -c :"], &[]).unwrap()[0], measured("/bin/sh -c :"));
        assert_eq!(of(&["LC_ALL=C join a b"], &[]).unwrap()[0], measured("LC_ALL=C join a b"));
        let shown = progress(8, 0, 0, &measured("ls -1 'a b'"), "");
        assert_eq!(shown, "round 1 of 8, A: ls -1 'a b'");
    }

    #[test]
    fn progress_shows_words_that_can_be_pasted() {
        let typed = "cost --nothing --benchmark x='gzip -1 F >/dev/null'";
        let words = words("A", typed).unwrap();
        let line = progress(8, 0, 0, &words, "");
        assert_eq!(shlex::split(line.split_once("A: ").unwrap().1).unwrap(), words, "{line}");
    }
}
