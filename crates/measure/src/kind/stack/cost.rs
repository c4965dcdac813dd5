//! The overhead of a tap, by baselines and alternating trials, and the cross-check with other taps.

use itertools::Itertools as _;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::record::{Agreement, CrossCheck, Distribution, SelfCost, TapRow, Trial, TrialKind};
use netfathom_stats::{Estimate, between_trials, difference, ratio};

use crate::load::judge::share;

/// Two taps agree if their difference, with all of its interval, lies within the larger of these.
const AGREE_SHARE: f64 = 0.15;
const AGREE_NS: f64 = 300.0;

fn values(trials: &[Trial], is: impl Fn(&Trial) -> bool, value: impl Fn(&Trial) -> Option<f64>) -> Vec<f64> {
    trials.iter().filter(|t| is(t)).filter_map(value).collect()
}

/// Whether a trial is one of a tap throughout.
fn has(trial: &Trial, tap: Tap) -> bool {
    trial.tap == Some(tap) && trial.kind != TrialKind::Alternating
}

/// What a tap adds to the times of a direction, over the rounds of all alternating trials.
fn added(trials: &[Trial], tap: Tap, direction: Direction) -> Option<Estimate> {
    let rounds = trials.iter().flat_map(|t| &t.added).filter(|a| a.direction == direction);
    let differences: Vec<f64> = rounds.flat_map(|a| a.differences_ns.iter().copied()).collect();
    // Only the programs of the bpf tap alternate.
    between_trials(&differences).filter(|_| tap == Tap::Bpf)
}

fn is_baseline(trial: &Trial) -> bool {
    trial.kind == TrialKind::Baseline
}

/// Trials with a tap against trials without; `None` where either are less than two.
pub fn of_tap(trials: &[Trial], tap: Tap) -> Option<SelfCost> {
    let both = |value: fn(&Trial) -> Option<f64>| {
        (values(trials, |t| has(t, tap), value), values(trials, is_baseline, value))
    };
    // How long the calls of a sender on another host took is unknown.
    let (tapped, bare) = both(|t| (t.load.send_call.n > 0).then_some(t.load.send_call.mean_ns));
    let send_call_ns = difference(&tapped, &bare)?.into();
    let longer = |r: Estimate| Estimate { value: r.value - 1.0, half_width: r.half_width };
    let send_call_share = ratio(&tapped, &bare).map(|r| longer(r).into());
    let (tapped, bare) = both(|t| t.reader_cpu_ns_per_message);
    let reader_cpu_ns = difference(&tapped, &bare).map(Into::into);
    let (tapped, bare) = both(|t| t.flat_out_per_s);
    let lost = |r: Estimate| Estimate { value: 1.0 - r.value, half_width: r.half_width };
    let rate_lost = ratio(&tapped, &bare).map(|r| lost(r).into());
    let [within_tx_ns, within_rx_ns] =
        [Direction::Tx, Direction::Rx].map(|way| added(trials, tap, way).map(Into::into));
    Some(SelfCost { send_call_ns, send_call_share, within_tx_ns, within_rx_ns, reader_cpu_ns, rate_lost })
}

/// Every tap that ran, the run's own first.
pub fn beside_each_other(trials: &[Trial]) -> Vec<TapRow> {
    let own = trials.iter().filter(|t| t.kind == TrialKind::Measured);
    let others = trials.iter().filter(|t| t.kind != TrialKind::Alternating);
    let taps: Vec<Tap> = own.chain(others).filter_map(|t| t.tap).unique().collect();
    let first = taps.first().copied();
    taps.iter().map(|&tap| row(trials, tap, first.filter(|&first| first != tap))).collect()
}

fn row(trials: &[Trial], tap: Tap, first: Option<Tap>) -> TapRow {
    let means = |tap, direction, begin| {
        values(trials, |t| has(t, tap), |t| time_of(t, direction, begin, |times| times.mean_ns))
    };
    let mean = |direction| between_trials(&means(tap, direction, Begin::LinkLayer)).map(Into::into);
    let bias = |direction| {
        let begin = Begin::common(tap, first?, direction)?;
        difference(&means(tap, direction, begin), &means(first?, direction, begin)).map(Into::into)
    };
    let mine = || trials.iter().filter(|t| has(t, tap));
    let total = |count: fn(&Trial) -> u64| mine().map(count).sum::<u64>();
    let ways = mine().map(|t| t.paths.len() as u64 * t.load.sent).sum();
    TapRow {
        tap,
        trials: mine().count() as u32,
        tx_ns: mean(Direction::Tx),
        rx_ns: mean(Direction::Rx),
        tx_bias_ns: bias(Direction::Tx),
        rx_bias_ns: bias(Direction::Rx),
        lost: share(total(|t| t.accounting.unjoined_tx + t.accounting.unjoined_rx), ways),
        cost: of_tap(trials, tap),
    }
}

/// What the cross-check trials say beside the measured ones, tap by tap.
pub fn cross_checks(trials: &[Trial], directions: &[Direction]) -> Vec<CrossCheck> {
    let taps = trials.iter().filter(|t| t.kind == TrialKind::CrossCheck).filter_map(|t| t.tap).unique();
    let pairs = taps.cartesian_product(directions);
    pairs.filter_map(|(tap, &direction)| cross_check(trials, tap, direction)).collect()
}

fn cross_check(trials: &[Trial], tap: Tap, direction: Direction) -> Option<CrossCheck> {
    let own = trials.iter().find(|t| t.kind == TrialKind::Measured)?.tap?;
    let begin = Begin::common(own, tap, direction)?;
    let compare = |of: fn(&Distribution) -> f64| {
        let each = |is: &dyn Fn(&Trial) -> bool| values(trials, is, |t| time_of(t, direction, begin, of));
        let main = each(&|t| t.kind == TrialKind::Measured);
        let other = each(&|t| t.kind == TrialKind::CrossCheck && t.tap == Some(tap));
        let other_ns = mean(&other)?;
        let difference_ns = mean(&main)? - other_ns;
        let half_width_ns = difference(&main, &other).map(|d| d.half_width);
        let agreement = agreement(difference_ns, half_width_ns, (AGREE_SHARE * other_ns).max(AGREE_NS));
        Some((other_ns, difference_ns, half_width_ns, agreement))
    };
    let (mean_ns, difference_ns, half_width_ns, of_means) = compare(|times| times.mean_ns)?;
    let agreement = confirmed(of_means, compare(|times| times.p50_ns as f64)?.3);
    let stamps = trials.iter().filter(|t| t.tap == Some(tap)).flat_map(|t| &t.added);
    let behind: Vec<f64> = stamps.filter(|a| a.direction == direction).filter_map(|a| a.behind_ns).collect();
    let behind_ns = mean(&behind);
    Some(CrossCheck { direction, tap, mean_ns, difference_ns, half_width_ns, behind_ns, agreement })
}

/// What a difference and half its interval say of a margin. The value alone says nothing: trials
/// that differ widely among themselves have means that are close by chance.
fn agreement(difference_ns: f64, half_width_ns: Option<f64>, margin_ns: f64) -> Agreement {
    match half_width_ns {
        Some(half) if difference_ns.abs() + half <= margin_ns => Agreement::Agree,
        Some(half) if difference_ns.abs() - half > margin_ns => Agreement::Disagree,
        _ => Agreement::Inconclusive,
    }
}

/// A few messages that other programs delayed move a mean, and these are not in the answer: medians must differ too.
fn confirmed(of_means: Agreement, of_medians: Agreement) -> Agreement {
    match (of_means, of_medians) {
        (Agreement::Disagree, Agreement::Agree | Agreement::Inconclusive) => Agreement::Inconclusive,
        _ => of_means,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// As the tap has it, which is the link layer of all but SO_TIMESTAMPING.
    LinkLayer,
    /// The arrival from the driver: SO_TIMESTAMPING stamps before the backlog
    /// (net.core.netdev_tstamp_prequeue, on by default).
    Arrival,
}

impl Begin {
    /// Where both taps see a message; `None` if there is no such place. On the way out all see it
    /// at the link layer.
    fn common(a: Tap, b: Tap, direction: Direction) -> Option<Self> {
        match (a, b) {
            _ if direction == Direction::Tx => Some(Self::LinkLayer),
            (Tap::Timestamping, Tap::Pcap) | (Tap::Pcap, Tap::Timestamping) => None,
            (Tap::Timestamping, _) | (_, Tap::Timestamping) => Some(Self::Arrival),
            _ => Some(Self::LinkLayer),
        }
    }
}

/// The mean or the median of a way of a trial. That of the backlog is added where the tap knows it and it is part
/// of the way.
fn time_of(trial: &Trial, direction: Direction, begin: Begin, of: fn(&Distribution) -> f64) -> Option<f64> {
    let path = trial.paths.iter().find(|p| p.direction == direction)?;
    let backlog = path.stages.iter().find(|s| s.stage == Stage::Backlog).and_then(|s| s.times.distribution());
    let before_ns = if begin == Begin::Arrival { backlog.map_or(0.0, of) } else { 0.0 };
    Some(of(&path.total) + before_ns)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| netfathom_stats::mean(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_agree_or_disagree_with_all_of_the_interval() {
        let of = |difference_ns, half| agreement(difference_ns, half, 300.0);
        // The means are close, and the trials say nothing: 67 ns, give or take 394.
        assert_eq!(of(-67.0, Some(394.0)), Agreement::Inconclusive);
        assert_eq!(of(-67.0, None), Agreement::Inconclusive);
        assert_eq!([of(-67.0, Some(200.0)), of(250.0, Some(50.0))], [Agreement::Agree; 2]);
        // Partly beyond is not beyond.
        assert_eq!([of(-400.0, Some(100.0)), of(290.0, Some(20.0))], [Agreement::Inconclusive; 2]);
        assert_eq!([of(-400.0, Some(99.0)), of(900.0, Some(1.0))], [Agreement::Disagree; 2]);
    }

    #[test]
    fn taps_disagree_in_the_median_too() {
        use Agreement::{Agree, Disagree, Inconclusive};
        let of = |of_medians| [Agree, Disagree, Inconclusive].map(|of_means| confirmed(of_means, of_medians));
        assert_eq!(of(Disagree), [Agree, Disagree, Inconclusive]);
        assert_eq!([of(Agree), of(Inconclusive)], [[Agree, Inconclusive, Inconclusive]; 2]);
    }
}
