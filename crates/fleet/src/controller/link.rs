//! The way to the agents: a call to all, orders to one, and reports that come when they are ready.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Client, RequestErrorKind};
use futures_util::StreamExt;
use netfathom_model::plan::{MOST_HOSTS, is_name};
use netfathom_model::record::FleetClock;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::access::Access;
use crate::error::FleetError;
use crate::wire::{self, Answer, Beat, Facts, Order, Outcome, Report, Task, plain};

/// How often agents hear that the controller is there.
const BEAT: Duration = Duration::from_millis(130);
/// After the last answer to a call no other is waited for.
const QUIET: Duration = Duration::from_millis(400);
const CALL_WITHIN: Duration = Duration::from_secs(3);
pub const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// An order is void after this.
const ORDER_NS: u64 = 10_000_000_000;
/// How often it is looked whether an agent that works is still there.
const LOOK: Duration = Duration::from_millis(400);
/// A server that was away for so long does not come back in time.
const AWAY: Duration = Duration::from_secs(3);
/// When it is back, agents have so long to come back too: several of their attempts.
const BACK: Duration = Duration::from_millis(1500);

/// An agent that takes part.
#[derive(Clone, Debug)]
pub struct Member {
    pub facts: Facts,
    /// When the facts came.
    at: Instant,
    pub clock: Option<FleetClock>,
}

impl Member {
    /// Its CLOCK_REALTIME now, as far as one message can say.
    pub fn now_utc_ns(&self) -> u64 {
        self.facts.now_utc_ns.saturating_add(self.at.elapsed().as_nanos() as u64)
    }
}

pub struct Called {
    pub name: String,
    pub member: Result<Member, String>,
}

impl Called {
    /// Whether both are of one agent, as far as they say.
    fn is(&self, other: &Self) -> bool {
        let incarnation = |called: &Self| called.member.as_ref().ok().map(|m| m.facts.incarnation.clone());
        incarnation(self) == incarnation(other)
    }
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The agent is there.
    Failed(String),
    /// It is not.
    Gone(String),
}

impl Miss {
    pub fn why(&self) -> &str {
        match self {
            Self::Failed(why) | Self::Gone(why) => why,
        }
    }
}

/// An order that was taken.
pub struct Started {
    pub port: Option<u16>,
    report: oneshot::Receiver<Outcome>,
}

type Waiting = Mutex<HashMap<(String, String, u64), oneshot::Sender<Outcome>>>;

pub struct Link {
    access: Access,
    client: Client,
    base: String,
    round: AtomicU64,
    number: AtomicU64,
    waiting: Arc<Waiting>,
    away_since: Mutex<Option<Instant>>,
    /// How often it had connected when the round began: if it does anew, messages of this round are lost.
    connects: AtomicU64,
}

/// What agents of every version say.
#[derive(Deserialize)]
struct Minimal {
    version: u32,
    name: String,
}

impl Link {
    pub async fn open(access: &Access) -> Result<Arc<Self>, FleetError> {
        let client = access.connect("netfathom fleet").await?;
        let (base, waiting) = (super::drawn(), Arc::new(Waiting::default()));
        let lost =
            |e: async_nats::SubscribeError| FleetError::Lost { url: access.shown(), why: e.to_string() };
        let reports = client.subscribe(access.subject(&format!("report.{base}.*"))).await.map_err(lost)?;
        tokio::spawn(hear(reports, Arc::clone(&waiting)));
        tokio::spawn(beat(client.clone(), access.subject("beat"), base.clone()));
        let (round, number) = (AtomicU64::new(0), AtomicU64::new(0));
        let connects = AtomicU64::new(connects(&client));
        let (access, away_since) = (access.clone(), Mutex::default());
        Ok(Arc::new(Self { access, client, base, round, number, waiting, away_since, connects }))
    }

    /// Everyone who answers, or all of `expected`, where there are names: these are called again while they are missing, since
    /// an agent that is being started does not hear the first call. And how many answers there was no room for.
    pub async fn call(&self, expected: &[String]) -> Result<(Vec<Called>, usize), FleetError> {
        let lost = |why: String| FleetError::Lost { url: self.access.shown(), why };
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(|e| lost(e.to_string()))?;
        let hello = || self.client.publish_with_reply(self.access.subject("hello"), inbox.clone(), "".into());
        hello().await.map_err(|e| lost(e.to_string()))?;
        let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
        let mut missing = expected.clone();
        let mut all: BTreeMap<String, Called> = BTreeMap::new();
        let mut left_out = 0;
        let until = Instant::now() + CALL_WITHIN;
        while Instant::now() < until {
            let message = match timeout(QUIET.min(until - Instant::now()), answers.next()).await {
                Ok(Some(message)) => message,
                Err(_) if !missing.is_empty() => {
                    hello().await.map_err(|e| lost(e.to_string()))?;
                    continue;
                }
                _ => break,
            };
            let called = called_from(&message.payload);
            let meant = |called: &Called| expected.is_empty() || expected.contains(called.name.as_str());
            let Some(called) = called.filter(meant) else { continue };
            missing.remove(called.name.as_str());
            if let Some(twin) = all.get_mut(&called.name) {
                if !twin.is(&called) {
                    twin.member = Err("two agents have this name: give one of them another --name".into());
                }
            } else if all.len() < MOST_HOSTS as usize {
                all.insert(called.name.clone(), called);
            } else {
                left_out += 1;
            }
            if missing.is_empty() && !expected.is_empty() {
                break;
            }
        }
        Ok((all.into_values().collect(), left_out))
    }

    /// Sets the agents free for others.
    pub async fn release(&self) {
        let beat = Beat { session: self.base.clone(), over: true };
        let _ = self.client.publish(self.access.subject("beat"), wire::written(&beat).into()).await;
        let _ = timeout(QUIET, self.client.flush()).await;
    }

    /// From now on orders are of another round, which ends what is left of the one before.
    pub fn next_round(&self) {
        self.connects.store(connects(&self.client), Relaxed);
        self.round.fetch_add(1, Relaxed);
    }

    /// Waits until the server is there, and the agents are if it was away; why nothing more can come.
    pub async fn ready(&self) -> Option<String> {
        while self.client.connection_state() != State::Connected {
            if let Some(why) = self.cut() {
                return Some(why);
            }
            sleep(BEAT).await;
        }
        if self.was_away().is_some() {
            sleep(BACK).await;
        }
        None
    }

    pub async fn order(&self, to: &Member, task: Task) -> Result<Started, Miss> {
        let number = self.number.fetch_add(1, Relaxed) + 1;
        let facts = &to.facts;
        let key = (facts.name.clone(), facts.incarnation.clone(), number);
        let order = Order {
            version: wire::VERSION,
            to: (facts.name.clone(), facts.incarnation.clone()),
            session: format!("{}.{}", self.base, self.round.load(Relaxed)),
            number,
            expires_utc_ns: to.now_utc_ns() + ORDER_NS,
            task,
        };
        let (send, report) = oneshot::channel();
        self.waiting.lock().insert(key.clone(), send);
        let subject = self.access.subject(&format!("order.{}", facts.name));
        let asked = timeout(ANSWER_WITHIN, self.client.request(subject, wire::written(&order).into())).await;
        let answer = match asked {
            Ok(Ok(message)) => {
                wire::read::<Answer>(&message.payload, wire::MOST_ORDER_BYTES).map_err(Miss::Failed)
            }
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Err(self.gone()),
            Ok(Err(error)) => Err(Miss::Failed(format!("the order could not be given: {error}"))),
            Err(_) => Err(self.silent(ANSWER_WITHIN)),
        };
        let miss = match answer {
            Ok(Answer::Taken { port }) => return Ok(Started { port, report }),
            Ok(Answer::Refused { why }) => Miss::Failed(format!("{} refused: {}", facts.name, plain(&why))),
            Err(miss) => miss,
        };
        self.waiting.lock().remove(&key);
        Err(miss)
    }

    /// What comes of an order, if that comes within a time and the agent is there so long.
    pub async fn outcome(&self, of: &Member, started: Started, within: Duration) -> Result<Outcome, Miss> {
        let mut report = started.report;
        let until = Instant::now() + within;
        loop {
            tokio::select! {
                outcome = &mut report => return match outcome {
                    Ok(Outcome::Failed { why }) => Err(Miss::Failed(format!("{}: {}", of.facts.name, plain(&why)))),
                    Ok(outcome) => outcome.checked().ok_or_else(|| {
                        Miss::Failed(format!("{} reported what no measurement finds", of.facts.name))
                    }),
                    Err(_) => Err(Miss::Failed("its report was not read".into())),
                },
                () = sleep(LOOK) => self.is_there(of).await?,
            }
            if Instant::now() > until {
                return Err(self.silent(within));
            }
        }
    }

    /// Whether an agent is there, and the same as before.
    async fn is_there(&self, member: &Member) -> Result<(), Miss> {
        if let Some(why) = self.cut().or_else(|| self.was_away()) {
            return Err(Miss::Failed(why));
        }
        let subject = self.access.subject(&format!("who.{}", member.facts.name));
        match timeout(ANSWER_WITHIN, self.client.request(subject, "".into())).await {
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Err(self.gone()),
            Ok(Ok(message)) => match wire::read::<Facts>(&message.payload, wire::MOST_ORDER_BYTES) {
                Ok(facts) if facts.incarnation != member.facts.incarnation => {
                    Err(Miss::Gone("its agent was started anew while it took part".into()))
                }
                _ => Ok(()),
            },
            // A server that is away is noticed elsewhere; a busy host may be slow.
            _ => Ok(()),
        }
    }

    fn silent(&self, within: Duration) -> Miss {
        self.missing(format!("its agent did not answer within {:.0} s", within.as_secs_f64()))
    }

    fn gone(&self) -> Miss {
        self.missing("its agent is gone".into())
    }

    /// Of an agent that cannot be heard: it is gone, unless the server was.
    fn missing(&self, why: String) -> Miss {
        self.cut().or_else(|| self.was_away()).map_or(Miss::Gone(why), Miss::Failed)
    }

    /// Why what belongs to this round may be lost.
    fn was_away(&self) -> Option<String> {
        let away = connects(&self.client) != self.connects.load(Relaxed);
        away.then(|| format!("the NATS server {} was away meanwhile", self.access.shown()))
    }

    /// Why nothing more can come, if the server is away for long.
    pub fn cut(&self) -> Option<String> {
        let mut away = self.away_since.lock();
        if self.client.connection_state() == State::Connected {
            *away = None;
            return None;
        }
        let since = away.get_or_insert_with(Instant::now).elapsed();
        (since > AWAY).then(|| format!("the NATS server {} is gone", self.access.shown()))
    }
}

fn connects(client: &Client) -> u64 {
    client.statistics().connects.load(Relaxed)
}

fn called_from(payload: &[u8]) -> Option<Called> {
    let name = wire::read::<Minimal>(payload, wire::MOST_ORDER_BYTES).ok().filter(|m| is_name(&m.name))?;
    let member = match wire::read::<Facts>(payload, wire::MOST_ORDER_BYTES) {
        _ if name.version != wire::VERSION => {
            let (theirs, own) = (name.version, wire::VERSION);
            Err(format!("its agent speaks version {theirs}, not {own}: install the same netfathom"))
        }
        Ok(facts) if facts.now_utc_ns > wire::MOST_UTC_NS => Err("its clock is beyond the year 2100".into()),
        Ok(facts) if facts.incarnation.len() > 64 => Err("its agent is none of netfathom's".into()),
        Ok(facts) => Ok(Member { facts: printable(facts), at: Instant::now(), clock: None }),
        Err(why) => Err(plain(&why)),
    };
    Some(Called { name: name.name, member })
}

/// Texts of an agent stand in records and on terminals.
fn printable(mut facts: Facts) -> Facts {
    (facts.tool, facts.kernel) = (plain(&facts.tool), plain(&facts.kernel));
    facts.labels = facts.labels.iter().take(16).map(|(k, v)| (plain(k), plain(v))).collect();
    facts.lacks = facts.lacks.iter().take(16).map(|(k, v)| (plain(k), plain(v))).collect();
    facts
}

async fn hear(mut reports: async_nats::Subscriber, waiting: Arc<Waiting>) {
    while let Some(message) = reports.next().await {
        // What is no report, or was not asked for, has no effect.
        let Ok(report) = wire::read::<Report>(&message.payload, wire::MOST_REPORT_BYTES) else { continue };
        let key = (report.from.0, report.from.1, report.number);
        let waiter = waiting.lock().remove(&key);
        waiter.map(|waiter| waiter.send(report.outcome));
    }
}

async fn beat(client: Client, subject: String, session: String) {
    let bytes: Vec<u8> = wire::written(&Beat { session, over: false });
    let mut tick = tokio::time::interval(BEAT);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tick.tick().await;
        // What piles up while the server is away would only be old.
        if client.connection_state() == State::Connected {
            let _ = client.publish(subject.clone(), bytes.clone().into()).await;
        }
    }
}
