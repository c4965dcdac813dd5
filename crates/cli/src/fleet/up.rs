//! `netfathom fleet up` and `down`: a NATS server with a certificate and keys of its own, and agents by a launcher.
//!
//! What it makes lies in one directory that only its user can read: `$XDG_RUNTIME_DIR/netfathom/fleet-NAME`.

mod launcher;
mod remote;
mod server;

use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use netfathom_fleet::access::Access;
use netfathom_fleet::controller;
use netfathom_model::plan::as_name;
use netfathom_results::story;
use netfathom_sys::process::Process;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGCONT, SIGINT, SIGTERM};

use self::launcher::Launcher;
use super::list;
use crate::args::{DownArgs, UpArgs, Via};
use crate::{exit, output, plans, stop};

const STATE: &str = "state.json";
/// Between two looks at who has come.
const AGAIN: Duration = Duration::from_millis(300);
/// How often what was interrupted is ended once more.
const MOST_ENDS: usize = 5;
/// Between two looks at a measurement and at signals.
const LOOK: Duration = Duration::from_millis(20);

/// What `fleet up` has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    directory: PathBuf,
    fleet: String,
    url: String,
    server: server::Process,
    launcher: Launcher,
    agents: Vec<remote::Agent>,
    /// The names of all hosts of the list, also of those without an agent.
    pub hosts: Vec<String>,
}

impl State {
    /// The state of a fleet; `None` of one that is not up.
    pub fn read(fleet: &str) -> Result<Option<Self>> {
        let path = directory(fleet).join(STATE);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let form =
            || format!("cannot read {}: remove that directory, and run fleet up again", path.display());
        serde_json::from_str(&text).map(Some).with_context(form)
    }

    fn write(&self) -> Result<()> {
        let (path, fresh) = (self.directory.join(STATE), self.directory.join("state.new"));
        let written = fs::write(&fresh, serde_json::to_string(self)?);
        written
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn access(&self) -> Access {
        Access {
            url: self.url.clone(),
            ca: Some(self.directory.join(server::CA)),
            key: Some(self.directory.join(server::CONTROLLER_KEY)),
            plaintext: false,
            fleet: self.fleet.clone(),
        }
    }

    pub fn access_of_agents(&self) -> Access {
        Access { key: Some(self.directory.join(server::AGENT_KEY)), ..self.access() }
    }
}

fn directory(fleet: &str) -> PathBuf {
    let home =
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into())).join(".local/state");
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let base = runtime.unwrap_or_else(|| if plans::is_root() { "/run".into() } else { home() });
    base.join("netfathom").join(format!("fleet-{fleet}"))
}

pub fn up(args: &UpArgs) -> Result<ExitCode> {
    // What was up before is refused, and not ours to end.
    if args.measure.is_empty() || State::read(&args.fleet)?.is_some() {
        return begin(args, &AtomicBool::new(false));
    }
    // The first Ctrl-C ends what is measured after what it has, the second at once; the fleet is ended all the same.
    let asked = stop::noted()?;
    let began = begin(args, &asked);
    if State::read(&args.fleet)?.is_none() {
        return began;
    }
    let measured = began.and_then(|_| measure(args, &asked));
    let ended = end(&args.fleet, &asked)?;
    let measured = measured?;
    Ok(if ended == ExitCode::SUCCESS { measured } else { ended })
}

fn measure(args: &UpArgs, asked: &AtomicBool) -> Result<ExitCode> {
    if asked.load(Relaxed) {
        return Ok(stop::BY_SIGNAL.into());
    }
    let mut command = Command::new(env::current_exe().context("cannot find this program")?);
    // Of its own group: what a terminal signals comes to it once, by this program.
    command.arg("fleet").args(&args.measure).args(["--fleet", &args.fleet]).process_group(0);
    let mut child = command.spawn().context("cannot start the measurement")?;
    let process = Process::open(child.id()).inspect_err(|_| drop(child.kill()));
    let process = process.context("cannot follow the measurement")?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if asked.swap(false, Relaxed) {
            // Stopped by its terminal (stty tostop), it could not end.
            let _ = process.signal(SIGINT).and_then(|()| process.signal(SIGCONT));
        }
        std::thread::sleep(LOOK);
    };
    // A signal has no status of its own.
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1).into())
}

/// Once `asked` it waits for no more agents.
fn begin(args: &UpArgs, asked: &AtomicBool) -> Result<ExitCode> {
    if args.via == Via::None && !args.measure.is_empty() {
        return output::misused("--via none starts no agents that could measure: leave -- out");
    }
    if args.via == Via::None && args.command.is_some() {
        return output::misused("--via none runs no command on hosts: leave --command out");
    }
    let hosts = list::read_hosts(&args.hosts)?;
    if State::read(&args.fleet)?.is_some() {
        bail!(
            "the fleet {0} is up: end it with netfathom fleet down --fleet {0}, or choose another --fleet",
            args.fleet
        );
    }
    let launcher = Launcher::new(args.via, args.command.as_deref())?;
    let directory = directory(&args.fleet);
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&directory);
    made.with_context(|| format!("cannot make {}", directory.display()))?;
    let started = server::start(&directory, &args.fleet, args.address, args.port);
    let (process, url) = started.inspect_err(|_| drop(fs::remove_dir_all(&directory)))?;
    let mut state = State {
        directory,
        fleet: args.fleet.clone(),
        url,
        server: process,
        launcher,
        agents: Vec::new(),
        hosts: hosts.iter().map(|host| as_name(list::name_of(host))).collect(),
    };
    // From now on `fleet down` finds what there is.
    if let Err(why) = state.write() {
        state.server.end(SIGTERM)?;
        let _ = fs::remove_dir_all(&state.directory);
        return Err(why);
    }
    match args.via {
        Via::None => output::answer(&by_hand(&state)),
        _ => by_launcher(args, &hosts, &mut state, asked),
    }
}

/// What starts an agent, for those who do it themselves.
fn by_hand(state: &State) -> String {
    let directory = state.directory.display();
    format!(
        "The server is at {url}. Copy to each host (chmod 600):\n\n    \
         {directory}/{key}\n    {directory}/{ca}\n\nand run there:\n\n    \
         netfathom agent --nats {url} --nats-ca {ca} --nats-key {key} --fleet {fleet} --name NAME\n\nThen: \
         netfathom fleet hosts --fleet {fleet}\nKubernetes, systemd, Ansible: netfathom fleet manifest KIND --fleet {fleet}",
        url = state.url,
        key = server::AGENT_KEY,
        ca = server::CA,
        fleet = state.fleet
    )
}

fn by_launcher(args: &UpArgs, hosts: &[String], state: &mut State, asked: &AtomicBool) -> Result<ExitCode> {
    let parcel = remote::Parcel::read(&state.directory, &state.url, &state.fleet, args.binary.clone())?;
    let launcher = state.launcher.clone();
    // One by one, so that fleet down finds them if this one is ended.
    let kept = Mutex::new(&mut *state);
    let keep = |host: &str, agent| {
        let mut state = kept.lock().unwrap_or_else(PoisonError::into_inner);
        state.agents.retain(|known| known.host != host);
        state.agents.extend(agent);
        state.write()
    };
    for (host, why) in remote::start_all(&launcher, hosts, &parcel, asked, keep) {
        output::complain(&anyhow::anyhow!("{host}: {why}"));
    }
    let until = Instant::now() + Duration::from_nanos(args.wait);
    loop {
        let (hosts, _) = controller::hosts(&state.access(), &state.hosts)?;
        let missing = hosts.iter().filter(|host| host.missing.is_some()).count();
        let all_came = missing + state.agents.len() <= state.hosts.len();
        if all_came || asked.load(Relaxed) || Instant::now() > until {
            output::page(&story::fleet::page_of(&hosts), true)?;
            if missing == hosts.len() && args.measure.is_empty() {
                let fleet = &state.fleet;
                output::aside(&format!("nats-server stays up: netfathom fleet down --fleet {fleet} ends it"));
            }
            return Ok(if missing == 0 { ExitCode::SUCCESS } else { exit::PARTIAL.into() });
        }
        std::thread::sleep(AGAIN);
    }
}

pub fn down(args: &DownArgs) -> Result<ExitCode> {
    end(&args.fleet, &AtomicBool::new(false))
}

/// A terminal signals launchers too: what one of them had to end is tried again.
fn end(fleet: &str, asked: &AtomicBool) -> Result<ExitCode> {
    let Some(state) = State::read(fleet)? else {
        bail!("the fleet {fleet} is not up: fleet up starts one");
    };
    asked.store(false, Relaxed);
    let mut failed = remote::end_all(&state.launcher, &state.agents);
    for _ in 0..MOST_ENDS {
        if failed.is_empty() || !asked.swap(false, Relaxed) {
            break;
        }
        let left = |agent: &&remote::Agent| failed.iter().any(|(host, _)| *host == agent.host);
        let left: Vec<remote::Agent> = state.agents.iter().filter(left).cloned().collect();
        failed = remote::end_all(&state.launcher, &left);
    }
    for (host, why) in &failed {
        output::complain(&anyhow::anyhow!("{host}: its agent may still run: {why}"));
    }
    state.server.end(SIGTERM)?;
    let gone = fs::remove_dir_all(&state.directory);
    gone.with_context(|| format!("cannot remove {}", state.directory.display()))?;
    output::print(&format!("ended {} agents and the server", state.agents.len() - failed.len()))?;
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { exit::FAILED.into() })
}
