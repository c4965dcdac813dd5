//! `netfathom fleet manifest`: what starts agents by a program that users have.
//!
//! The templates are whole; here only the few values are put in that differ from fleet to fleet.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use netfathom_fleet::access::Access;

use super::up::State;
use crate::args::{Manifest, ManifestArgs, parse_plain};
use crate::output;

const UNIT: &str = include_str!("manifest/agent.service");
const DAEMON_SET: &str = include_str!("manifest/agent.yaml");
const PLAYBOOK: &str = include_str!("manifest/agent.yml");
/// The name of a host in the fleet: as `fleet up` makes it of the same list.
const NAME_IN_INVENTORY: &str = " --name {{ inventory_hostname | regex_replace('^.*@', '') | regex_replace('[^A-Za-z0-9-]', '_') | truncate(64, true, '', 0) }}";
/// Kubernetes has labels of at most 63 letters, and adds letters of its own to the names of pods.
const LONGEST_NAME: usize = 40;

const NOT_UP: &str = "no server: run netfathom fleet up --via none, or name a server of yours by --nats, --nats-ca and --nats-key";

pub fn print(args: &ManifestArgs) -> Result<ExitCode> {
    if let Err(why) = named(args) {
        return output::misused(why);
    }
    let access = access(args)?;
    let text = match args.by {
        Manifest::Systemd => unit(args, &access.url, ""),
        Manifest::Kubernetes => daemon_set(args, &access)?,
        Manifest::Ansible => playbook(args, &access)?,
    };
    output::answer(text.trim_end())
}

fn named(args: &ManifestArgs) -> Result<()> {
    let fleet = &args.fleet;
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if fleet.starts_with('-') {
        bail!("--fleet {fleet}: a name that begins with - would be taken for an option");
    }
    let short = fleet.len() <= LONGEST_NAME && fleet.bytes().all(lower) && !fleet.ends_with('-');
    if args.by == Manifest::Kubernetes && !short {
        bail!(
            "--fleet {fleet}: Kubernetes takes names of up to {LONGEST_NAME} lower-case letters, digits and `-`"
        );
    }
    Ok(())
}

/// As typed, or as `fleet up` has left it for agents.
fn access(args: &ManifestArgs) -> Result<Access> {
    let Some(url) = &args.nats else {
        return Ok(State::read(&args.fleet)?.context(NOT_UP)?.access_of_agents());
    };
    let (ca, key) = (args.nats_ca.clone(), args.nats_key.clone());
    Ok(Access { url: url.clone(), ca, key, plaintext: false, fleet: args.fleet.clone() })
}

/// Where a file of this host lies.
fn path(option: &str, path: Option<&PathBuf>) -> Result<String> {
    let path = path.with_context(|| format!("{option}: {NOT_UP}"))?;
    let whole =
        fs::canonicalize(path).with_context(|| format!("{option}: cannot read {}", path.display()))?;
    parse_plain(&whole.to_string_lossy())
        .map_err(|why| anyhow!("{option} {}: {why}: copy it elsewhere", whole.display()))
}

fn unit(args: &ManifestArgs, url: &str, more: &str) -> String {
    let values = [
        ("BINARY", &*args.binary),
        ("CREDENTIALS", &args.credentials),
        ("URL", url),
        ("FLEET", &args.fleet),
        ("MORE", more),
    ];
    filled(UNIT, &values)
}

fn playbook(args: &ManifestArgs, access: &Access) -> Result<String> {
    let unit = indented(&unit(args, &access.url, NAME_IN_INVENTORY), 10);
    let values = [
        ("BINARY", &*args.binary),
        ("CREDENTIALS", &args.credentials),
        ("FLEET", &args.fleet),
        ("KEY_FILE", &path("--nats-key", access.key.as_ref())?),
        ("CA_FILE", &path("--nats-ca", access.ca.as_ref())?),
        ("UNIT", &unit),
    ];
    Ok(filled(PLAYBOOK, &values))
}

fn daemon_set(args: &ManifestArgs, access: &Access) -> Result<String> {
    let text = |option, file: Option<&PathBuf>| -> Result<String> {
        let file = path(option, file)?;
        Ok(indented(&fs::read_to_string(&file).with_context(|| format!("{option}: cannot read {file}"))?, 4))
    };
    let values = [
        ("FLEET", &*args.fleet),
        ("URL", &access.url),
        ("IMAGE", &args.image),
        ("KEY", &text("--nats-key", access.key.as_ref())?),
        ("CA", &text("--nats-ca", access.ca.as_ref())?),
    ];
    Ok(filled(DAEMON_SET, &values))
}

fn filled(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}

fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("{:by$}{line}", "").trim_end().to_owned()).collect();
    lines.join("\n")
}
