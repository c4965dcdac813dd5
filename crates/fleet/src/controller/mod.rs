//! The controller of a fleet: who is there, what each is to do, and what came of it.

mod alone;
mod conclude;
mod link;
mod load;
mod mesh;
mod resume;
mod round;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_measure::ground::environment;
use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_model::plan::{FleetPlan, FleetTest};
use netfathom_model::record::{FleetHost, FleetResult};

use crate::access::Access;
use crate::agent::{LEASE, MOST_TASKS};
use crate::error::FleetError;
use link::{Link, Member, Miss};

/// An identifier that cannot be guessed.
pub(crate) fn drawn() -> String {
    // Where a filter of system calls refuses it, the name is not secret, only new.
    let new = |_| u128::from(netfathom_sys::clock::realtime_ns()).to_le_bytes();
    let bytes = netfathom_sys::random::bytes().unwrap_or_else(new);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hosts of a fleet, by name; those of `expected` that do not answer are missing. And how many answers are left out.
pub fn hosts(access: &Access, expected: &[String]) -> Result<(Vec<FleetHost>, usize), FleetError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut crew = Crew::call(access, expected).await?;
        crew.compare_clocks(&AtomicBool::new(false)).await;
        crew.link.release().await;
        Ok((crew.hosts.into_values().collect(), crew.left_out))
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, FleetError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).thread_name("fleet").enable_all().build().map_err(FleetError::Runtime)
}

/// Measures; what is `known` of the same plan is kept, and only the rest is measured. Ends early, keeping what there is, once
/// `stop` is set.
pub fn run(
    plan: &FleetPlan,
    known: Option<&FleetResult>,
    access: &Access,
    observer: &mut impl Observer<FleetResult>,
    stop: &AtomicBool,
) -> Result<Progressed<FleetResult>, RunError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let (kept, expected) = match known {
            Some(known) => (resume::kept(known), known.hosts.iter().map(|host| host.name.clone()).collect()),
            None => (FleetResult { plan: plan.clone(), ..FleetResult::default() }, plan.hosts.clone()),
        };
        let mut crew = Crew::call(access, &expected).await?;
        if crew.left_out > 0 {
            return Err(FleetError::Crowd(crew.left_out).into());
        }
        crew.remember(&kept.hosts);
        let needed = if plan.test.is_mesh() || plan.test == FleetTest::Load { 2 } else { 1 };
        if crew.members.len() < needed {
            return Err(FleetError::TooFew(crew.members.len(), crew.missing()).into());
        }
        if let Some(to) = plan.to.as_ref().filter(|to| !crew.members.contains_key(*to)) {
            return Err(FleetError::NoHost(to.clone()).into());
        }
        let senders = (crew.members.len() - 1) * usize::from(plan.streams);
        if plan.test == FleetTest::Load && senders > MOST_TASKS {
            return Err(FleetError::TooMany(senders).into());
        }
        let environment = environment::read(Vec::new(), Vec::new(), None);
        let mut run = Run { plan, p: Progressed::new(environment, kept), observer, stop };
        run.keep(&crew)?;
        if needed == 2 {
            run.observer.begins(Step { name: "clocks".into(), number: 0, of: 0 }, &Arc::default());
            crew.compare_clocks(stop).await;
        }
        match plan.test {
            FleetTest::Throughput | FleetTest::Latency | FleetTest::Loss => run.mesh(&mut crew).await?,
            FleetTest::Load => run.load(&mut crew).await?,
            FleetTest::Stack | FleetTest::Capacity => run.alone(&mut crew).await?,
        }
        crew.link.release().await;
        run.keep(&crew)?;
        Ok(run.p)
    })
}

struct Run<'a, O> {
    plan: &'a FleetPlan,
    p: Progressed<FleetResult>,
    observer: &'a mut O,
    stop: &'a AtomicBool,
}

impl<O: Observer<FleetResult>> Run<'_, O> {
    fn begins(&mut self, what: &str, number: usize, of: usize) {
        let name = format!("{what} {number}/{of}");
        self.observer.begins(Step { name, number, of }, &Arc::new(Live::default()));
    }

    /// Whether to go on: not once the user, or the end of the NATS server, has ended it.
    async fn goes_on(&mut self, crew: &Crew) -> bool {
        if self.stop.load(Relaxed) {
            self.p.result.cut = Some("the run was ended early".into());
        } else if let Some(why) = crew.link.ready().await {
            self.p.result.cut = Some(why);
        }
        self.p.result.cut.is_none()
    }

    fn keep(&mut self, crew: &Crew) -> Result<(), RunError> {
        self.p.result.hosts = crew.hosts.values().cloned().collect();
        conclude::conclude(&mut self.p);
        self.observer.keep(&self.p)?;
        Ok(())
    }
}

/// Those who take part, and those who should.
struct Crew {
    link: Arc<Link>,
    members: BTreeMap<String, Member>,
    hosts: BTreeMap<String, FleetHost>,
    /// Answers that there was no room for.
    left_out: usize,
}

impl Crew {
    async fn call(access: &Access, expected: &[String]) -> Result<Self, FleetError> {
        let link = Link::open(access).await?;
        let (mut all, mut left_out) = link.call(expected).await?;
        if all.iter().any(|called| called.member.as_ref().is_ok_and(|member| member.facts.busy)) {
            // A controller that was killed: its agents find that out, and are free.
            tokio::time::sleep(LEASE).await;
            (all, left_out) = link.call(expected).await?;
        }
        let mut members = BTreeMap::new();
        let mut hosts: BTreeMap<String, FleetHost> = expected
            .iter()
            .map(|name| (name.clone(), absent(name, "no agent of this name answers")))
            .collect();
        for called in all {
            let host = match called.member {
                Ok(member) if member.facts.busy => {
                    absent(&called.name, "its agent takes part in the measurement of another controller")
                }
                Ok(member) => {
                    let host = present(&member);
                    members.insert(called.name.clone(), member);
                    host
                }
                Err(why) => {
                    members.remove(&called.name);
                    absent(&called.name, &why)
                }
            };
            hosts.insert(called.name, host);
        }
        if hosts.is_empty() {
            return Err(FleetError::NoAgents { fleet: access.fleet.clone(), url: access.shown() });
        }
        Ok(Self { link, members, hosts, left_out })
    }

    /// What an earlier run knew of hosts: of those that do not answer now all, of the others what they measured.
    fn remember(&mut self, known: &[FleetHost]) {
        for known in known {
            match self.hosts.get_mut(&known.name) {
                Some(host) if host.address.is_none() => {
                    *host = FleetHost { missing: host.missing.take(), ..known.clone() };
                }
                Some(host) => host.verdict.clone_from(&known.verdict),
                None => {}
            }
        }
    }

    /// A host that takes part no longer.
    fn lose(&mut self, name: &str, why: &str) {
        self.members.remove(name);
        if let Some(host) = self.hosts.get_mut(name) {
            host.missing.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Takes note of what did not work: who is gone is missing from now on.
    fn missed(&mut self, name: &str, miss: &Miss) {
        if let Miss::Gone(why) = miss {
            self.lose(name, why);
        }
    }

    fn missing(&self) -> String {
        let missing =
            self.hosts.values().filter_map(|h| Some(format!("{}: {}", h.name, h.missing.as_ref()?)));
        let all: Vec<String> = missing.take(5).collect();
        if all.is_empty() { "start another agent with netfathom agent".into() } else { all.join("; ") }
    }
}

fn absent(name: &str, why: &str) -> FleetHost {
    FleetHost { name: name.into(), missing: Some(why.into()), ..FleetHost::default() }
}

fn present(member: &Member) -> FleetHost {
    let facts = &member.facts;
    FleetHost {
        name: facts.name.clone(),
        labels: facts.labels.clone(),
        address: Some(facts.address.to_string()),
        version: Some(facts.tool.clone()),
        kernel: Some(facts.kernel.clone()),
        cpus: Some(facts.cpus),
        lacks: facts.lacks.clone(),
        ..FleetHost::default()
    }
}
