//! Interleaved runs of A and B: A B, B A, A B and so on, each a netfathom of its own.

use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use netfathom_measure::ground::environment;
use netfathom_model::record::{CATALOGUE, Record};
use netfathom_model::verdict::{Level, Verdict};
use netfathom_results::compare::{self, Run, Threshold, ThresholdError, Wishes};

use super::change::{self, Change, Journal};
use super::current::Current;
use super::kernel::Kernel;
use crate::args::CompareArgs;
use crate::output;

const OURS: [&str; 3] = ["--out", "--json", "--quiet"];

/// What was taken until the end, or until it was ended.
pub struct RoundsTaken {
    pub pairs: Vec<(Run, Run)>,
    /// What must be known of the changes to read the result.
    pub notes: Vec<String>,
    /// Why there are no more.
    pub failed: Option<Error>,
}

/// The arguments of both, word by word.
pub fn sides(a: &str, b: &[String]) -> Result<[Vec<String>; 2]> {
    let b = match b {
        // The change is in the commands before the runs.
        [] => words("A", a)?,
        [one] => words("B", one)?,
        // Typed word by word.
        many => many.to_vec(),
    };
    let sides = [words("A", a)?, b];
    for (name, words) in ["A", "B"].into_iter().zip(&sides) {
        check(name, words)?;
    }
    Ok(sides)
}

/// The arguments of both sides, which are the same.
pub fn same_words(typed: &[String]) -> Result<Vec<String>> {
    let words = match typed {
        [one] => words("A and B", one)?,
        many => many.to_vec(),
    };
    check("A and B", &words)?;
    Ok(words)
}

fn words(side: &str, text: &str) -> Result<Vec<String>> {
    shlex::split(text)
        .ok_or_else(|| anyhow!("the arguments of {side} have a quote that is not closed: {text}"))
}

fn check(side: &str, words: &[String]) -> Result<()> {
    let first = words.first().map_or("", String::as_str);
    // A sweep is made by a command below ttcp.
    let commands: Vec<&str> =
        CATALOGUE.iter().map(|entry| entry.command).filter(|command| !command.contains(' ')).collect();
    if !commands.contains(&first) {
        bail!(
            "the arguments of {side} begin with `{first}`, which makes no run; write them as after netfathom, such as \
             'stack tx --trials 3' (one of {})",
            commands.join(", ")
        );
    }
    let before_program = words.iter().take_while(|word| *word != "--");
    for word in before_program {
        if OURS.iter().any(|ours| word == ours || word.starts_with(&format!("{ours}="))) {
            bail!(
                "the arguments of {side} have {word}, which is for the whole: give --out and --quiet before --run"
            );
        }
    }
    Ok(())
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
    let mut taken = RoundsTaken { pairs: Vec::new(), notes: Vec::new(), failed: None };
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
                }
                Err(error) => {
                    // A run that was asked to end has not failed, but its change must not stay unseen.
                    let ended = current.stop.load(Relaxed) && !journal.has_entry();
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
            && let Err(error) = first(&mut taken, changes, &wrote, thresholds)
        {
            taken.failed = Some(error.into());
            break;
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

/// What the first round tells of the others: whether the changes have an effect, and whether there is what the thresholds
/// are for.
fn first(
    taken: &mut RoundsTaken,
    changes: &[Change; 2],
    wrote: &[String; 2],
    thresholds: &[Threshold],
) -> Result<(), ThresholdError> {
    let Some(pair) = taken.pairs.first() else { return Ok(()) };
    taken.notes.extend(change::without_effect(changes, (&pair.0.record, &pair.1.record), wrote));
    match compare::pairs(&taken.pairs, &Wishes { force: true }) {
        Ok(compared) if !compared.quantities.is_empty() => match compare::gates(&compared, thresholds) {
            // A later round may have it.
            Err(ThresholdError::OneSided { .. }) | Ok(_) => Ok(()),
            Err(wrong) => Err(wrong),
        },
        _ => Ok(()),
    }
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

/// The level; of a VOID run, which does not count, also why.
fn verdict(record: &Record) -> String {
    let Verdict { level, reasons } = &record.verdict;
    let why = reasons.iter().find(|reason| reason.level == Level::Void).filter(|_| *level == Level::Void);
    why.map_or_else(
        || level.name().into(),
        |why| {
            let why: String = output::harmless(&why.text).chars().take(LONGEST_REASON).collect();
            format!("{}: {why}…", level.name())
        },
    )
}

fn time_left(since: Duration, done: u32, runs: u32) -> String {
    if done == 0 {
        return String::new();
    }
    format!(", about {} s left", (since * (runs - done) / done).as_secs())
}

fn progress(rounds: u32, round: u32, side: usize, words: &[String], left: &str) -> String {
    let words = output::harmless(&words.join(" "));
    format!("round {} of {}, {}: {words}{left}", round + 1, rounds, ["A", "B"][side])
}

/// The command that compares the same runs again, by the same thresholds unless they were the mistake.
pub fn again(args: &CompareArgs, taken: &RoundsTaken) -> String {
    let quoted = |name: &str| shlex::try_quote(name).map_or_else(|_| name.into(), Into::<String>::into);
    let pairs = taken.pairs.iter().map(|(a, b)| format!(" \\\n  {} {}", quoted(&a.name), quoted(&b.name)));
    let pairs: String = pairs.collect();
    let fit = !taken.failed.as_ref().is_some_and(|failed| failed.is::<ThresholdError>());
    let thresholds = args.fail_if.iter().filter(|_| fit).map(|text| format!(" --fail-if {}", quoted(text)));
    let thresholds: String = thresholds.collect();
    let strict = if args.strict && fit { " --strict" } else { "" };
    let force = if args.force { " --force" } else { "" };
    format!("to compare them once more:\n  netfathom compare{thresholds}{strict}{force} --pairs{pairs}")
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

    fn refused(a: &str, b: &[&str]) -> String {
        let b: Vec<String> = b.iter().map(|&word| word.into()).collect();
        sides(a, &b).unwrap_err().to_string()
    }

    #[test]
    fn arguments_are_words_as_a_shell_reads_them() {
        let b = ["stack tx --profile 'constant:1k/1s'".to_owned()];
        let [a, b] = sides("cost -- sh -c 'exit 0' --json", &b).unwrap();
        assert_eq!(a, ["cost", "--", "sh", "-c", "exit 0", "--json"]);
        assert_eq!(b.last().unwrap(), "constant:1k/1s");
        let typed = ["stack".to_owned(), "tx".to_owned()];
        assert_eq!(sides("stack", &typed).unwrap()[1], ["stack", "tx"]);
    }

    #[test]
    fn what_makes_no_run_is_refused() {
        assert!(refused("report x", &["stack"]).contains("begin with `report`"));
        assert!(refused("", &["stack"]).contains("of A begin with ``"));
        assert!(refused("stack 'x", &["stack"]).contains("not closed"));
        assert!(refused("stack", &["stack --json"]).contains("of B have --json"));
        assert!(refused("stack --out=x", &["stack"]).contains("--out=x"));
    }
}
