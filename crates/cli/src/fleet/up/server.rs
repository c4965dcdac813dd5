//! A NATS server of the machine, with a certificate and keys that are made for it alone.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use netfathom_sys::process::{self, SIGKILL, SIGTERM, Waited, started};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyUsagePurpose};
use serde::{Deserialize, Serialize};

pub const CA: &str = "ca.pem";
pub const CONTROLLER_KEY: &str = "controller.nk";
pub const AGENT_KEY: &str = "agent.nk";
const LOG: &str = "nats.log";
const STARTS_WITHIN: Duration = Duration::from_secs(10);
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const CANNOT_END: &str = "cannot end what fleet up has started";

/// A process, with what tells it from a later one of the same number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Process {
    pid: u32,
    started: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was gone already.
    Before,
    BySignal,
    Killed,
}

impl Process {
    pub fn of(pid: u32) -> Self {
        Self { pid, started: started(pid).unwrap_or(0) }
    }

    fn is_there(self) -> bool {
        self.started > 0 && started(self.pid) == Some(self.started)
    }

    /// Ends it, if it is still the same: by this signal, or else by SIGKILL.
    pub fn end(self, signal: i32) -> Result<End> {
        let process = process::Process::open(self.pid);
        // Opened before: its number may be another's later.
        if !self.is_there() {
            return Ok(End::Before);
        }
        let process = process.context(CANNOT_END)?;
        for (signal, end) in [(signal, End::BySignal), (SIGKILL, End::Killed)] {
            let signaled = process.signal(signal);
            // It may have ended just now: no signal is an error then.
            if process.wait(ENDS_WITHIN, &AtomicBool::new(false))? == Waited::Ended {
                return Ok(end);
            }
            signaled.context(CANNOT_END)?;
        }
        bail!("{CANNOT_END}: process {} still runs after SIGKILL", self.pid)
    }
}

/// Starts one; it runs on when this program ends.
pub fn start(directory: &Path, fleet: &str, address: IpAddr, port: u16) -> Result<(Process, String)> {
    let port = if port == 0 { free_port(address)? } else { port };
    certify(directory, address)?;
    let keys = [CONTROLLER_KEY, AGENT_KEY].map(|name| key(directory, name));
    let [controller, agent] = keys;
    let path = directory.join("nats.conf");
    secret(&path, &configuration(directory, fleet, (address, port), &controller?, &agent?))?;
    let log = fs::File::create(directory.join(LOG)).context("cannot write the log of the NATS server")?;
    let mut command = Command::new("nats-server");
    command.arg("-c").arg(&path).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    let mut child = command.spawn().context(
        "cannot start nats-server: install it (apt install nats-server), or start agents with --nats at a server of yours",
    )?;
    let process = Process::of(child.id());
    let until = Instant::now() + STARTS_WITHIN;
    while TcpStream::connect((address, port)).is_err() {
        if child.try_wait()?.is_some() || Instant::now() > until {
            let message = fs::read_to_string(directory.join(LOG)).unwrap_or_default();
            let last = message.lines().last().unwrap_or("no output").to_owned();
            let _ = process.end(SIGTERM);
            bail!(
                "nats-server does not take connections at {address}, port {port}: {last}; choose another --address or --port"
            );
        }
        thread::sleep(Duration::from_millis(30));
    }
    let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
    Ok((process, format!("tls://{host}:{port}")))
}

fn free_port(address: IpAddr) -> Result<u16> {
    let at = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
    Ok(at.with_context(|| format!("--address {address} is no address of this host: see ip address"))?.port())
}

/// An authority, which only lives as long as this call, and a certificate by it: rustls refuses one that is both.
fn certify(directory: &Path, address: IpAddr) -> Result<()> {
    let authority_key = rcgen::KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate()?;
    let server = CertificateParams::new(vec![address.to_string()])?.signed_by(&key, &issuer)?;
    secret(&directory.join(CA), &ca.pem())?;
    secret(&directory.join("server.pem"), &server.pem())?;
    secret(&directory.join("server.key"), &key.serialize_pem())
}

/// A key of its own; its public half.
fn key(directory: &Path, name: &str) -> Result<String> {
    let pair = KeyPair::new_user();
    secret(&directory.join(name), &pair.seed().context("cannot make a key")?)?;
    Ok(pair.public_key())
}

fn secret(path: &Path, text: &str) -> Result<()> {
    let opened = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Each may say what it must: an agent cannot give orders, not even to itself.
fn configuration(
    directory: &Path,
    fleet: &str,
    (address, port): (IpAddr, u16),
    controller: &str,
    agent: &str,
) -> String {
    let file = |name: &str| directory.join(name).display().to_string();
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let subjects = |rest: &[&str]| -> String {
        let all: Vec<String> = rest.iter().map(|rest| format!("\"netfathom.{fleet}.{rest}\"")).collect();
        all.join(", ")
    };
    let (orders, reports) = (subjects(&["hello", "who.*", "order.*", "beat"]), subjects(&["report.>"]));
    let who = subjects(&["who.*"]);
    let inbox = format!("\"_INBOX.{fleet}.>\"");
    format!(
        "listen: \"{at}\"\nmax_payload: 1MB\nmax_connections: 8192\n\
         tls {{ cert_file: \"{certificate}\", key_file: \"{key}\", timeout: 5 }}\n\
         authorization {{ timeout: 5, users: [\n\
         {{ nkey: {controller}, permissions: {{ publish: [{orders}], subscribe: [{reports}, {inbox}] }} }}\n\
         {{ nkey: {agent}, permissions: {{ publish: [{reports}, {who}, {inbox}], subscribe: [{orders}, {inbox}] }} }}\n\
         ] }}\n",
        at = std::net::SocketAddr::new(address, port),
    )
}
