//! Agents on other hosts: started and ended by a launcher such as ssh.
//!
//! All that is secret goes by standard input; a command line can be read by every user of a host.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::thread;

use anyhow::{Context, Result};
use netfathom_model::plan::as_name;
use serde::{Deserialize, Serialize};

use super::launcher::Launcher;
use super::server::{self, Process};
use crate::fleet::list;

/// Connections at the same time: a server of ssh turns away more (MaxStartups).
const AT_ONCE: usize = 10;
const DIRECTORY: &str = "/tmp/netfathom-agent.";

/// An agent that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agent {
    host: String,
    /// Where it lies on that host.
    directory: String,
    pid: u32,
    /// The launcher that stays while it runs.
    launcher: Option<Process>,
}

/// What goes to each host.
pub struct Parcel {
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
        Ok(Self { key, ca, program, path, url: url.into(), fleet: fleet.into() })
    }

    /// Runs in the shell of a host. dd reads no byte too many, which head may. Where the agent ends with its shell, that waits
    /// for SIGUSR1, or for the SIGTERM of `scancel`, and clears up. The agent itself ignores SIGUSR1, which comes to both.
    fn script(&self, name: &str, stays: bool) -> Result<String> {
        let (key, ca) = (self.key.len(), self.ca.len());
        let program = match &self.path {
            Some(path) => format!("p={}; ", shlex::try_quote(path)?),
            None => "cat > netfathom && chmod 700 netfathom && p=./netfathom && ".into(),
        };
        Ok(format!(
            "umask 077; d=$(mktemp -d {DIRECTORY}XXXXXXXX) && cd \"$d\" && dd bs=1 count={key} of=agent.nk 2>/dev/null \
             && dd bs=1 count={ca} of=ca.pem 2>/dev/null && {program}\
             {{ trap '' USR1; nohup \"$p\" agent --quiet --nats {url} --nats-ca ca.pem --nats-key agent.nk --fleet {fleet} \
             --name {name} </dev/null >agent.log 2>&1 & }} && echo \"$d $!\"{wait}",
            url = shlex::try_quote(&self.url)?,
            fleet = self.fleet,
            wait = if stays { "; trap \"kill $!\" USR1 TERM; wait; wait; rm -rf \"$d\"" } else { "" },
        ))
    }
}

/// Starts an agent on each host, and has each kept at once; those that could not be, with the reason.
pub fn start_all(
    launcher: &Launcher,
    hosts: &[String],
    parcel: &Parcel,
    keep: impl Fn(Agent) -> Result<()> + Sync,
) -> Vec<(String, String)> {
    let start = |host: &String| -> Result<Agent, String> {
        let script =
            parcel.script(&as_name(list::name_of(host)), launcher.stays()).map_err(|e| e.to_string())?;
        let mut child = begun(launcher, host, &script, &[&parcel.key, &parcel.ca, &parcel.program])?;
        let mut said = String::new();
        if launcher.stays() {
            // The line comes long before the end. From then on there is nothing to read, and nobody who does.
            let mut lines = BufReader::new(child.stdout.take().ok_or("no way from its output")?);
            while lines.read_line(&mut said).is_ok_and(|n| n > 0) {
                if let Some(agent) = parsed(host, &said) {
                    return Ok(Agent { launcher: Some(Process::of(child.id())), ..agent });
                }
            }
        }
        said += &ended(launcher, child)?;
        parsed(host, &said).ok_or_else(|| {
            format!("it did not say where its agent is, but: {}", said.lines().last().unwrap_or_default())
        })
    };
    failed(each(hosts, |host| keep(start(host)?).map_err(|e| e.to_string())))
}

/// Ends agents and removes what they lie in; those where that failed.
pub fn end_all(launcher: &Launcher, agents: &[Agent]) -> Vec<(String, String)> {
    let ended = each(agents, |agent| {
        let Agent { host, directory, pid, launcher: stays } = agent;
        if let Some(process) = stays {
            let by_itself = process.end("-USR1").map_err(|e| e.to_string())?;
            let left = || format!("{} did not end by itself: look for {directory} there", launcher.program());
            return by_itself.then(String::new).ok_or_else(left);
        }
        let script = format!(
            "if [ \"$(readlink /proc/{pid}/cwd)\" = {directory} ]; then kill {pid}; i=0; \
             while [ -d /proc/{pid} ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done; kill -9 {pid} 2>/dev/null; fi; \
             rm -rf {directory}"
        );
        ended(launcher, begun(launcher, host, &script, &[])?)
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

fn begun(launcher: &Launcher, host: &str, script: &str, input: &[&Vec<u8>]) -> Result<Child, String> {
    let mut command = launcher.command(host, script)?;
    let mut child = command.spawn().map_err(|e| format!("cannot run {}: {e}", launcher.program()))?;
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
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(format!("{} failed: {}", launcher.program(), said.lines().last().unwrap_or("no output")))
}

/// What comes from a host goes into a command of a shell later: it is what we asked for, or nothing.
fn parsed(host: &str, said: &str) -> Option<Agent> {
    let (directory, pid) = said.lines().last()?.trim().rsplit_once(' ')?;
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
