//! Why a fleet could not be reached, or measured with.

use netfathom_measure::ground::error::{Failure, Mistake};

use crate::agent::MOST_TASKS;

/// Pairs of a mesh: what 500 hosts have, both ways.
pub const MOST_PAIRS: usize = 250_000;

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("cannot connect to the NATS server {url}: {why}; {remedy}")]
    Connect { url: String, why: String, remedy: &'static str },
    #[error(
        "{0} is no loopback address, and plans and results would cross the network in the clear: use tls://, or \
         --plaintext if the network is your own"
    )]
    Plaintext(String),
    #[error("`{0}` is no address of a NATS server: write nats://HOST:PORT or tls://HOST:PORT")]
    Url(String),
    #[error("cannot read {path}: {source}; name the file that holds {what}")]
    Key { path: String, what: &'static str, source: std::io::Error },
    #[error("{0} is a file that others may read or write: chmod 600 it, since it is the key of this fleet")]
    KeyMode(String),
    #[error(
        "no agent answers in fleet {fleet} at {url}: start one on each host with netfathom agent --nats {url}"
    )]
    NoAgents { fleet: String, url: String },
    #[error("{0} of the hosts answer, and it takes two: {1}")]
    TooFew(usize, String),
    #[error(
        "more agents answer than a fleet has hosts, and {0} answers are left out: name the hosts that are meant with \
         --hosts FILE"
    )]
    Crowd(usize),
    #[error("{0} senders are more than the {most} that one host receives from: fewer --instances", most = MOST_TASKS)]
    TooMany(usize),
    #[error("a mesh of {0} hosts has more than {most} pairs: give --peers N, or name fewer with --hosts FILE", most = MOST_PAIRS)]
    TooManyPairs(usize),
    #[error("no host {0} in this fleet: netfathom fleet hosts lists those that answer")]
    NoHost(String),
    #[error("cannot start the runtime of the NATS client: {0}; free memory or raise the limit of threads")]
    Runtime(std::io::Error),
    #[error(
        "the NATS server {url} is gone: {why}; start it again: agents that still run come back by themselves"
    )]
    Lost { url: String, why: String },
    #[error(
        "an agent of the name {name} is in this fleet already, on a host with kernel {kernel}: choose another --name"
    )]
    Taken { name: String, kernel: String },
}

impl Failure for FleetError {
    fn mistake(&self) -> Option<Mistake> {
        matches!(self, Self::Plaintext(_) | Self::Url(_) | Self::NoHost(_)).then_some(Mistake::Named)
    }
}
