//! Arguments of what starts and ends agents: `netfathom fleet up`, `down` and `manifest`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use netfathom_model::plan::is_name;
use serde::{Deserialize, Serialize};

use super::super::words::{Word, one_of};
use super::super::{parse_time, parse_whole};

pub const UP_EXAMPLES: &str = "\
Examples:
  netfathom fleet up --hosts hosts.txt --via ssh --address 10.0.0.1
      a server on this host at that address, and an agent on each host of the
      file, by ssh
  netfathom fleet up --hosts hosts.txt --address 10.0.0.1 -- mesh throughput
      starts the fleet, measures a mesh, ends the fleet
  netfathom fleet up --hosts nodes.txt --via srun --address 10.0.0.1
      the same by Slurm
  netfathom fleet up --hosts hosts.txt --via none --address 10.0.0.1
      the server alone; prints what starts an agent";

pub const DOWN_EXAMPLES: &str = "\
Examples:
  netfathom fleet down
      ends the agents and the server of the fleet";

pub const MANIFEST_EXAMPLES: &str = "\
Examples:
  netfathom fleet up --hosts hosts.txt --via none --address 10.0.0.1
  netfathom fleet manifest ansible > agent.yml
      a playbook that starts agents at the server of fleet up
  netfathom fleet manifest kubernetes --image registry/netfathom | \\
    kubectl apply -f -
      a Secret with the agents' key, and an agent on each node
  netfathom fleet manifest systemd --nats tls://10.0.0.1:4222
      a unit for a server of yours; put key and certificate on each host";

/// `netfathom fleet up`.
#[derive(Debug, ClapArgs)]
#[command(override_usage = "netfathom fleet up [OPTIONS] --hosts <FILE> --address <ADDR> [-- <ARGS>]")]
pub struct UpArgs {
    /// A file with a host on each line: the name by which it is reached
    #[arg(long, value_name = "FILE")]
    pub hosts: PathBuf,
    /// How agents are started
    #[arg(long, value_parser = one_of(VIAS), default_value = "ssh")]
    pub via: Via,
    /// Address of this host at which the others reach the server
    #[arg(long, value_name = "ADDR")]
    pub address: IpAddr,
    /// The port of the server; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// What runs commands on hosts, instead of the usual command and its options: ssh -o BatchMode=yes, srun --overlap
    /// --immediate=30 --nodes=1 --ntasks=1, kubectl exec --stdin
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,
    /// Path of netfathom on the hosts [default: this one is copied]
    #[arg(long, value_name = "PATH")]
    pub binary: Option<String>,
    /// How long to wait for the agents
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub wait: u64,
    /// The name of the fleet
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub fleet: String,
    /// Measure this, as after `netfathom fleet`, and end the fleet again
    #[arg(last = true, value_name = "ARGS")]
    pub measure: Vec<String>,
}

/// How agents are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    Ssh,
    Srun,
    Kubectl,
    None,
}

const VIAS: &[Word<Via>] = &[
    ("ssh", Via::Ssh, "By ssh, from this host"),
    ("srun", Via::Srun, "By Slurm: hosts are nodes, and each agent runs in a job, or in that of salloc"),
    ("kubectl", Via::Kubectl, "By kubectl exec: hosts are pods, with a shell in them"),
    ("none", Via::None, "By you: the command is printed"),
];

/// `netfathom fleet down`.
#[derive(Debug, ClapArgs)]
pub struct DownArgs {
    /// The name of the fleet
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub fleet: String,
}

/// `netfathom fleet manifest`.
#[derive(Debug, ClapArgs)]
pub struct ManifestArgs {
    /// What starts the agents
    #[arg(value_parser = one_of(MANIFESTS))]
    pub by: Manifest,
    /// Path of netfathom on the hosts (systemd, Ansible)
    #[arg(long, value_name = "PATH", default_value = "/usr/bin/netfathom", value_parser = parse_rooted)]
    pub binary: String,
    /// Directory of key and certificate on the hosts (systemd, Ansible)
    #[arg(long, value_name = "DIR", default_value = "/etc/netfathom", value_parser = parse_rooted)]
    pub credentials: String,
    /// Image with netfathom (Kubernetes)
    #[arg(long, value_name = "NAME", default_value = "netfathom", value_parser = parse_plain)]
    pub image: String,
    /// Server that the agents join, over TLS [default: that of fleet up]
    #[arg(help_heading = "NATS server", long, value_name = "URL", value_parser = parse_tls)]
    pub nats: Option<String>,
    /// Certificate of the CA that signed the server's [default: that of fleet up]
    #[arg(help_heading = "NATS server", long, value_name = "FILE", requires = "nats")]
    pub nats_ca: Option<PathBuf>,
    /// The key of the agents [default: that of fleet up]
    #[arg(help_heading = "NATS server", long, value_name = "FILE", requires = "nats")]
    pub nats_key: Option<PathBuf>,
    /// The name of the fleet
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub fleet: String,
}

/// What starts agents that netfathom does not start itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manifest {
    Kubernetes,
    Systemd,
    Ansible,
}

const MANIFESTS: &[Word<Manifest>] = &[
    ("kubernetes", Manifest::Kubernetes, "A Secret and a DaemonSet"),
    ("systemd", Manifest::Systemd, "A unit"),
    ("ansible", Manifest::Ansible, "A playbook, which starts the unit on each host"),
];

/// The name of a host or a fleet.
pub fn parse_name(text: &str) -> Result<String, String> {
    is_name(text).then(|| text.into()).ok_or_else(|| "a name has 1 to 64 letters, digits, `-` and `_`".into())
}

/// A value of a manifest: no letter of it is read in another way by a shell, YAML, or a unit.
pub fn parse_plain(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/:@[]+".contains(&b);
    let whole = !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain);
    whole.then(|| text.into()).ok_or_else(|| "only letters, digits and ._-/:@[]+ can stand there".into())
}

fn parse_rooted(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err("it is a path of the hosts: begin it with /".into());
    }
    parse_plain(text)
}

fn parse_tls(text: &str) -> Result<String, String> {
    if !text.starts_with("tls://") {
        return Err("agents join from other hosts: name the server as tls://HOST:PORT".into());
    }
    if text.contains('@') {
        return Err("a password in it could be read by every user of a host: give the agents a key".into());
    }
    parse_plain(text)
}
