//! When a trial can be trusted: what was sent against what others counted.

use netfathom_model::plan::Variant;
use netfathom_model::record::{BetweenHosts, Contention, LoadThread, ProcessorShares};
use netfathom_model::verdict::{Level, Verdict};

use crate::load::judge::{self, Rule, count, flag, no_number, occupied, percent, priority, share};

#[cfg(test)]
mod tests;

/// What may be lost between hosts, of the load.
const MOST_LOST: f64 = 0.01;
/// With less of it at the peak, nothing that happens there is an effect of the inbound load.
const MOST_ABSENT: f64 = 0.9;
/// What the far end may leave unsent of the inbound plan.
const MOST_MISSED: f64 = 0.05;

#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Messages out, as the sender counted them.
    pub sent: u64,
    /// As the far device counted them.
    pub arrived: u64,
    /// Those that the sender's device gave up.
    pub dropped: u64,
    /// Messages in, as the plan wants them; `None` of answers.
    pub inbound_planned: Option<u64>,
    /// The part of the inbound load that did not come in at the peak.
    pub inbound_absent: f64,
    /// As the far end counted them.
    pub inbound_sent: u64,
    /// As the device of this host counted them.
    pub inbound_arrived: u64,
    /// Those that the far device gave up.
    pub inbound_dropped: u64,
    /// Messages that were read, or found the socket full; `None` without a reader.
    pub inbound_ended: Option<u64>,
    pub processor: ProcessorShares,
    /// The part of the time in which the sender waited for its processor, before the load in or
    /// after it, whichever was worse.
    pub waited_alone: f64,
    /// How late an edge of the parts was read at worst, as a part of their length.
    pub late: f64,
    /// Whether incoming packets were handled on the sender's processor.
    pub steered: bool,
    /// Whether both ends had to share one processor.
    pub shared: bool,
    /// Who had the processors of its threads.
    pub contention: Vec<Contention>,
    /// Where the far end is on another host.
    pub between: Option<BetweenHosts>,
}

/// A tenth of what it waited is cause enough.
fn free_sender(broke: &[&Checks], waited: f64) -> String {
    had_by(broke, LoadThread::Sender, waited / 10.0).unwrap_or_else(priority)
}

fn free_far_end(broke: &[&Checks], missed: f64) -> String {
    had_by(broke, LoadThread::FarEnd, missed / 10.0).unwrap_or_else(|| "lower the peak of --inbound".into())
}

fn let_load_in(broke: &[&Checks], absent: f64) -> String {
    if broke.iter().any(|checks| missed(checks) > MOST_MISSED) {
        free_far_end(broke, absent)
    } else {
        "is a firewall in between? (nft list ruleset)".into()
    }
}

fn had_by(broke: &[&Checks], thread: LoadThread, least: f64) -> Option<String> {
    occupied(broke.iter().flat_map(|checks| &checks.contention), &[thread], least)
}

/// The part of the inbound plan that was not sent.
fn missed(checks: &Checks) -> f64 {
    checks.inbound_planned.map_or(0.0, |planned| share(planned.saturating_sub(checks.inbound_sent), planned))
}

fn rules() -> [Rule<Checks>; 15] {
    [
        Rule::void(0.0, |c| flag(c.sent == 0), no_number, "the kernel accepted no message"),
        Rule::void(
            MOST_ABSENT,
            |c: &Checks| c.inbound_absent,
            percent,
            "at the peak {} of the inbound load did not come in (90 % allowed), so the send rate shows no effect of it: ",
        )
        .advise(let_load_in),
        Rule::void(
            0.0,
            |c| c.sent.abs_diff(c.arrived + c.dropped) as f64,
            count,
            "{} sent messages are missing at the far device, and no drop counter explains them",
        ),
        Rule::void(
            0.0,
            |c| c.inbound_sent.saturating_sub(c.inbound_arrived + c.inbound_dropped) as f64,
            count,
            "{} inbound messages are missing at this host's device, and no drop counter explains them",
        ),
        Rule::void(
            0.0,
            |c| (c.inbound_arrived + c.inbound_dropped).saturating_sub(c.inbound_sent) as f64,
            count,
            "{} more messages came in than the far end sent: another program sends to this host's port",
        ),
        Rule::void(
            0.0,
            |c| c.inbound_ended.map_or(0.0, |ended| ended.abs_diff(c.inbound_arrived) as f64),
            count,
            "{} inbound messages were neither read nor dropped at the socket",
        ),
        Rule::degraded(
            MOST_LOST,
            |c| c.between.map_or(0.0, |between| share(between.not_sent, c.sent)),
            percent,
            "the device did not send {} of what the kernel accepted (1 % allowed): a queue of this host dropped it (tc -s qdisc show dev DEVICE), so the send rate is that of the stack alone",
        ),
        Rule::degraded(
            MOST_LOST,
            |c| c.between.map_or(0.0, |between| share(between.lost, c.sent)),
            percent,
            "{} of the sent messages were lost between the hosts (1 % allowed): the send rate is that of this host, not of the network",
        ),
        Rule::degraded(
            0.05,
            |c: &Checks| c.between.map_or(0.0, |between| share(between.inbound_lost, c.inbound_sent)),
            percent,
            "{} of the inbound messages were lost before a socket of this host (5 % allowed): lower the peak of --inbound",
        )
        .void_beyond(MOST_ABSENT),
        Rule::degraded(
            MOST_MISSED,
            missed,
            percent,
            "the far end missed {} of the inbound plan (5 % allowed): ",
        )
        .advise(free_far_end),
        Rule::degraded(
            0.05,
            |c| c.processor.steal,
            percent,
            "the hypervisor took {} of the sender's CPU (5 % allowed): repeat on a quiet machine",
        ),
        Rule::degraded(
            0.05,
            |c: &Checks| c.waited_alone,
            percent,
            "without inbound load the sender waited for its CPU {} of the time (5 % allowed): ",
        )
        .advise(free_sender),
        Rule::degraded(
            0.1,
            |c| c.late,
            percent,
            "counters were read late, by {} of a phase (10 % allowed): CPU shares are shifted as much",
        ),
        Rule::degraded(
            0.0,
            |c| flag(!c.steered),
            no_number,
            "incoming packets were not handled on the sender's CPU, unlike with a real device: see -v",
        ),
        Rule::degraded(
            0.0,
            |c| flag(c.shared),
            no_number,
            "the far end shared the sender's CPU: give it another with --cpu",
        ),
    ]
}

pub fn trial(checks: &Checks) -> Verdict {
    judge::trial(&rules(), checks)
}

pub fn run(trials: &[Checks], planned: u32) -> Verdict {
    judge::run(&rules(), &trials.iter().collect::<Vec<_>>(), planned)
}

/// A cut with an interval of the whole rate either way is unknown.
pub fn precision(verdict: &mut Verdict, half_widths: &[(Variant, f64)]) {
    let unknown: Vec<String> = half_widths
        .iter()
        .filter(|(_, half)| *half >= 1.0)
        .map(|(variant, half)| format!("{} ± {}", variant.name(), percent(*half)))
        .collect();
    if unknown.is_empty() {
        return;
    }
    let level = if unknown.len() == half_widths.len() { Level::Void } else { Level::Degraded };
    let text = format!("the cut is unknown: {}: raise --trials", unknown.join(", "));
    verdict.lower(level, text);
}
