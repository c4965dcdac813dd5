//! Agents on other hosts: started and ended by a launcher such as ssh.
//!
//! All that is secret goes by standard input; a command line can be read by every user of a host.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_model::plan::as_name;
use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGUSR1;

use super::launcher::Launcher;
use super::server::{self, End, Process};
use crate::fleet::list;

/// Connections at the same time: a server of ssh turns away more (MaxStartups).
const AT_ONCE: usize = 10;
const DIRECTORY: &str = "/tmp/netfathom-agent.";
/// What a host may write before the line of its agent.
const MOST_BEFORE: u64 = 64 << 10;
/// Until a launcher that stays has started an agent; a queue of Slurm is not waited for.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agent {
    pub host: String,
    /// Where it lies on that host; empty until it has started.
    directory: String,
    pid: u32,
    /// The launcher that stays while it runs.
    launcher: Option<Process>,
}

/// What goes to each host.
pub struct Parcel {
    /// Where what launchers that stay write goes.
    logs: PathBuf,
    key: Vec<u8>,
    ca: Vec<u8>,
    /// This program, unless the hosts have one.
    program: Vec<u8>,
    path: Option<String>,
    url: String,
    fleet: String,
}

impl Parcel {
    pub fn read(directory: &Path, url: &str, fleet: &str, path: Option<String>) -> Result<Self> {
        let file =
            |name: &str| std::fs::read(directory.join(name)).with_context(|| format!("cannot read {name}"));
        let program = match path {
            Some(_) => Vec::new(),
            None => std::fs::read("/proc/self/exe")
                .context("cannot read this program to copy it: name one with --binary")?,
        };
        let (key, ca) = (file(server::AGENT_KEY)?, file(server::CA)?);
        Ok(Self { logs: directory.into(), key, ca, program, path, url: url.into(), fleet: fleet.into() })
    }

    fn input(&self) -> [&Vec<u8>; 3] {
        [&self.key, &self.ca, &self.program]
    }

    /// Runs in the shell of a host. dd reads no byte too many, which head may. What came is counted, as a connection may have
    /// been cut, and removed where it is not whole. Where the agent ends with its shell, that waits
    /// for SIGUSR1, or for the SIGTERM of `scancel`, and clears up. The agent itself ignores SIGUSR1, which comes to both.
    fn script(&self, name: &str, stays: bool) -> Result<String> {
        let (key, ca) = (self.key.len(), self.ca.len());
        let all = key + ca + self.program.len();
        let program = match &self.path {
            Some(path) => format!("p={} && set -- agent.nk ca.pem", shlex::try_quote(path)?),
            None => {
                "cat > netfathom && chmod 700 netfathom && p=./netfathom && set -- agent.nk ca.pem netfathom"
                    .into()
            }
        };
        Ok(format!(
            "umask 077; d=$(mktemp -d {DIRECTORY}XXXXXXXX) && cd \"$d\" && dd bs=1 count={key} of=agent.nk 2>/dev/null \
             && dd bs=1 count={ca} of=ca.pem 2>/dev/null && {program} && [ \"$(cat \"$@\" | wc -c)\" -eq {all} ] && \
             {{ trap '' USR1; nohup \"$p\" agent --quiet --nats {url} --nats-ca ca.pem --nats-key agent.nk --fleet {fleet} \
             --name {name} </dev/null >agent.log 2>&1 & }} && echo \"$d $!\" || {{ kill $!; rm -rf \"$d\"; exit 1; }} 2>/dev/null{wait}",
            url = shlex::try_quote(&self.url)?,
            fleet = self.fleet,
            wait = if stays { "; trap \"kill $!\" USR1 TERM; wait; wait; rm -rf \"$d\"" } else { "" },
        ))
    }
}

/// Starts an agent on each host until `asked` to end, and has what is known of it kept at once; those that could not be, with the reason.
pub fn start_all(
    launcher: &Launcher,
    hosts: &[String],
    parcel: &Parcel,
    asked: &AtomicBool,
    keep: impl Fn(&str, Option<Agent>) -> Result<()> + Sync,
) -> Vec<(String, String)> {
    let keep = |host: &str, agent| keep(host, agent).map_err(|e| e.to_string());
    failed(each(hosts, |host| {
        if asked.load(Relaxed) {
            return Err("not started: interrupted".into());
        }
        let name = as_name(list::name_of(host));
        let script = parcel.script(&name, launcher.stays()).map_err(|e| e.to_string())?;
        if launcher.stays() {
            return start_staying(launcher, host, &script, parcel, &parcel.logs.join(name + ".log"), &keep);
        }
        let output = ended(launcher, begun(launcher, host, &script, &parcel.input(), Stdio::piped())?)?;
        let last = || {
            format!("its answer is not where its agent lies: {}", output.lines().last().unwrap_or_default())
        };
        keep(host, Some(parsed(host, &output).ok_or_else(last)?))
    }))
}

/// The launcher is kept before its agent is known, and what it writes in a file: a pipe without a reader would end it at
/// its next word.
fn start_staying(
    launcher: &Launcher,
    host: &str,
    script: &str,
    parcel: &Parcel,
    log: &Path,
    keep: &impl Fn(&str, Option<Agent>) -> Result<(), String>,
) -> Result<(), String> {
    let file = File::create(log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    let mut child = begun(launcher, host, script, &parcel.input(), file.into())?;
    let process = Process::of(child.id());
    keep(host, Some(Agent { host: host.into(), directory: String::new(), pid: 0, launcher: Some(process) }))?;
    let output = child.stdout.take().ok_or("no way from its output")?;
    if let Some(agent) = first_line(host, output) {
        return keep(host, Some(Agent { launcher: Some(process), ..agent }));
    }
    process.end(SIGUSR1).map_err(|e| e.to_string())?;
    let _ = child.wait();
    keep(host, None)?;
    Err(why(launcher, &std::fs::read(log).unwrap_or_default()))
}

/// The last line that a launcher wrote.
fn why(launcher: &Launcher, errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    format!("{} failed: {}", launcher.program(), errors.lines().last().unwrap_or("no output"))
}

/// Where the agent lies, by a launcher that stays.
fn first_line(host: &str, output: ChildStdout) -> Option<Agent> {
    let (found, agent) = mpsc::channel();
    let host = host.to_owned();
    thread::spawn(move || {
        let mut lines = BufReader::new(output.take(MOST_BEFORE));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if let Some(agent) = parsed(&host, &String::from_utf8_lossy(&line)) {
                let _ = found.send(agent);
                return;
            }
            line.clear();
        }
    });
    agent.recv_timeout(STARTS_WITHIN).ok()
}

/// Ends agents and removes what they lie in; those where that failed.
pub fn end_all(launcher: &Launcher, agents: &[Agent]) -> Vec<(String, String)> {
    let ended = each(agents, |agent| {
        let Agent { host, directory, pid, launcher: stays } = agent;
        if let Some(process) = stays {
            let how = match process.end(SIGUSR1).map_err(|e| e.to_string())? {
                End::BySignal => return Ok(String::new()),
                End::Before => "had ended before",
                End::Killed => "had to be killed",
            };
            let directory = if directory.is_empty() { format!("{DIRECTORY}*") } else { directory.clone() };
            return Err(format!("{} {how}: look for {directory} there", launcher.program()));
        }
        let script = format!(
            "if [ \"$(readlink /proc/{pid}/cwd)\" = {directory} ]; then kill {pid}; i=0; \
             while [ -d /proc/{pid} ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done; kill -9 {pid} 2>/dev/null; fi; \
             rm -rf {directory}"
        );
        ended(launcher, begun(launcher, host, &script, &[], Stdio::piped())?)
    });
    failed(ended).into_iter().map(|(agent, why)| (agent.host, why)).collect()
}

fn failed<T, R>(done: Vec<(T, Result<R, String>)>) -> Vec<(T, String)> {
    done.into_iter().filter_map(|(one, done)| Some((one, done.err()?))).collect()
}

fn each<T: Clone + Sync, R: Send>(
    all: &[T],
    work: impl Fn(&T) -> Result<R, String> + Sync,
) -> Vec<(T, Result<R, String>)> {
    let mut done = Vec::new();
    for part in all.chunks(AT_ONCE) {
        let outcomes = thread::scope(|scope| {
            let started: Vec<_> = part.iter().map(|one| scope.spawn(|| work(one))).collect();
            let joined =
                started.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a thread failed".into())));
            joined.collect::<Vec<_>>()
        });
        done.extend(part.iter().cloned().zip(outcomes));
    }
    done
}

fn begun(
    launcher: &Launcher,
    host: &str,
    script: &str,
    input: &[&Vec<u8>],
    errors: Stdio,
) -> Result<Child, String> {
    let mut command = launcher.command(host, script)?;
    let mut child =
        command.stderr(errors).spawn().map_err(|e| format!("cannot run {}: {e}", launcher.program()))?;
    let mut stdin = child.stdin.take().ok_or("no way to its input")?;
    // A command that does not read to its end says why on standard error.
    let _ = input.iter().try_for_each(|bytes| stdin.write_all(bytes));
    Ok(child)
}

fn ended(launcher: &Launcher, child: Child) -> Result<String, String> {
    let done = child.wait_with_output().map_err(|e| e.to_string())?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(why(launcher, &done.stderr))
}

/// What comes from a host goes into a command of a shell later: it is what we asked for, or nothing.
fn parsed(host: &str, reply: &str) -> Option<Agent> {
    let (directory, pid) = reply.lines().last()?.trim().rsplit_once(' ')?;
    let rest = directory.strip_prefix(DIRECTORY)?;
    let plain = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric());
    let pid = pid.parse().ok().filter(|pid| *pid > 1)?;
    plain.then(|| Agent { host: host.into(), directory: directory.into(), pid, launcher: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_cannot_become_a_command() {
        let agent = parsed("h", "motd\n/tmp/netfathom-agent.aB3 17\n").unwrap();
        assert_eq!((agent.directory.as_str(), agent.pid), ("/tmp/netfathom-agent.aB3", 17));
        for bad in [
            "/tmp/netfathom-agent.a;rm 17",
            "/tmp/netfathom-agent.../x 17 0",
            "/ 7",
            "/tmp/netfathom-agent.a 1",
            "/tmp/netfathom-agent.a 17;rm",
            "",
        ] {
            assert!(parsed("h", bad).is_none(), "{bad}");
        }
    }
}
