//! The plan of `netfathom load send`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Family, Place, PlanError, conflict, range, size};
use crate::engine::{Engine, Receive};
use crate::profile::Profile;

/// More senders than any machine has CPUs for would only fight for them.
pub(super) const MOST_WORKERS: u32 = 256;

/// Frames are given to drivers.
pub(super) const NO_DRIVER: &str = "the loopback device has no driver that frames could be given to: use the lab, or --to another host, for af_xdp and xdp";

/// Which engine was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The lowest step of the ladder that reaches the profile's highest rate in time.
    Auto,
    /// This one or none.
    Only(Engine),
}

/// Which way to receive was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveChoice {
    /// The one that matches the engine.
    Auto,
    /// This one.
    Only(Receive),
}

/// How a sender waits for the next departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// Sleeps while it is far and spins the last stretch: punctual, at the price of a CPU.
    Auto,
    /// Only sleeps: late by what a wake-up takes, and leaves the CPU to others.
    Never,
}

/// The plan of `netfathom load send`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// Where: in the lab, over loopback, or to another host.
    pub place: Place,
    /// IPv4 or IPv6.
    pub family: Family,
    /// The rate over one trial, all workers together.
    pub profile: Profile,
    /// How often.
    pub trials: u32,
    /// The engine asked for.
    pub engine: EngineChoice,
    /// The way to receive asked for, where the receiver is ours.
    pub receive: ReceiveChoice,
    /// Senders at the same time; they share the profile message by message.
    pub workers: u32,
    /// UDP payload.
    pub size_bytes: usize,
    /// Seeds the poisson profile.
    pub seed: u64,
    /// CPUs of the workers, then of the receiver; empty leaves the choice to netfathom.
    pub cpus: Vec<usize>,
    /// UDP port of the receiver; 0 takes a free one.
    pub port: u16,
    /// How a sender waits.
    pub spin: Spin,
    /// Whether the far end answers each message with itself, and what that takes.
    pub echo: bool,
    /// Whether it goes on without a peer that tells what it got.
    pub one_way: bool,
    /// Where the senders write down what they sent, message by message.
    #[serde(serialize_with = "super::path_text::as_text")]
    pub log: Option<PathBuf>,
    /// Networks that may be sent to besides private ones, as `ADDR/LEN`.
    pub allow: Vec<String>,
}

impl LoadPlan {
    /// The smallest plan: one trial in the lab by single send calls. Others are made from it
    /// by changing what is to be different.
    pub fn one_trial(profile: Profile) -> Self {
        Self {
            place: Place::Lab,
            family: Family::Ipv4,
            profile,
            trials: 1,
            engine: EngineChoice::Only(Engine::Send),
            receive: ReceiveChoice::Auto,
            workers: 1,
            size_bytes: 64,
            seed: 1,
            cpus: Vec::new(),
            port: 0,
            spin: Spin::Auto,
            echo: false,
            one_way: false,
            log: None,
            allow: Vec::new(),
        }
    }

    /// Checks what the types do not; every other method may rely on it.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        size(self.size_bytes, self.place, self.family, super::Transport::Udp)?;
        range("trials", self.trials.into(), 1, 1000)?;
        range("workers", self.workers.into(), 1, MOST_WORKERS.into())?;
        let elsewhere = matches!(self.place, Place::To(_));
        if self.one_way && !elsewhere {
            return conflict("--one-way is for another host: add --to ADDR:PORT");
        }
        if self.one_way && self.allow.is_empty() {
            return conflict(
                "--one-way sends without a peer that can stop it: permit the address with --allow ADDR/LEN",
            );
        }
        if self.one_way && self.echo {
            return conflict(
                "--echo needs a peer that answers, and --one-way does without one: choose either",
            );
        }
        if elsewhere && self.receive != ReceiveChoice::Auto {
            return conflict("--receive is the far end's to choose: give it to `netfathom load sink` there");
        }
        let past_stack = |e: Engine| !e.passes_stack();
        let driver = matches!(self.engine, EngineChoice::Only(e) if past_stack(e))
            || matches!(self.receive, ReceiveChoice::Only(Receive::Xdp | Receive::AfXdp));
        if self.place == Place::Loopback && driver {
            return conflict(NO_DRIVER);
        }
        if self.echo && matches!(self.engine, EngineChoice::Only(e) if past_stack(e)) {
            return conflict(
                "--echo reads the answers from the socket that sends: choose the engine send, sendmmsg or gso",
            );
        }
        if self.echo
            && matches!(self.receive, ReceiveChoice::Only(Receive::Xdp | Receive::AfXdp | Receive::Gro))
        {
            return conflict("--echo answers each message from a socket: choose --receive recv or recvmmsg");
        }
        Ok(self)
    }
}
