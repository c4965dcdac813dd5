//! When a trial can be trusted: tables of rules, used for a trial and for a run (docs/decisions/0007-verdict-of-a-run.md).

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::print;
pub use netfathom_model::print::percent;
use netfathom_model::record::{Contention, Holder, Holders, Load, LoadThread};
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_sys::cpu::{allowed, is_before_others};
use netfathom_sys::probe::effective_user;

use super::accounting::DEVICE_OUT;
use crate::ground::environment::cgroup::raise_quota;

#[cfg(test)]
mod tests;

/// A rule: a number of a trial, and what it means beyond its limit. A rule without room, with the limit
/// 0, applies to a whole run even if a single trial breaks it. A rule with room lowers a run by its full level
/// only if at least half of the trials break it: what a busy machine does to a single trial does not make a run VOID.
pub struct Rule<T> {
    level: Level,
    limit: f64,
    /// Beyond it the run is VOID if at least half of the trials are.
    void_limit: f64,
    value: fn(&T) -> f64,
    written: fn(f64) -> String,
    /// What it means, with `{}` for the number as it is written.
    text: &'static str,
    /// What to do, where that depends on the trials that broke it and the worst number of them.
    advice: fn(&[&T], f64) -> String,
}

impl<T> Rule<T> {
    pub const fn void(
        limit: f64,
        value: fn(&T) -> f64,
        written: fn(f64) -> String,
        text: &'static str,
    ) -> Self {
        Self { level: Level::Void, ..Self::degraded(limit, value, written, text) }
    }

    pub const fn degraded(
        limit: f64,
        value: fn(&T) -> f64,
        written: fn(f64) -> String,
        text: &'static str,
    ) -> Self {
        let void_limit = f64::INFINITY;
        Self { level: Level::Degraded, limit, void_limit, value, written, text, advice: |_, _| String::new() }
    }

    /// What to do stands behind the text.
    pub const fn advise(mut self, advice: fn(&[&T], f64) -> String) -> Self {
        self.advice = advice;
        self
    }

    /// VOID beyond a limit of its own, so that one cause is one reason.
    pub const fn void_beyond(mut self, limit: f64) -> Self {
        self.void_limit = limit;
        self
    }

    fn reason(&self, worst: f64, broke: &[&T]) -> String {
        let most = if broke.len() > 1 { "up to " } else { "" };
        let number = format!("{most}{}", (self.written)(worst));
        self.text.replace("{}", &number) + &(self.advice)(broke, worst)
    }

    /// What the rule makes of a run in which these trials broke it.
    fn level_of(&self, broke: &[&T], trials: usize) -> Level {
        let are_most = |n: usize| 2 * n >= trials;
        if are_most(broke.iter().filter(|&&t| (self.value)(t) > self.void_limit).count()) {
            return Level::Void;
        }
        if self.limit == 0.0 || are_most(broke.len()) { self.level } else { self.level.min(Level::Degraded) }
    }
}

/// What is so or not, as a number to be held against a limit of 0.
pub fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

pub fn count(value: f64) -> String {
    format!("{value:.0}")
}

/// For a rule with no number in its text.
pub fn no_number(_: f64) -> String {
    String::new()
}

pub fn of_a_slot(value: f64) -> String {
    print::share_of(value, "send slot")
}

/// What part of the send slots may be missed.
pub const MOST_MISSED: f64 = 0.01;
/// The 99th percentile of the lag, in send slots.
pub const MOST_LAG: f64 = 0.1;
pub const MISSED: &str =
    "the generator sent {} of the messages too late, after the next was due (1 % allowed): ";
pub const UNEVEN: &str = "the load was uneven: p99 lag {} (10 % allowed): ";

/// A trial that has a load and an account of it.
pub trait Judged {
    fn load(&self) -> &Load;
    fn accounting(&self) -> &Accounting;
    fn arrivals_known(&self) -> bool {
        true
    }
}

/// Why a veth took no frame of the engine xdp: the kernel tells no more than that it did not.
pub const NO_FRAME_TAKEN: &str = "the driver took none of the frames; a veth takes those of the engine xdp only while its other end has an XDP program or GRO: turn GRO on there: ethtool -K DEVICE gro on";

/// Messages that the device of the sender saw as one packet, on average.
pub fn messages_a_packet(accounting: &Accounting) -> f64 {
    let out = accounting.counters.iter().find(|c| c.counter == DEVICE_OUT);
    out.map_or(0.0, |c| c.expected as f64 / c.observed.max(1) as f64)
}

/// That messages left in buffers, with `messages_a_packet` in each packet that the device counted.
pub fn unsplit(messages_a_packet: f64) -> String {
    format!(
        "GSO super-packets: buffers of several messages left the device in one piece ({messages_a_packet:.1} messages for each packet counted), so no wire has carried them singly; turn the offload off: ethtool -K DEVICE tx-udp-segmentation off"
    )
}

/// What gives netfathom real-time priority, as this user types it before the command.
pub fn chrt() -> &'static str {
    chrt_of(effective_user())
}

fn chrt_of(user: u32) -> &'static str {
    if user == 0 { "chrt -f 50" } else { "sudo chrt -f 50" }
}

/// What helps against whoever it is, of what is not so already.
pub fn priority() -> String {
    if is_before_others() {
        another_cpu(allowed().map_or(0, |cpus| cpus.len())).into()
    } else {
        format!("run netfathom under {}", chrt())
    }
}

/// On fewer, sender and reader have them all.
fn another_cpu(cpus: usize) -> &'static str {
    if cpus > 2 { "choose another CPU with --cpu" } else { "use a machine with more CPUs" }
}

/// Whoever had a CPU, in an advice, if it is a run beside this one.
pub const ANOTHER_NETFATHOM: &str = "another netfathom";

/// What to do about whoever had the processors of such threads in all these trials, or stopped the threads; `None` where
/// no one did so for as large a part of a thread's time.
pub fn occupied<'a>(
    threads: impl Iterator<Item = &'a Contention>,
    of: &[LoadThread],
    least: f64,
) -> Option<String> {
    let threads = Contention::pooled(threads);
    let threads: Vec<&Contention> = threads.iter().filter(|c| of.contains(&c.thread)).collect();
    let held = threads.iter().flat_map(|&thread| {
        let stolen = (Holders::from(&Holder::Hypervisor), thread.stolen_ns);
        let foreign = Holders::of(&thread.holders).into_iter().filter(|(by, _)| by.first.is_foreign());
        foreign.chain([stolen]).map(move |(by, ns)| (thread, by, ns))
    });
    let held: Vec<(&Contention, Holders<'_>, u64)> = held.collect();
    let &(thread, by, ns) = held.iter().max_by_key(|(.., ns)| *ns)?;
    if let Some(stopped) = stopped(&threads, ns, least) {
        return Some(stopped);
    }
    if (ns as f64) < least * thread.span_ns as f64 || ns == 0 {
        return None;
    }
    let cpu = thread.cpu;
    let numbered = by.numbered(&thread.holders);
    let can_stop = numbered.is_some();
    let who = numbered.unwrap_or_else(|| by.to_string());
    let who =
        who.strip_prefix("netfathom ").map_or_else(|| who.clone(), |of| format!("{ANOTHER_NETFATHOM} {of}"));
    let all_ns: u64 = held.iter().filter(|(of, ..)| std::ptr::eq(*of, thread)).map(|(.., ns)| ns).sum();
    // To stop one of many helps little.
    let is_most = 2 * ns > all_ns;
    Some(match by.first {
        // No machine goes on without the first process.
        Holder::Process { pid: 1, .. } | Holder::Others => format!("{}: {by} had CPU {cpu}", priority()),
        Holder::Process { name, .. } if can_stop && (is_most || is_before_others()) => match name.as_str() {
            // It measures, too, maybe for another agent of the fleet.
            "netfathom" => format!("run one at a time, or on CPUs of their own: {who} had CPU {cpu}"),
            _ => format!("stop {who} on CPU {cpu}"),
        },
        Holder::Process { .. } => {
            let others = if is_most { "" } else { " and others" };
            format!("{}: {who}{others} had CPU {cpu}", priority())
        }
        Holder::Quota => format!("{}: netfathom used it up", raise_quota(Some(std::process::id()))),
        _ => format!("move the load (--cpu): {by} had CPU {cpu}"),
    })
}

/// What to do where one of these threads was stopped for longer than anyone had its CPU.
fn stopped(threads: &[&Contention], held_ns: u64, least: f64) -> Option<String> {
    let thread = threads.iter().max_by_key(|thread| thread.stopped_ns)?;
    let ns = thread.stopped_ns;
    let is_why = ns > held_ns && ns as f64 >= least * thread.span_ns as f64;
    is_why.then(|| {
        let (thread, time) = (thread.thread.name(), print::time(ns as f64));
        format!("repeat the run: a signal, a debugger or a freezer stopped the {thread} for {time}")
    })
}

pub fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Messages that did not arrive, of those that left, 0 to 1.
pub fn lost(trial: &impl Judged) -> f64 {
    if !trial.arrivals_known() || trial.load().sent == 0 {
        return 0.0;
    }
    let delivered = trial.accounting().count(&Fate::Delivered);
    1.0 - share(delivered, trial.load().sent)
}

/// What to do about losses, by where most of them ended.
fn against_loss<T: Judged>(trials: &[&T]) -> String {
    let ended = |fate: Fate| trials.iter().map(|t| t.accounting().count(&fate)).sum::<u64>();
    let sent: u64 = trials.iter().map(|t| t.accounting().sent).sum();
    let lost = sent.saturating_sub(ended(Fate::Delivered));
    let most = |fate: Fate| 2 * ended(fate) > lost;
    let advice = if most(Fate::QueueDrop) {
        "a queue of this host dropped them: lower the rate, or make the queue longer (tc -s qdisc show dev DEVICE)"
    } else if most(Fate::ChecksumError) {
        "their checksums were wrong: find the device that damages them (ethtool -S DEVICE)"
    } else if most(Fate::OnTheWay) {
        "lower the rate, or find where they are dropped (nstat, and ethtool -S DEVICE at both ends)"
    } else {
        "lower the rate"
    };
    advice.into()
}

/// What to do about refused messages, by the error that most had.
fn against_refusal<T: Judged>(trials: &[&T]) -> String {
    let refused = trials.iter().flat_map(|t| &t.load().refused);
    match refused.max_by_key(|of| of.count).map_or("", |of| &of.error) {
        "EPERM" => "a rule drops them (EPERM): see `nft list ruleset` or `iptables -vL`".into(),
        error => format!("lower the rate ({error})"),
    }
}

fn refused(load: &Load) -> u64 {
    load.refused.iter().map(|r| r.count).sum()
}

/// The part of the messages that missed their send slots.
pub fn missed(load: &Load) -> f64 {
    share(load.missed_slots + load.unsent, load.planned)
}

const NO_ONE_HAD_IT: &str =
    "lower the rate: no other program held the sender's CPU long enough to explain it";

/// What to do against whoever had the CPUs of such threads for at least such a part of the time, in all of these trials or
/// in one; `None` where they were followed and no one had.
pub fn free_cpus<'a>(
    threads: impl Iterator<Item = &'a Contention>,
    of: &[LoadThread],
    least: f64,
) -> Option<String> {
    let threads: Vec<&Contention> = threads.filter(|c| of.contains(&c.thread)).collect();
    let free = occupied(threads.iter().copied(), of, least);
    let in_one = |c: &&Contention| occupied(std::iter::once(*c), of, least);
    free.or_else(|| threads.iter().find_map(in_one)).or_else(|| threads.is_empty().then(priority))
}

/// What to do about a sender that was late, and missed such a part of its send slots: what does not explain that explains no
/// lag either.
pub fn free_sender<'a>(loads: impl Iterator<Item = &'a Load>, missed: f64) -> String {
    // A tenth of what was missed is cause enough: one wait makes many messages late. For a high 99th percentile of the
    // lag, one message in a hundred that is late by a tenth of its slot is enough.
    let least = missed.max(MOST_MISSED) / 10.0;
    free_cpus(loads.flat_map(|load| &load.contention), &[LoadThread::Sender], least)
        .unwrap_or_else(|| NO_ONE_HAD_IT.into())
}

/// The most of the parts that trials missed.
pub fn most(missed: impl Iterator<Item = f64>) -> f64 {
    missed.fold(0.0, f64::max)
}

/// Whether messages were sent when the plan wanted them.
pub fn lateness_rules<T: Judged>() -> [Rule<T>; 2] {
    [
        Rule::void(MOST_MISSED, |t: &T| missed(t.load()), percent, MISSED)
            .advise(|broke, missed| free_sender(broke.iter().map(|t| t.load()), missed)),
        Rule::degraded(MOST_LAG, |t: &T| t.load().lag_p99_of_interval, of_a_slot, UNEVEN).advise(
            |broke, _| {
                let loads = || broke.iter().map(|t| t.load());
                free_sender(loads(), most(loads().map(missed)))
            },
        ),
    ]
}

/// What holds of every load, whatever is measured with it.
pub fn load_rules<T: Judged>() -> Vec<Rule<T>> {
    vec![
        Rule::void(
            0.0,
            |t| flag(t.load().sent == 0 && refused(t.load()) > 0),
            no_number,
            "the kernel accepted no message",
        ),
        // Who never had the CPU has sent nothing: as if all were late.
        Rule::void(
            0.5,
            |t: &T| flag(t.load().sent == 0 && refused(t.load()) == 0),
            no_number,
            "nothing was sent: ",
        )
        .advise(|broke, _| free_sender(broke.iter().map(|t| t.load()), 1.0)),
        Rule::void(
            0.0,
            |t| t.accounting().gap().unsigned_abs() as f64,
            count,
            "{} messages have no outcome, or several: please report this defect",
        ),
        Rule::void(
            0.0,
            |t| t.accounting().count(&Fate::Unexplained) as f64,
            count,
            "{} messages vanished: no counter explains them; repeat the run",
        ),
        Rule::<T>::degraded(
            0.001,
            |t| share(refused(t.load()), t.load().planned),
            percent,
            "the kernel refused {} of the messages: ",
        )
        .advise(|broke, _| against_refusal(broke)),
        Rule::degraded(
            0.001,
            |t| share(t.accounting().retransmitted, t.load().sent),
            percent,
            "segments were retransmitted, {} of the messages: times include the repair",
        ),
        Rule::<T>::degraded(
            0.001,
            lost,
            percent,
            "{} of the messages were lost (receive times, if any, are of the rest): ",
        )
        .advise(|broke, _| against_loss(broke))
        .void_beyond(0.5),
        Rule::degraded(
            0.0,
            |t| t.accounting().counters.iter().filter(|c| !c.agrees()).count() as f64,
            count,
            "{} kernel counters disagree with the count of messages: see the accounting (-v)",
        ),
    ]
}

pub fn trial<T>(rules: &[Rule<T>], trial: &T) -> Verdict {
    let mut verdict = Verdict::default();
    lower(&mut verdict, &[], rules, &[trial]);
    verdict
}

pub fn run<T>(rules: &[Rule<T>], trials: &[&T], planned: u32) -> Verdict {
    let mut verdict = Verdict::default();
    if trials.is_empty() {
        verdict.lower(Level::Void, "no trial was finished");
        return verdict;
    }
    lower(&mut verdict, &[], rules, trials);
    if trials.len() < planned as usize {
        let text = format!("only {} of {planned} trials were finished", trials.len());
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

/// Adds each rule that trials broke as a reason about these parts (none: about everything), with how many of them did and
/// the worst of it.
///
/// A rule with room that fewer than half of the trials broke lowers to DEGRADED: one disturbed trial in ten widens the
/// interval already.
pub fn lower<T>(verdict: &mut Verdict, about: &[Part], rules: &[Rule<T>], trials: &[&T]) {
    lower_beyond(verdict, about, rules, trials, 0.0);
}

/// The same, where a part of the trials may break rules with room.
pub fn lower_beyond<T>(verdict: &mut Verdict, about: &[Part], rules: &[Rule<T>], trials: &[&T], spared: f64) {
    for rule in rules {
        let broke: Vec<&T> = trials.iter().copied().filter(|&t| (rule.value)(t) > rule.limit).collect();
        if rule.limit > 0.0 && broke.len() as f64 <= spared * trials.len() as f64 {
            continue;
        }
        let Some(worst) = broke.iter().map(|&t| (rule.value)(t)).reduce(f64::max) else { continue };
        let level = rule.level_of(&broke, trials.len());
        let trials_of_it = match (broke.len(), trials.len()) {
            (1, 1) => String::new(),
            (n, all) => format!("{n} of {all} trials: "),
        };
        verdict.lower_only(about, level, format!("{trials_of_it}{}", rule.reason(worst, &broke)));
    }
}
