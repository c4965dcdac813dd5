//! What changes how times of two sides read: drops, and a stage that one side alone has.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use netfathom_model::path::Direction;
use netfathom_model::print;
use netfathom_model::record::{
    Distribution, Measurement, Record, WatchDrop, WatchResult, WatchStage, WatchedStage,
};

/// A side dropped more if it has over this multiple of the packets per second of the other.
const FAR_MORE: f64 = 2.0;
/// The part of a mean from which on a stage is worth a word, as in findings.
const MUCH: f64 = 0.3;
/// A side with less than this part of the other's time in a stage has next to none of it.
const LEFT: f64 = 0.1;
/// Reasons for drops in a sentence.
const MOST_NAMED: usize = 3;

/// Of the runs of each side that count.
pub(crate) struct Beside {
    /// Whether B dropped packets, and A none or far fewer.
    pub b_dropped: bool,
    pub drops: Vec<String>,
    pub stages: Vec<String>,
}

impl Beside {
    /// `None` if they are of another measurement.
    pub fn of(a: &[&Record], b: &[&Record]) -> Option<Self> {
        let (a, b) = (Side::new("A", a), Side::new("B", b));
        if a.runs.is_empty() || b.runs.is_empty() {
            return None;
        }
        let [by_a, by_b] = [dropped(&a, &b), dropped(&b, &a)];
        let b_dropped = by_b.is_some();
        let again = "the wait until they are sent again is not in the times";
        let drops = by_b.into_iter().chain(by_a).map(|drops| format!("{drops}; {again}")).collect();
        Some(Self { b_dropped, drops, stages: [alone(&a, &b), alone(&b, &a)].concat() })
    }
}

struct Side<'a> {
    name: &'static str,
    runs: Vec<&'a WatchResult>,
}

impl<'a> Side<'a> {
    fn new(name: &'static str, records: &[&'a Record]) -> Self {
        let watched = |record: &&'a Record| match &record.measurement {
            Measurement::Watch(result) => Some(&**result),
            _ => None,
        };
        Self { name, runs: records.iter().filter_map(watched).collect() }
    }

    fn followed_ns(&self) -> f64 {
        self.runs.iter().map(|run| run.followed_ns() as f64).sum()
    }

    fn messages(&self) -> u64 {
        self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.messages()))
    }

    /// Packets by direction and reason.
    fn drops(&self) -> BTreeMap<(&'static str, &'a str), u64> {
        let mut all = BTreeMap::new();
        for drop in self.runs.iter().flat_map(|run| &run.drops) {
            let packets = all.entry((drop.direction.name(), drop.reason.as_str())).or_insert(0_u64);
            *packets = packets.saturating_add(drop.packets);
        }
        all
    }

    /// How many messages went this way, or had this stage of it, and the sum of those times.
    fn times(&self, way: Direction, stage: Option<WatchStage>) -> (u64, f64) {
        let all = self.runs.iter().filter_map(|run| times(run, way, stage));
        all.fold((0, 0.0), |(n, sum), times| (n + times.n, sum + times.sum_ns as f64))
    }
}

fn times(run: &WatchResult, way: Direction, stage: Option<WatchStage>) -> Option<&Distribution> {
    let (total, stages): (&Distribution, &[WatchedStage]) = match way {
        Direction::Rx => (&run.total, &run.stages[..]),
        Direction::Tx => run.send.as_ref().map(|send| (&send.total, &send.stages[..]))?,
    };
    match stage {
        None => Some(total),
        Some(stage) => stages.iter().find(|of| of.stage == stage).map(|of| &of.times),
    }
}

/// Reasons for which one side dropped packets and the other did not, or far fewer; a full queue of new connections first, then the most packets.
fn dropped(side: &Side, other: &Side) -> Option<String> {
    let (of_other, messages) = (other.drops(), side.messages());
    let is_enough = |reason: &str, packets: u64| {
        reason == WatchDrop::LISTEN_OVERFLOW || WatchDrop::is_much(packets, messages)
    };
    let [time, time_of_other] = [side, other].map(Side::followed_ns);
    let more = side.drops().into_iter().filter_map(|(of, packets)| {
        let few = of_other.get(&of).copied().unwrap_or(0);
        let is_more = packets as f64 * time_of_other > FAR_MORE * few as f64 * time;
        (is_more && is_enough(of.1, packets)).then_some((packets, of, few))
    });
    let mut more: Vec<_> = more.collect();
    more.sort_by_key(|&(packets, of, _)| (of.1 != WatchDrop::LISTEN_OVERFLOW, Reverse(packets)));
    let named = more.iter().map(|&(packets, (way, reason), few)| {
        format!("{} {way} {reason} ({} {})", print::count(packets), other.name, print::count(few))
    });
    let named = print::listed_first(MOST_NAMED, named);
    (!more.is_empty()).then(|| format!("{} dropped more packets than {}: {named}", side.name, other.name))
}

/// Stages that one side alone has, and that take a large part of its mean.
fn alone(side: &Side, other: &Side) -> Vec<String> {
    let of_way = |way| WatchStage::of(way).iter().map(move |&stage| (way, stage));
    let all = [Direction::Rx, Direction::Tx].into_iter().flat_map(of_way);
    all.filter_map(|(way, stage)| stage_alone(side, other, way, stage)).collect()
}

fn stage_alone(side: &Side, other: &Side, way: Direction, stage: WatchStage) -> Option<String> {
    let ((messages, whole), (_, part)) = (side.times(way, None), side.times(way, Some(stage)));
    let ((of_other, _), (_, part_of_other)) = (other.times(way, None), other.times(way, Some(stage)));
    let [mean, mean_of_other] = [part / messages as f64, part_of_other / of_other as f64];
    // Without messages it is no number, and not less.
    let is_alone = mean_of_other < LEFT * mean;
    (is_alone && part >= MUCH * whole).then(|| {
        let other_has = if part_of_other > 0.0 { "next to none" } else { "none" };
        let (way, stage, share) = (way.name(), stage.name(), print::percent(part / whole));
        format!("{} has {way}.{stage}, {share} of its {way} time; {} has {other_has}", side.name, other.name)
    })
}
