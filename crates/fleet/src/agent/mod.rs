//! `netfathom agent`: takes part in the measurements of a fleet, within its own limits.
//!
//! One thread speaks with the NATS server; each task has a thread of its own. Nothing is written to disk.

mod desk;
mod limits;
mod work;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Client, Message};
use futures_util::StreamExt;
use netfathom_measure::kind::host;
use netfathom_sys::clock::realtime_ns;
use tokio::sync::{mpsc, oneshot};

use crate::access::Access;
use crate::clock;
use crate::error::FleetError;
use crate::wire::{self, Answer, Beat, Facts, Order, Outcome, Report};
use desk::Desk;
pub(crate) use desk::{LEASE, MOST_TASKS};
pub use limits::Limits;
use limits::Sends;

/// How often it is looked whether the controller is there, and whether a task has had its time.
const LOOK: Duration = Duration::from_millis(50);
/// How long it takes at most to hear that the name is taken.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct AgentPlan {
    pub access: Access,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Where others send to; `None` takes the address that leads to the NATS server.
    pub address: Option<IpAddr>,
    pub limits: Limits,
    /// How long it takes part; `None` until it is stopped.
    pub most_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    Joined {
        name: String,
        address: IpAddr,
    },
    Took {
        task: String,
    },
    Refused {
        why: String,
    },
    /// The connection to the server broke; the client tries to come back.
    Disconnected,
    /// It is back.
    Reconnected,
    /// The controller is gone, and what ran for it was ended.
    Abandoned {
        tasks: usize,
    },
}

/// Takes part until it is stopped.
pub fn run(plan: &AgentPlan, stop: &AtomicBool, tell: &mut dyn FnMut(AgentEvent)) -> Result<(), FleetError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(FleetError::Runtime)?;
    runtime.block_on(async {
        let client = plan.access.connect(&format!("netfathom agent {}", plan.name)).await?;
        let mut agent = Agent::new(plan, client);
        agent.refuse_twins().await?;
        tell(AgentEvent::Joined { name: plan.name.clone(), address: agent.facts.address });
        let ended = agent.attend(stop, tell).await;
        agent.desk.end();
        ended
    })
}

struct Agent<'a> {
    plan: &'a AgentPlan,
    client: Client,
    facts: Facts,
    desk: Desk,
    is_connected: bool,
    /// Of tasks that are over.
    reports: (mpsc::Sender<Report>, mpsc::Receiver<Report>),
}

impl<'a> Agent<'a> {
    fn new(plan: &'a AgentPlan, client: Client) -> Self {
        let incarnation = crate::controller::drawn();
        let facts = Facts {
            version: wire::VERSION,
            name: plan.name.clone(),
            incarnation: incarnation.clone(),
            labels: plan.labels.clone(),
            tool: concat!("netfathom ", env!("CARGO_PKG_VERSION")).into(),
            kernel: line("/proc/sys/kernel/osrelease"),
            cpus: thread::available_parallelism().map_or(1, |n| n.get() as u32),
            address: plan.address.unwrap_or_else(|| own_address(&plan.access)),
            now_utc_ns: 0,
            lacks: plan.limits.lacks().into_iter().chain(host_lacks()).collect(),
            busy: false,
        };
        let desk = Desk::new(&plan.name, &incarnation);
        Self { plan, client, facts, desk, is_connected: true, reports: mpsc::channel(64) }
    }

    async fn refuse_twins(&self) -> Result<(), FleetError> {
        let subject = self.plan.access.subject(&format!("who.{}", self.plan.name));
        let asked = tokio::time::timeout(TAKEN_WITHIN, self.client.request(subject, "".into())).await;
        match asked.ok().and_then(Result::ok).map(|m| wire::read::<Facts>(&m.payload, wire::MOST_ORDER_BYTES))
        {
            Some(Ok(twin)) => {
                Err(FleetError::Taken { name: self.plan.name.clone(), kernel: wire::plain(&twin.kernel) })
            }
            _ => Ok(()),
        }
    }

    async fn attend(
        &mut self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(AgentEvent),
    ) -> Result<(), FleetError> {
        let subject = |rest: &str| self.plan.access.subject(rest);
        let name = &self.plan.name;
        let lost = |why: String| FleetError::Lost { url: self.plan.access.shown(), why };
        let subscribed = |e: async_nats::SubscribeError| lost(e.to_string());
        let mut hello = self.client.subscribe(subject("hello")).await.map_err(subscribed)?;
        let mut who = self.client.subscribe(subject(&format!("who.{name}"))).await.map_err(subscribed)?;
        let mut orders =
            self.client.subscribe(subject(&format!("order.{name}"))).await.map_err(subscribed)?;
        let mut beats = self.client.subscribe(subject("beat")).await.map_err(subscribed)?;
        let mut look = tokio::time::interval(LOOK);
        let began = Instant::now();
        let most_ns = self.plan.most_ns;
        let is_over = || most_ns.is_some_and(|ns| began.elapsed() > Duration::from_nanos(ns));
        while !stop.load(Relaxed) && !is_over() {
            tokio::select! {
                Some(message) = hello.next() => self.introduce(message).await,
                Some(message) = who.next() => self.introduce(message).await,
                Some(message) = orders.next() => self.order(message, tell).await,
                Some(message) = beats.next() => {
                    if let Ok(beat) = wire::read::<Beat>(&message.payload, wire::MOST_ORDER_BYTES) {
                        self.desk.beat(&beat.session, beat.over, Instant::now());
                    }
                }
                Some(report) = self.reports.1.recv() => self.report(report).await,
                _ = look.tick() => {
                    self.note_connection(tell);
                    let abandoned = self.desk.look(Instant::now());
                    if abandoned > 0 {
                        tell(AgentEvent::Abandoned { tasks: abandoned });
                    }
                }
                else => return Err(lost("it closed the connection".into())),
            }
        }
        if stop.load(Relaxed) || self.client.connection_state() == State::Connected {
            return Ok(());
        }
        Err(lost("the agent's time ended before it came back".into()))
    }

    fn note_connection(&mut self, tell: &mut dyn FnMut(AgentEvent)) {
        let is_connected = self.client.connection_state() == State::Connected;
        if is_connected != self.is_connected {
            self.is_connected = is_connected;
            tell(if is_connected { AgentEvent::Reconnected } else { AgentEvent::Disconnected });
        }
    }

    async fn introduce(&mut self, message: Message) {
        let Some(reply) = message.reply else { return };
        let (now_utc_ns, busy) = (realtime_ns(), self.desk.is_busy(Instant::now()));
        let facts = Facts { now_utc_ns, busy, ..self.facts.clone() };
        let _ = self.client.publish(reply, wire::written(&facts).into()).await;
    }

    async fn order(&mut self, message: Message, tell: &mut dyn FnMut(AgentEvent)) {
        let order = wire::read::<Order>(&message.payload, wire::MOST_ORDER_BYTES);
        let admitted = order.and_then(|order| {
            self.desk.admit(&order, realtime_ns(), Instant::now())?;
            self.plan.limits.admit(&order.task, &self.desk.sends(), realtime_ns())?;
            Ok(order)
        });
        match admitted {
            Ok(order) => {
                tell(AgentEvent::Took { task: work::named(&order.task) });
                self.start(order, message.reply);
            }
            Err(why) => {
                tell(AgentEvent::Refused { why: wire::plain(&why) });
                self.answer(message.reply, Answer::Refused { why }).await;
            }
        }
    }

    async fn answer(&self, reply: Option<async_nats::Subject>, answer: Answer) {
        if let Some(reply) = reply {
            let _ = self.client.publish(reply, wire::written(&answer).into()).await;
        }
    }

    /// Has a thread do it. Its answer goes out once it has a port, its report when it is over.
    fn start(&mut self, order: Order, reply: Option<async_nats::Subject>) {
        let (ready, port) = oneshot::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let most = self.plan.limits.time_of(&order.task);
        self.desk.runs(&order, Arc::clone(&stop), Instant::now() + most, Sends::of(&order.task));
        let work = work::Work { address: self.facts.address, limits: self.plan.limits.clone() };
        let reports = self.reports.0.clone();
        let client = self.client.clone();
        tokio::spawn(async move {
            // A task that ends without a port says why in its report.
            let port = port.await.unwrap_or(None);
            if let Some(reply) = reply {
                let _ = client.publish(reply, wire::written(&Answer::Taken { port }).into()).await;
            }
        });
        let Order { to: from, session, number, task, .. } = order;
        let report = move |outcome| Report { from: from.clone(), session: session.clone(), number, outcome };
        let report_failure = report.clone();
        let work = move || {
            let outcome = work.perform(&task, &stop, ready);
            let _ = reports.blocking_send(report(outcome));
        };
        if let Err(error) = thread::Builder::new().name("fleet task".into()).spawn(work) {
            let outcome = Outcome::Failed { why: format!("no thread for it: {error}") };
            let _ = self.reports.0.try_send(report_failure(outcome));
        }
    }

    async fn report(&mut self, mut report: Report) {
        self.desk.ended(&report.session, report.number);
        let mut bytes = wire::written(&report);
        if bytes.len() > wire::MOST_REPORT_BYTES {
            let why = format!("its result of {} bytes is longer than NATS carries", bytes.len());
            report.outcome = Outcome::Failed { why };
            bytes = wire::written(&report);
        }
        let subject = self.plan.access.subject(&format!("report.{}", report.session));
        let _ = self.client.publish(subject, bytes.into()).await;
    }
}

fn host_lacks() -> Vec<(String, String)> {
    host::lacks().into_iter().map(|(what, why)| (what, wire::plain(&why))).collect()
}

fn line(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

/// The address that packets to the NATS server leave with; where that is on this host, or behind a tunnel, the one that
/// packets to the world leave with. Connecting a UDP socket sends nothing.
fn own_address(access: &Access) -> IpAddr {
    let leaving = |to: SocketAddr| -> Option<IpAddr> {
        let ip = clock::connected(to).and_then(|socket| socket.local_addr()).ok()?.ip();
        Some(ip).filter(|ip| !ip.is_loopback())
    };
    // A network for documentation (RFC 5737): no host has it, and the default route leads there.
    let world = SocketAddr::from(([192, 0, 2, 1], 9));
    let found = access.server().and_then(leaving).or_else(|| leaving(world));
    found.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}
