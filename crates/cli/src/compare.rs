//! `netfathom compare`: two runs, read or taken interleaved.

mod change;
mod current;
mod kernel;
mod rounds;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use netfathom_results::compare::{
    self, Comparison, Gates, LEAST_PAIRS, Run, Threshold, ThresholdError, Wishes,
};
use netfathom_results::render::html;
use netfathom_results::{draw, page, store, story};

use crate::args::{CompareArgs, CompareFormat};
use crate::target::is_dash;
use crate::{exit, output, target};
use change::Change;

pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let wanted = output::understood(Wanted::of(args))?;
    let wanted = Wanted { what: found(wanted.what, &args.out)?, ..wanted };
    let taken = match &wanted.what {
        What::Rounds(sides, changes) => {
            if let Some(status) = change::watch_over(changes)? {
                return Ok(status);
            }
            let taken = rounds::take(sides, changes, &wanted.thresholds, args)?;
            // There is nothing to decide.
            if let Some(wrong) = taken.wrong_threshold() {
                let status = output::wrong_usage(wrong);
                rounds::show_again(args, &taken);
                return Ok(status);
            }
            if taken.pairs.is_empty() {
                return Err(taken
                    .failed
                    .unwrap_or_else(|| anyhow!("ended before the first round was whole")));
            }
            if let ([Change { kernel: Some(kernel), .. }, _], [(a, b), ..]) = (&**changes, &taken.pairs[..])
                && kernel.is_emulated()
            {
                return output::answer(kernel::without_times(&a.record, &b.record).trim_end());
            }
            taken
        }
        What::Pairs(names) => rounds::RoundsTaken { pairs: read_pairs(names)?, ..Default::default() },
        What::Apart(..) => rounds::RoundsTaken::default(),
    };
    let status = show(args, &wanted, &taken);
    if let What::Rounds(..) = wanted.what {
        rounds::show_again(args, &taken);
    }
    match taken.failed {
        None => status,
        Some(failed) => {
            // Both are shown, whichever is returned.
            if let Err(error) = status {
                output::complain(&error);
            }
            Err(failed)
        }
    }
}

fn show(args: &CompareArgs, wanted: &Wanted, taken: &rounds::RoundsTaken) -> Result<ExitCode> {
    let comparisons = match &wanted.what {
        What::Apart(a, others) => apart(a, others, &wanted.wishes)?,
        What::Pairs(_) | What::Rounds(..) => vec![compare::pairs(&taken.pairs, &wanted.wishes)?],
    };
    let mut all = Vec::new();
    let mut wrong = None;
    for mut comparison in comparisons {
        // Packets that B dropped decide how the answer reads.
        let place = usize::from(comparison.b_dropped);
        comparison.cautions.splice(place..place, taken.notes.iter().cloned());
        let gates = compare::gates(&comparison, &wanted.thresholds).unwrap_or_else(|error| {
            wrong = Some(error);
            Gates::default()
        });
        all.push((comparison, gates));
    }
    let is_mistaken = matches!(wrong, Some(ThresholdError::Unknown { .. } | ThresholdError::Unit { .. }));
    // What was just measured is shown, even so.
    if !is_mistaken || matches!(wanted.what, What::Rounds(..)) {
        write(args, &wanted.what, &all)?;
    }
    match wrong {
        Some(error @ ThresholdError::OneSided { .. }) => {
            output::complain(&error.into());
            Ok(exit::VOID.into())
        }
        Some(error) => Ok(output::wrong_usage(&error.into())),
        None => Ok(status(args, &all)),
    }
}

/// What is to be done, checked as far as it can be without a run.
struct Wanted {
    what: What,
    wishes: Wishes,
    thresholds: Vec<Threshold>,
}

enum What {
    /// Each of the others with the first.
    Apart(PathBuf, Vec<PathBuf>),
    Pairs(Vec<PathBuf>),
    Rounds([Vec<String>; 2], Box<[Change; 2]>),
}

impl Wanted {
    fn of(args: &CompareArgs) -> Result<Self> {
        let thresholds: Vec<Threshold> =
            args.fail_if.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        if args.format == CompareFormat::Html && args.output.is_none() {
            bail!("--format html: name the file with --output FILE, or - for standard output");
        }
        if let (CompareFormat::Html, Some(path)) = (args.format, &args.output)
            && is_dash(path)
            && io::stdout().is_terminal()
        {
            bail!("--format html: standard output is a terminal; name a file with --output FILE");
        }
        Ok(Self { what: what(args)?, wishes: Wishes { force: args.force }, thresholds })
    }
}

fn what(args: &CompareArgs) -> Result<What> {
    if args.kernel.len() == 1 {
        bail!("--kernel: name two of them, that of A and that of B");
    }
    if let [a, b] = &args.kernel[..] {
        let words = rounds::same_words(&args.against)?;
        let kernels = [kernel::Kernel::of(a, args.emulate)?, kernel::Kernel::of(b, args.emulate)?];
        if kernels[0].is_emulated() && !args.fail_if.is_empty() {
            bail!(
                "--fail-if: without /dev/kvm the kernels are emulated, and times of an emulator are not compared"
            );
        }
        let changes = kernels.map(|kernel| Change { kernel: Some(kernel), ..Change::default() });
        return Ok(What::Rounds([words.clone(), words], Box::new(changes)));
    }
    if !args.run.is_empty() {
        let is_one = args.run.len() == 1 && args.against.is_empty();
        if is_one && args.before_a.is_none() && args.before_b.is_none() {
            bail!(
                "--run: both sides would be the same; name B with a second --run, or a command that changes the \
                 system with --before-b"
            );
        }
        if !args.fail_if.is_empty() && (args.rounds as usize) < LEAST_PAIRS {
            bail!(
                "--rounds {}: a threshold (--fail-if) takes {LEAST_PAIRS} rounds or more: with fewer no change is significant",
                args.rounds
            );
        }
        return Ok(What::Rounds(rounds::sides(&args.run, &args.against)?, Box::new(change::changes(args)?)));
    }
    match args.runs.as_slice() {
        [] => bail!(
            "there is nothing to compare: name two runs (netfathom compare runs/BEFORE runs/AFTER), or take them interleaved \
             (netfathom compare --run 'ARGS OF A' --run 'ARGS OF B')"
        ),
        [one] => {
            let a = if one.as_os_str() == "last" { Path::new("last~1") } else { one };
            bail!("{}: name two runs, such as netfathom compare {} last", one.display(), a.display())
        }
        all if args.pairs && all.len() % 2 == 1 => {
            bail!("--pairs: {} runs are no pairs; name them as A B A B and so on", all.len())
        }
        all if args.pairs => Ok(What::Pairs(all.to_vec())),
        [a, others @ ..] => Ok(What::Apart(a.clone(), others.to_vec())),
    }
}

fn read(path: &Path) -> Result<Run> {
    Ok(Run { name: path.display().to_string(), record: store::read(path)? })
}

fn read_pairs(runs: &[PathBuf]) -> Result<Vec<(Run, Run)>> {
    runs.chunks_exact(2).map(|pair| Ok((read(&pair[0])?, read(&pair[1])?))).collect()
}

fn apart(a: &Path, others: &[PathBuf], wishes: &Wishes) -> Result<Vec<Comparison>> {
    let a = read(a)?;
    others.iter().map(|b| Ok(compare::apart(&a, &read(b)?, wishes)?)).collect()
}

/// The runs that were named, where they are.
fn found(what: What, out: &Path) -> Result<What> {
    let at = |name: PathBuf| store::resolve(out, &name);
    let all = |names: Vec<PathBuf>| names.into_iter().map(at).collect::<Result<_, _>>();
    Ok(match what {
        What::Apart(a, others) => What::Apart(at(a)?, all(others)?),
        What::Pairs(names) => What::Pairs(all(names)?),
        What::Rounds(sides, changes) => What::Rounds(sides, changes),
    })
}

fn write(args: &CompareArgs, what: &What, all: &[(Comparison, Gates)]) -> Result<()> {
    if args.json {
        return output::print(&json(all)?);
    }
    let to_file = args.output.as_deref().filter(|path| !is_dash(path));
    let text = match args.format {
        CompareFormat::Txt if to_file.is_some() => {
            draw::terminal(&story::compare::of(all), page::LEAST_WIDTH, false)
        }
        CompareFormat::Txt => {
            output::page(&story::compare::of(all), args.verbose)?;
            return if args.verbose { Ok(()) } else { output::print("\nmore: -v, or --format html -o FILE") };
        }
        CompareFormat::Md => draw::markdown(&story::compare::of(all)),
        CompareFormat::Html => html::render_comparisons(all)?,
    };
    let Some(path) = to_file else { return output::print(&text) };
    spare_runs(what, path)?;
    target::text_to_file(path, &text)?;
    output::print(&format!("comparison: {}", output::harmless(&path.display().to_string())))
}

fn json(all: &[(Comparison, Gates)]) -> Result<String> {
    let each = |(comparison, gates): &(Comparison, Gates)| {
        let mut value = serde_json::to_value(comparison)?;
        value["gates"] = serde_json::to_value(&gates.gates)?;
        Ok(value)
    };
    let comparisons: Vec<serde_json::Value> = all.iter().map(each).collect::<Result<_>>()?;
    Ok(serde_json::json!({ "comparisons": comparisons }).to_string())
}

/// Refuses to write over what is compared.
fn spare_runs(what: &What, to: &Path) -> Result<()> {
    let runs: Vec<&PathBuf> = match what {
        What::Apart(a, others) => std::iter::once(a).chain(others).collect(),
        What::Pairs(names) => names.iter().collect(),
        What::Rounds(..) => Vec::new(),
    };
    runs.into_iter().try_for_each(|run| target::spare_run(run, to))
}

/// What is beyond a threshold comes before what could not be compared, and that before what more rounds would decide.
fn status(args: &CompareArgs, all: &[(Comparison, Gates)]) -> ExitCode {
    if all.iter().any(|(_, gates)| gates.fail()) {
        exit::BEYOND.into()
    } else if all.iter().any(|(comparison, gates)| comparison.is_refused() || !gates.are_tested()) {
        exit::VOID.into()
    } else if args.strict && all.iter().any(|(_, gates)| gates.are_inconclusive()) {
        exit::UNDECIDED.into()
    } else {
        ExitCode::SUCCESS
    }
}
