//! Commands that change the system before a run and put it back after it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::args::{CommandPlace, CompareArgs};
use crate::{guard, output};

/// What a run that was asked to end gets for it: it may have changed something itself, such as a process that it stopped.
pub const GRACE: Duration = Duration::from_secs(6);

/// What is changed for one side.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Run before.
    pub before: Option<String>,
    /// Run after.
    pub after: Option<String>,
    /// The value of `--setup`, where the lab is what is changed.
    pub setup: Option<String>,
}

/// The changes of A and B.
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
    if args.after.is_some() && args.before_a.is_none() && args.before_b.is_none() {
        bail!("--after: there is no --before-a or --before-b that it could undo");
    }
    Ok(sides.map(|(_, before, after)| {
        let Some(before) = before.clone() else { return Change::default() };
        match args.place {
            CommandPlace::Host => Change {
                before: Some(before),
                after: after.clone().or_else(|| args.after.clone()),
                setup: None,
            },
            CommandPlace::Lab => Change { setup: Some(before), ..Change::default() },
            CommandPlace::Sender => Change { setup: Some(only("sender", &before)), ..Change::default() },
            CommandPlace::Reader => Change { setup: Some(only("reader", &before)), ..Change::default() },
        }
    }))
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
    shell(after).status().map_err(Into::into).and_then(succeeded)
}

/// In a group of its own: Ctrl-C comes to us alone.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    // Standard output is for the comparison.
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
    shell
}

fn succeeded(status: std::process::ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(anyhow!("{status}")) }
}

/// What must be undone if this process is killed.
pub struct Journal {
    file: Option<File>,
    has_entry: bool,
}

impl Journal {
    /// Opens what [`watch_over`] made.
    pub fn open(changes: &[Change; 2]) -> Result<Self> {
        let open = || io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let file = can_be_undone(changes).then(open).transpose();
        let file = file.context("cannot open the file for what is to be undone")?;
        Ok(Self { file, has_entry: false })
    }

    /// Whether there is a change that could not be undone.
    pub fn has_entry(&self) -> bool {
        self.has_entry
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

    /// Does `work` between the two commands of a change; `before` runs the first of them. The second one runs
    /// whatever becomes of the work, and of the first one.
    pub fn around<T>(
        &mut self,
        change: &Change,
        before: impl FnOnce(Command) -> Result<()>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(command) = &change.before else { return work() };
        self.write(change.after.as_deref().unwrap_or_default())?;
        let ready =
            before(shell(command)).with_context(|| format!("the command before it failed: {command}"));
        let done = ready.and_then(|()| work());
        if let Some(after) = &change.after
            && let Err(error) = undo(after)
        {
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
