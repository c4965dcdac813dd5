//! Commands that change the system before a run and put it back after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use netfathom_measure::ground::environment;
use netfathom_model::environment::Settings;
use netfathom_model::record::Record;
use netfathom_results::compare;
use netfathom_sys::child::end_with_this_thread;

use super::kernel::Kernel;
use crate::args::{CommandPlace, CompareArgs};
use crate::{guard, output};

/// What a run that was asked to end gets for it: it may have changed something itself, such as a process that it stopped.
pub const GRACE: Duration = Duration::from_secs(6);

/// What a first Ctrl-C during the command after a run says.
pub const WAITING: &str =
    "waiting for --after, which puts back what was changed; press Ctrl-C again to give up";

/// The user did not wait for the command after a run.
#[derive(Debug)]
pub struct GivenUp;

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it was ended before it was done")
    }
}

/// Settings in a line.
const MOST_SETTINGS: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct Change {
    pub before: Option<String>,
    pub after: Option<String>,
    /// The value of `--setup`, where the lab is what is changed.
    pub setup: Option<String>,
    /// The command before, as the record has it.
    pub shown: Option<String>,
    /// Booted for each run, instead of the host's.
    pub kernel: Option<Kernel>,
}

pub fn changes(args: &CompareArgs) -> Result<[Change; 2]> {
    let sides = [("a", &args.before_a, &args.after_a), ("b", &args.before_b, &args.after_b)];
    for (side, before, after) in sides {
        if after.is_some() && before.is_none() {
            bail!("--after-{side}: there is no --before-{side} that it could undo");
        }
        if before.is_some() && args.place != CommandPlace::Host && (after.is_some() || args.after.is_some()) {
            bail!(
                "--after: the lab goes with each run, so nothing in it has to be undone; leave --after out"
            );
        }
    }
    one_sided(args)?;
    if args.after.is_some() && args.before_a.is_none() && args.before_b.is_none() {
        bail!("--after: there is no --before-a or --before-b that it could undo");
    }
    Ok(sides.map(|(_, before, after)| {
        let Some(before) = before.clone() else { return Change::default() };
        let in_lab = |place: &str, setup: String| Change {
            setup: Some(setup),
            shown: Some(format!("in the {place}: {before}")),
            ..Change::default()
        };
        match args.place {
            CommandPlace::Host => Change {
                shown: Some(before.clone()),
                after: after.clone().or_else(|| args.after.clone()),
                before: Some(before),
                ..Change::default()
            },
            CommandPlace::Lab => in_lab("lab", before.clone()),
            CommandPlace::Sender => in_lab("lab's sender", only("sender", &before)),
            CommandPlace::Reader => in_lab("lab's reader", only("reader", &before)),
        }
    }))
}

/// Refuses a change of one side that would stay for the other one.
fn one_sided(args: &CompareArgs) -> Result<()> {
    let (side, other, after) = match (&args.before_a, &args.before_b) {
        (Some(_), None) => ("a", "b", &args.after_a),
        (None, Some(_)) => ("b", "a", &args.after_b),
        _ => return Ok(()),
    };
    if args.place == CommandPlace::Host && after.is_none() && args.after.is_none() {
        bail!(
            "--before-{side} alone: runs alternate (A B, B A), so what it changes would hold for the other side too; add \
             --after CMD, which undoes it, or --before-{other} CMD, which sets what the other side needs"
        );
    }
    Ok(())
}

/// What there is to say of the effect of the commands on the first pair of runs, where they had none that could be
/// seen.
pub fn without_effect(
    changes: &[Change; 2],
    pair: (&Record, &Record),
    wrote: &[String; 2],
) -> Option<String> {
    let with: Vec<usize> = (0..2).filter(|&side| changes[side].shown.is_some()).collect();
    let in_lab = changes.iter().any(|change| change.setup.is_some());
    // On the host both commands may be of something that is not watched, such as an installation.
    if with.is_empty() || with.len() == 2 && !in_lab || compare::settings_differ(pair.0, pair.1) {
        return None;
    }
    let what = match with[..] {
        [side] => format!("the command of {} changed none of the watched settings", ["A", "B"][side]),
        _ => "the commands of A and B left no difference in the watched settings".to_owned(),
    };
    let commands: Vec<&str> = changes.iter().filter_map(|change| change.shown.as_deref()).collect();
    let what = what + &unchanged(&commands.join(" "), &pair.0.environment.settings, in_lab);
    let lines: Vec<&str> = wrote.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    Some(if lines.is_empty() { what } else { format!("{what}; it wrote: {}", lines.join("; ")) })
}

/// The values of what commands name, which are the same on both sides; of an offload, how to see them.
fn unchanged(commands: &str, settings: &Settings, in_lab: bool) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let words: BTreeSet<&str> = commands.split(|c: char| !is_of_name(c)).collect();
    // A host of the lab has its own value where both have one.
    let of_lab = settings.namespaces.values().filter(|_| in_lab);
    let all = [&settings.host].into_iter().chain(of_lab).flatten();
    let named: BTreeMap<&String, &String> = all.filter(|(name, _)| words.contains(name.as_str())).collect();
    let values: Vec<String> = named.iter().map(|(name, value)| format!("{name} is {value}")).collect();
    match values.as_slice() {
        [] if words.contains("ethtool") => {
            "; what it sets may have been so already: ethtool -k DEVICE shows that".into()
        }
        [] => String::new(),
        values => format!(": on both sides {}", values.join(", ")),
    }
}

/// Whether the host's settings are what they were: in a line, and what to warn of.
pub fn settings_now(before: &Settings) -> (String, Option<String>) {
    let now = environment::host_settings();
    let names: BTreeSet<&String> = before.host.keys().chain(now.host.keys()).collect();
    let value = |of: &Settings, name: &str| of.host.get(name).cloned().unwrap_or_else(|| "none".into());
    let differ: Vec<String> = names
        .into_iter()
        .map(|name| (name, value(before, name), value(&now, name)))
        .filter(|(_, was, is)| was != is)
        .map(|(name, was, is)| format!("{name}: {was} -> {is}"))
        .collect();
    if differ.is_empty() {
        return ("settings as before: yes".into(), None);
    }
    let more = differ.len().saturating_sub(MOST_SETTINGS);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let shown: Vec<String> = differ.into_iter().take(MOST_SETTINGS).collect();
    let line = format!("settings as before: no; {}{rest}", shown.join("; "));
    (line.clone(), Some(line))
}

fn only(role: &str, command: &str) -> String {
    format!("if [ \"$ROLE\" = {role} ]; then {command}\nfi")
}

/// Has another process watch over this one if it changes the host: that one puts things back if this one is killed.
/// The exit status in that one; `None` in this one.
pub fn watch_over(changes: &[Change; 2]) -> Result<Option<ExitCode>> {
    if !can_be_undone(changes) {
        return Ok(None);
    }
    let journal = tempfile::tempfile().context("cannot make a file for what is to be undone")?;
    let theirs = journal.try_clone().context("cannot share the file for what is to be undone")?;
    let status = guard::watch_over(GRACE, |again| {
        // Its standard input: what that process starts does not inherit it, unlike a variable.
        again.stdin(theirs);
        || ()
    });
    if !matches!(status, Ok(None)) {
        // However it ended: it may have failed to undo the change.
        undo_what_is_left(journal);
    }
    status
}

fn can_be_undone(changes: &[Change; 2]) -> bool {
    changes.iter().any(|change| change.after.is_some())
}

/// Runs what the process that has ended left to be run.
fn undo_what_is_left(mut journal: File) {
    let mut command = String::new();
    let read = journal.seek(SeekFrom::Start(0)).and_then(|_| journal.read_to_string(&mut command));
    let undone = match read {
        Ok(_) if command.is_empty() => return,
        Ok(_) => undo(&command),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = undone {
        output::complain(&error.context(format!("could not undo the change: run it yourself: {command}")));
    }
}

fn undo(after: &str) -> Result<()> {
    let mut shell = shell(after);
    end_with_this_thread(&mut shell);
    shell.status().map_err(Into::into).and_then(succeeded)
}

/// In a group of its own: Ctrl-C comes to us alone.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    // Standard output is for the comparison.
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
    shell
}

pub fn succeeded(status: std::process::ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(anyhow!("{status}")) }
}

/// What must be undone if this process is killed.
pub struct Journal {
    file: Option<File>,
    /// Whether there is a change that could not be undone.
    pub(crate) has_entry: bool,
}

impl Journal {
    /// Opens what [`watch_over`] made.
    pub fn open(changes: &[Change; 2]) -> Result<Self> {
        let open = || io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let file = can_be_undone(changes).then(open).transpose();
        let file = file.context("cannot open the file for what is to be undone")?;
        Ok(Self { file, has_entry: false })
    }

    fn write(&mut self, command: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.has_entry = !command.is_empty();
        let mut write = || {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(command.as_bytes())
        };
        write().context("cannot write down what is to be undone")
    }

    /// Does `work` between the two commands of a change; `before` and `put_back` run them. The second one runs
    /// whatever becomes of the work, and of the first one.
    pub fn around<T>(
        &mut self,
        change: &Change,
        (before, put_back): (impl FnOnce(Command) -> Result<()>, impl FnOnce(Command) -> Result<()>),
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(command) = &change.before else { return work() };
        self.write(change.after.as_deref().unwrap_or_default())?;
        let ready =
            before(shell(command)).with_context(|| format!("the command before it failed: {command}"));
        let done = ready.and_then(|()| work());
        if let Some(after) = &change.after
            && let Err(error) = put_back(shell(after))
        {
            if error.is::<GivenUp>() {
                // It is not tried again, and the change must not stay unseen.
                self.write("")?;
                self.has_entry = true;
            }
            let why = format!("the command after it failed, so the change may still be there: {after}");
            return Err(match done {
                Ok(_) => error.context(why),
                Err(failed) => failed.context(format!("{why}: {error}")),
            });
        }
        self.write("")?;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_effect_is_shown_with_the_value_that_it_leaves() {
        let of = |value: &str| [("net.x".to_owned(), value.to_owned())].into();
        let settings = Settings {
            host: of("0"),
            namespaces: [("reader".to_owned(), of("50"))].into(),
            ..Settings::default()
        };
        let unchanged = |command, in_lab| unchanged(command, &settings, in_lab);
        assert_eq!(unchanged("in the lab: sysctl -w 'net.x=50'", true), ": on both sides net.x is 50");
        assert_eq!(unchanged("sysctl -w net.x=0", false), ": on both sides net.x is 0");
        assert_eq!(unchanged("sysctl -w net.x.y=50", true), "");
        assert!(unchanged("ethtool -K $DEVICE gro off", true).contains("ethtool -k"));
    }

    #[test]
    fn a_setting_that_was_left_changed_is_named_with_both_values() {
        let mut before = environment::host_settings();
        before.host.insert("net.core.imaginary".into(), "7".into());
        let (line, warning) = settings_now(&before);
        assert!(line.starts_with("settings as before: no; "), "{line}");
        assert!(line.contains("net.core.imaginary: 7 -> none"), "{line}");
        assert_eq!(warning, Some(line));
    }
}
