//! Reasons between the ends: the pace, loss, or the path. Congestion control knows of all of them,
//! and cannot distinguish them.

use netfathom_model::record::Cause;

use super::facts::Facts;
use super::text::{bytes, ms, percent, rate};
use super::{Case, Reason};

/// Fewer segments sent again hold no transfer up: one in a short one is chance.
const LEAST_RETRANSMITS: u32 = 3;
/// From this share on, loss is reported even if a queue explains it.
const MANY_LOST: f64 = 0.003;
/// A queue at the bottleneck lengthens the round trip by more than this; loss alone does not.
const QUEUED: f64 = 1.3;
/// And by so much: a busy host delays by less, and a short round trip is soon half as long again.
const QUEUED_US: u32 = 5000;
/// A pace that was reached to this share was the limit.
const AT_PACE: f64 = 0.8;
/// Loss that would permit far more than what went was not the limit. It permits less than it seems
/// to where so much is lost that the sender has to wait for its timer: with 2 % half as much.
const PERMITS: f64 = 4.0;

pub(super) fn reasons(case: Case<'_>, facts: &Facts) -> Vec<Reason> {
    let pace = case.plan.pace_bits_per_s.map(|bits| bits as f64 / 8.0);
    if let Some(pace) = pace.filter(|&pace| facts.bytes_per_s >= AT_PACE * pace) {
        return vec![paced(pace, facts)];
    }
    if !queued(facts) && limited_by_loss(case, facts) {
        return vec![loss(case, facts, facts.congested), path(facts, facts.paced)];
    }
    let mut all = vec![path(facts, facts.paced + facts.congested)];
    if loses_much(facts) {
        all.push(loss(case, facts, facts.recovering.min(facts.paced + facts.congested)));
    }
    all
}

fn loses_much(facts: &Facts) -> bool {
    facts.lost > MANY_LOST && facts.retransmits >= LEAST_RETRANSMITS
}

fn queued(facts: &Facts) -> bool {
    let longer_us = facts.rtt_us.saturating_sub(facts.min_rtt_us);
    f64::from(facts.rtt_us) > QUEUED * f64::from(facts.min_rtt_us) && longer_us > QUEUED_US
}

/// Whether that much loss permits no more than a few times what went, after Mathis et al., "The macroscopic
/// behavior of the TCP congestion avoidance algorithm" (1997). cubic goes somewhat faster on a long
/// path; bbr does not mind.
fn limited_by_loss(case: Case<'_>, facts: &Facts) -> bool {
    if facts.retransmits < LEAST_RETRANSMITS || case.host.congestion.as_deref().is_some_and(is_bbr) {
        return false;
    }
    let mss = case.stream.tcp.map_or(0, |tcp| tcp.mss_bytes);
    permitted(mss, facts) <= PERMITS * facts.bytes_per_s
}

fn is_bbr(congestion: &str) -> bool {
    congestion.starts_with("bbr")
}

/// Bytes a second.
fn permitted(mss: u32, facts: &Facts) -> f64 {
    let rtt_s = f64::from(facts.rtt_us.max(1)) / 1e6;
    1.22 * f64::from(mss) / (rtt_s * facts.lost.sqrt())
}

fn paced(pace: f64, facts: &Facts) -> Reason {
    // With a low pace nearly all the time nothing is there to be sent: the program's calls wait.
    let waits = facts.paced + facts.congested + facts.all_sent + facts.empty;
    Reason {
        cause: Cause::Pace,
        share: waits.min(1.0 - facts.standard),
        text: "it goes no faster than --pace permits".into(),
        evidence: vec![format!("--pace is {}; {}", rate(pace), acknowledged(facts))],
        remedy: "raise --pace, or leave it out".into(),
    }
}

fn loss(case: Case<'_>, facts: &Facts, share: f64) -> Reason {
    Reason {
        cause: Cause::Loss,
        share,
        text: "segments are lost on the way, and the congestion window is kept small".into(),
        evidence: vec![
            again(facts),
            format!(
                "{} of the time the congestion window was full, {} under way",
                percent(facts.congested),
                bytes(facts.in_flight_bytes)
            ),
            format!(
                "no long queue: a round trip of {} is hardly longer than the shortest, {}",
                ms(facts.rtt_us),
                ms(facts.min_rtt_us)
            ),
        ],
        remedy: format!(
            "a queue that is too short for this round trip, a policer or a faulty link does this: find where segments \
             are lost (tc -s qdisc, ip -s link, ethtool -S; cable, duplex, radio); a queue is to hold what goes in a \
             round trip, and a pace a little below the path's rate fills none (netfathom ttcp --pace){}",
            other_control(case.host.congestion.as_deref())
        ),
    }
}

/// What else to choose, unless it is that already.
fn other_control(congestion: Option<&str>) -> String {
    let used = match congestion {
        Some(name) if is_bbr(name) => return String::new(),
        Some(name) => name,
        None => "the congestion control used",
    };
    format!("; bbr minds loss less than {used} (netfathom ttcp --congestion bbr)")
}

fn again(facts: &Facts) -> String {
    format!("{} segments went again, {:.2} % of all", facts.retransmits, 100.0 * facts.lost)
}

/// Another rate than that of the answer, which counts what was written.
fn acknowledged(facts: &Facts) -> String {
    format!("{} was acknowledged between the first sample and the last", rate(facts.bytes_per_s))
}

fn path(facts: &Facts, share: f64) -> Reason {
    let mut evidence = vec![
        format!("{} of the time there was more to send than the path took", percent(share)),
        acknowledged(facts),
        format!("a round trip takes {} at least, and {} here", ms(facts.min_rtt_us), ms(facts.rtt_us)),
        again(facts),
    ];
    let (text, remedy) = if queued(facts) {
        if facts.lost > MANY_LOST {
            evidence.push(
                "the longer round trip speaks for a queue that overflows; a faulty link would lose without it, and \
                 there may be one beside the queue"
                    .into(),
            );
        }
        ("the path is full", "none at these ends: its bottleneck is to be widened")
    } else if facts.may_grow && facts.retransmits == 0 {
        (
            "the congestion window held it back: it had not found out yet how much the path carries, or the path is \
             full",
            "transfer for longer: the window grows with each round trip",
        )
    } else if loses_much(facts) {
        // bbr minds loss little: whether it went slower for it cannot be known.
        evidence.rotate_right(1);
        (
            "segments are lost on the way, and the congestion window or its pacing held it back; no queue was seen",
            "find where segments are lost (tc -s qdisc, ip -s link, ethtool -S); if several streams (netfathom ttcp -P 4) \
             go faster together, it is the congestion control: choose another (netfathom ttcp --congestion)",
        )
    } else {
        (
            "the congestion window or its pacing held it back, and no queue was seen: the path is full and its queue \
             short, as bbr keeps it, or what was lost before still makes it careful",
            "if several streams (netfathom ttcp -P 4) go faster together, it is the congestion control: choose another \
             (netfathom ttcp --congestion); if not, the bottleneck of the path is to be widened",
        )
    };
    Reason { cause: Cause::Path, share, text: text.into(), evidence, remedy: remedy.into() }
}
