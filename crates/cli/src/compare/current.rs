//! The process that goes on while rounds are taken: a run, or a command around one. It gets the signals that we get.

use std::cell::OnceCell;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use netfathom_measure::ground::lab::setup;
use netfathom_measure::kind::cost::guard::Ward;
use netfathom_model::record::{Measured, Record, StackResult};
use netfathom_results::compare::Run;
use netfathom_results::store::RunDir;
use signal_hook::consts::{SIGINT, SIGKILL, SIGTERM};
use signal_hook::iterator::Signals;

use super::change::{self, Change, GRACE};
use super::kernel::Kernel;
use crate::args::CompareArgs;
use crate::{exit, invocation, output, stop};

/// How much of the output of a failed run is shown.
const MOST_SHOWN: usize = 2000;

type PassOn = Box<dyn Fn(i32) + Send>;

pub struct Current {
    pub stop: Arc<AtomicBool>,
    pass_on: Arc<Mutex<Option<PassOn>>>,
    /// That of the first run: those after it must have the same load.
    profile: OnceCell<String>,
}

impl Current {
    pub fn watch() -> Result<Self> {
        let this = Self { stop: Arc::default(), pass_on: Arc::default(), profile: OnceCell::new() };
        let asked = [SIGINT, SIGTERM].into_iter().chain(stop::hangup());
        let mut signals = Signals::new(asked).context("cannot listen for signals")?;
        let (stop, pass_on) = (Arc::clone(&this.stop), Arc::clone(&this.pass_on));
        let passing = thread::Builder::new().name("signals".into());
        passing
            .spawn(move || {
                for signal in signals.forever() {
                    stop.store(true, Relaxed);
                    if let Some(pass_on) = pass_on.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                        pass_on(signal);
                    }
                }
            })
            .context("cannot start a thread for signals")?;
        Ok(this)
    }

    /// Waits for the end of one that signals end, and passes them on meanwhile.
    fn attend(&self, ward: Ward, pass_on: impl Fn(i32) + Send + 'static) -> io::Result<ExitStatus> {
        self.attend_with(ward, pass_on, |pass_on| {
            // It may have come just before there was one to pass it on to.
            if self.stop.load(Relaxed) {
                pass_on(SIGINT);
            }
        })
    }

    fn attend_with(
        &self,
        ward: Ward,
        pass_on: impl Fn(i32) + Send + 'static,
        at_start: impl FnOnce(&PassOn),
    ) -> io::Result<ExitStatus> {
        at_start(self.receiver().insert(Box::new(pass_on)));
        let ended = ward.wait();
        *self.receiver() = None;
        ended
    }

    fn receiver(&self) -> MutexGuard<'_, Option<PassOn>> {
        self.pass_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The command before a run, to its end.
    pub fn prepare(&self, command: Command) -> Result<()> {
        if self.stop.load(Relaxed) {
            bail!("ended");
        }
        let ward = Ward::start(command).context("cannot start a shell")?;
        let signals = ward.group_signals();
        change::succeeded(self.attend(ward, signals).context("cannot wait for it")?)
    }

    /// The command after a run. Only the second signal ends it.
    pub fn put_back(&self, command: Command) -> Result<()> {
        let ward = Ward::start(command).context("cannot start a shell")?;
        let (signals, asked) = (ward.group_signals(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&asked);
        let pass_on = move |_| match counted.fetch_add(1, Relaxed) {
            0 => drop(writeln!(io::stderr(), "{}", change::WAITING)),
            _ => signals(SIGKILL),
        };
        let status = self.attend_with(ward, pass_on, |_| ());
        let put_back = change::succeeded(status.context("cannot wait for it")?);
        if asked.load(Relaxed) > 1 { put_back.context(change::GivenUp) } else { put_back }
    }

    pub fn run(&self, words: &[String], change: &Change, args: &CompareArgs) -> Result<(Run, String)> {
        let (run, errors) = self.make(words, change, args)?;
        if let Some(stack) = StackResult::of(&run.record.measurement) {
            self.profile.get_or_init(|| stack.plan.profile.to_string());
        }
        Ok((run, errors))
    }

    fn make(&self, words: &[String], change: &Change, args: &CompareArgs) -> Result<(Run, String)> {
        if self.stop.load(Relaxed) {
            bail!("ended");
        }
        if let Some(kernel) = &change.kernel {
            return Ok((self.boot(kernel, words, &args.out)?, String::new()));
        }
        let (errors, wrote) = (io::pipe().context("no pipe")?, io::pipe().context("no pipe")?);
        let mut command = command(words, change, &args.out, (wrote.1, errors.1))?;
        command.envs(self.profile.get().map(|profile| (invocation::PROFILE, profile)));
        let readers = [wrote.0, errors.0].map(|mut pipe| {
            thread::spawn(move || {
                let mut all = Vec::new();
                pipe.read_to_end(&mut all).map(|_| all)
            })
        });
        let ward = Ward::start(command).context("cannot start netfathom once more")?.with_grace(GRACE);
        let signals = ward.signals();
        let status = self.attend(ward, signals).context("cannot wait for netfathom");
        let [wrote, errors] = readers.map(|reader| {
            reader.join().map_err(|_| anyhow!("a reader ended"))?.context("cannot read what netfathom writes")
        });
        let errors = errors?;
        Ok((record(status?, &wrote?, &errors, &args.out)?, of_setup(&errors)))
    }

    /// A run in a guest; its record is kept here.
    fn boot(&self, kernel: &Kernel, words: &[String], out: &Path) -> Result<Run> {
        let folder = tempfile::tempdir().context("no folder for the guest")?;
        let mut guest = kernel.boot(words, self.profile.get().map(String::as_str), folder.path())?;
        guest.process_group(0);
        let ward = Ward::start(guest).context("cannot start the guest")?;
        let signals = ward.signals();
        self.attend(ward, signals).context("cannot wait for the guest")?;
        let left = kernel.left(folder.path())?;
        let run = record(left.status, &left.record, &left.errors, out)?;
        RunDir::create(out, &run.record.id)?.write_record(&run.record)?;
        Ok(run)
    }
}

/// In a group of its own: Ctrl-C comes to us alone, and we pass it on once.
fn command(
    words: &[String],
    change: &Change,
    out: &Path,
    (to, errors): (io::PipeWriter, io::PipeWriter),
) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find out which program this is")?;
    let program = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut command = Command::new(own);
    command.args(&words[..program]).arg("--json").arg("--out").arg(out);
    command.args(change.setup.iter().map(|setup| format!("--setup={setup}")));
    command.args(&words[program..]);
    let around = [(invocation::BEFORE, &change.shown), (invocation::AFTER, &change.after)];
    command.envs(around.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))));
    command.stdin(Stdio::null()).stdout(to).stderr(errors).process_group(0);
    Ok(command)
}

/// What the commands of `--setup` wrote, each line once: both hosts of a lab say the same.
fn of_setup(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let mut lines: Vec<&str> = errors.lines().filter_map(|line| line.strip_prefix(setup::WROTE)).collect();
    lines.dedup();
    output::harmless(&lines.join("; ")).chars().take(MOST_SHOWN).collect()
}

fn record(status: ExitStatus, wrote: &[u8], errors: &[u8], out: &Path) -> Result<Run> {
    let void = i32::from(exit::VOID);
    if !matches!(status.code(), Some(code) if code == 0 || code == void) {
        let errors = String::from_utf8_lossy(errors);
        let from = errors.char_indices().rev().nth(MOST_SHOWN).map_or(0, |(place, _)| place);
        bail!("{status}: {}", errors[from..].trim());
    }
    let record: Record = serde_json::from_slice(wrote).context("the run has left no record")?;
    Ok(Run { name: out.join(&record.id).display().to_string(), record })
}
