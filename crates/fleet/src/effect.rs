//! Which host is different: the effect of a host on all its pairs, separated from the effect of a single pair.
//!
//! A median polish splits the logarithms of the values: sender, receiver, and a residual for each pair. What all pairs of a
//! round have in common is taken away first: something else went on meanwhile. A host is named if nearly all its pairs are worse, by much, and by far more than the scatter of single pairs explains.

use std::collections::BTreeMap;

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{Cause, FleetFigure, FleetPair, HostEffect, Side};
use netfathom_stats::{middle_of, polish};

/// A host is not named if its pairs reach more than this share of the others, whatever its significance.
const WORSE: f64 = 0.8;
/// The same of losses, in units of a loss: chance brings one or two.
const WORSE_LOSS: f64 = 1.0 / 3.0;
/// How often its effect must be what chance does to it. With hundreds of hosts, and medians of few pairs, 3 is common.
const STRONG: f64 = 5.0;
/// Of few pairs the effect must be stronger: by this divided by their number.
const FEW: f64 = 4.0;
/// Of hosts that measured by themselves each has one value, and few of them often scatter little by chance: with four hosts that
/// differ by a quarter, 5 alone names one in two of three runs.
const FEW_HOSTS: f64 = 20.0;
/// Hosts that are alike scatter by this much, whatever a few of them show.
const LEAST_SCATTER: f64 = 0.03;
/// The share of its pairs that must be worse than the others' median.
const MOST_PAIRS: f64 = 0.8;
/// Fewer pairs with a host, or without it, name no host: of two, either could be the slow one, and the scatter of a few is
/// small by chance.
const LEAST_PAIRS: usize = 2;
const LEAST_OTHERS: usize = 6;

/// What each pair's value is worth: more is better, on a scale where effects add up.
fn worth(pair: &FleetPair, test: FleetTest) -> Option<f64> {
    match test {
        FleetTest::Throughput => pair.value(test).filter(|&v| v > 0.0).map(f64::ln),
        // Half a message more, so that nothing lost has a place too.
        FleetTest::Loss => {
            Some(-((pair.lost? as f64 + 0.5) / (pair.sent.filter(|&n| n > 0)? as f64 + 1.0)).ln())
        }
        _ => pair.value(test).filter(|&v| v > 0.0).map(|v| -v.ln()),
    }
}

/// What the pairs of each round have in common, as the difference from all; nothing of a round with few pairs.
fn of_rounds(pairs: &[FleetPair], test: FleetTest) -> BTreeMap<u32, f64> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        rounds.entry(pair.round).or_default().extend(worth(pair, test));
    }
    rounds.retain(|_, worths| worths.len() >= LEAST_OTHERS);
    let all = middle_of(rounds.values().flatten().copied()).unwrap_or_default();
    rounds.into_iter().filter_map(|(round, worths)| Some((round, middle_of(worths)? - all))).collect()
}

/// Judges the hosts, the worst first, and gives each pair its residual.
pub fn judge(names: &[String], pairs: &mut [FleetPair], test: FleetTest) -> Vec<HostEffect> {
    let place = |name: &str| names.iter().position(|n| n == name);
    let common = of_rounds(pairs, test);
    let directed = test == FleetTest::Throughput;
    let mut table = vec![vec![None; names.len()]; names.len()];
    for pair in pairs.iter() {
        let (Some(from), Some(to), Some(worth)) = (place(&pair.from), place(&pair.to), worth(pair, test))
        else {
            continue;
        };
        let worth = worth - common.get(&pair.round).unwrap_or(&0.0);
        table[from][to] = Some(worth);
        if !directed {
            table[to][from] = Some(worth);
        }
    }
    let polished = polish(&table);
    let sign = if test == FleetTest::Throughput { 1.0 } else { -1.0 };
    for pair in pairs.iter_mut() {
        let rest = place(&pair.from).zip(place(&pair.to)).and_then(|(i, j)| polished.residuals[i][j]);
        pair.residual = rest.map(|rest| (sign * rest).exp());
    }
    // Medians leave as many residuals at zero as there are rows: the others say how much pairs scatter.
    let scatter =
        middle_of(polished.residuals.iter().flatten().flatten().map(|r| r.abs()).filter(|&r| r > 1e-12));
    let scatter = 1.4826 * scatter.unwrap_or(0.0);
    let seen = Seen { names, table: &table, directed, scatter, test };
    let sides = polished.rows.iter().zip(&polished.columns);
    let mut effects: Vec<HostEffect> =
        sides.enumerate().filter_map(|(host, (&send, &receive))| seen.effect(host, send, receive)).collect();
    effects.iter_mut().for_each(|effect| effect.cause = cause(effect, pairs));
    order(&mut effects);
    effects
}

fn order(effects: &mut [HostEffect]) {
    // A negative strength is worse, whichever way the ratio points.
    let badness = |e: &HostEffect| -e.strength.signum() * e.ratio.max(1e-12).ln().abs();
    effects.sort_by(|a, b| b.named.cmp(&a.named).then(badness(b).total_cmp(&badness(a))));
}

struct Seen<'a> {
    names: &'a [String],
    table: &'a [Vec<Option<f64>>],
    directed: bool,
    scatter: f64,
    test: FleetTest,
}

impl Seen<'_> {
    fn effect(&self, host: usize, send: f64, receive: f64) -> Option<HostEffect> {
        let with: Vec<(Side, f64)> = self
            .cells()
            .filter_map(|(i, j, v)| match (i == host, j == host) {
                (true, _) => Some((Side::Send, v)),
                (_, true) if self.directed => Some((Side::Receive, v)),
                _ => None,
            })
            .collect();
        // A pair without a direction stands in the table twice.
        let once = |i, j| self.directed || i < j;
        let without: Vec<f64> = self
            .cells()
            .filter(|&(i, j, _)| i != host && j != host && once(i, j))
            .map(|cell| cell.2)
            .collect();
        let others = middle_of(without.iter().copied())?;
        let side = match (self.directed, send < receive / 2.0, receive < send / 2.0) {
            (false, ..) => Side::Both,
            (_, true, false) => Side::Send,
            (_, false, true) => Side::Receive,
            _ => Side::Both,
        };
        let of_side: Vec<f64> =
            with.iter().filter(|(s, _)| side == Side::Both || *s == side).map(|(_, v)| *v).collect();
        let worse = of_side.iter().filter(|&&v| v < others).count();
        let effect = middle_of(of_side.iter().copied())? - others;
        // The rest that the polish leaves is too small with few hosts; the pairs without this one scatter as they are.
        let own_scatter = 1.4826 * middle_of(without.iter().map(|v| (v - others).abs()))?;
        let (with, without) = (of_side.len() as f64, without.len() as f64);
        // Single losses are all that a polish of losses leaves.
        let scatter = if self.test == FleetTest::Loss { own_scatter } else { self.scatter.max(own_scatter) };
        let error = scatter * 1.2533 * (1.0 / with + 1.0 / without).sqrt();
        let strength = if error > 0.0 { effect / error } else { effect.signum() * 1e3 };
        let limit = if self.test == FleetTest::Loss { WORSE_LOSS } else { WORSE };
        let named = of_side.len() >= LEAST_PAIRS
            && without >= LEAST_OTHERS as f64
            && effect < limit.ln()
            && strength < -STRONG * (1.0 + FEW / with)
            && worse as f64 >= MOST_PAIRS * of_side.len() as f64;
        let ratio = if self.test == FleetTest::Throughput { effect.exp() } else { (-effect).exp() };
        Some(HostEffect {
            host: self.names[host].clone(),
            side,
            figure: None,
            ratio,
            worse: worse as u32,
            pairs: of_side.len() as u32,
            strength,
            named,
            cause: None,
        })
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let row = |(i, row): (usize, &'_ Vec<Option<f64>>)| -> Vec<(usize, usize, f64)> {
            row.iter().enumerate().filter_map(|(j, v)| Some((i, j, (*v)?))).collect()
        };
        self.table.iter().enumerate().flat_map(row)
    }
}

/// What limited most of the pairs with a host, at its own end.
fn cause(effect: &HostEffect, pairs: &[FleetPair]) -> Option<String> {
    let own = |pair: &FleetPair| -> Option<Cause> {
        let cause = match (pair.from == effect.host, pair.to == effect.host) {
            (true, _) if effect.side != Side::Receive => pair.send_cause.as_ref(),
            (_, true) if effect.side != Side::Send => pair.receive_cause.as_ref(),
            _ => None,
        };
        cause
            .map(|(cause, _)| *cause)
            .filter(|c| !matches!(c, Cause::Nothing | Cause::TooShort | Cause::Elsewhere))
    };
    let causes: Vec<Cause> = pairs.iter().filter_map(own).collect();
    let count = |cause: Cause| causes.iter().filter(|&&c| c == cause).count();
    let most = causes.iter().copied().max_by_key(|&cause| (count(cause), std::cmp::Reverse(cause)))?;
    // What paces the transfers of an agent is its own limit.
    let name = if most == Cause::Pace { "--max-bits of its agent" } else { most.name() };
    (2 * count(most) > effect.pairs as usize).then(|| name.to_owned())
}

/// Which host is different in what it measured by itself: of the main figures, each against the median of the others.
pub fn judge_figures(figures: &[FleetFigure]) -> Vec<HostEffect> {
    let mut effects: Vec<HostEffect> =
        figures.iter().filter(|figure| figure.main).flat_map(of_figure).collect();
    for effect in effects.iter_mut().filter(|effect| effect.named) {
        effect.cause = stage(effect, figures);
    }
    order(&mut effects);
    effects
}

/// The stage in which a host takes most of the time that others do not take, of the direction that its figure is of.
fn stage(effect: &HostEffect, figures: &[FleetFigure]) -> Option<String> {
    let way = effect.figure.as_ref()?.split_once('.')?.0;
    let more = |figure: &FleetFigure| {
        let of_way = figure.name.split_once('.')?.0 == way;
        let stage = figure.title.strip_prefix("stage ").filter(|_| of_way && figure.less)?;
        let others = figure.hosts.iter().filter(|(host, _)| **host != effect.host).map(|(_, v)| *v);
        let more = figure.hosts.get(&effect.host)? - middle_of(others)?;
        Some((more, stage.split(',').next()?.to_owned())).filter(|(more, _)| *more > 0.0)
    };
    let most = figures.iter().filter_map(more).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!("most of it in stage {}", most.1))
}

fn of_figure(figure: &FleetFigure) -> Vec<HostEffect> {
    let logs: Vec<(&String, f64)> =
        figure.hosts.iter().filter(|(_, v)| **v > 0.0).map(|(host, v)| (host, v.ln())).collect();
    let effect = |&(host, own): &(&String, f64)| {
        let others: Vec<f64> = logs.iter().filter(|(name, _)| *name != host).map(|(_, v)| *v).collect();
        let center = middle_of(others.iter().copied())?;
        let scatter = 1.4826 * middle_of(others.iter().map(|v| (v - center).abs()))?;
        let difference = own - center;
        let worse = if figure.less { difference } else { -difference };
        let strength = -worse / scatter.max(LEAST_SCATTER);
        let limit = STRONG * (1.0 + FEW_HOSTS / others.len() as f64);
        let named = others.len() >= 3 && worse > -WORSE.ln() && strength < -limit;
        let ratio = difference.exp();
        let (host, figure) = (host.clone(), Some(figure.name.clone()));
        Some(HostEffect {
            host,
            side: Side::Both,
            figure,
            ratio,
            worse: u32::from(worse > 0.0),
            pairs: 1,
            strength,
            named,
            cause: None,
        })
    };
    logs.iter().filter_map(effect).collect()
}

#[cfg(test)]
mod tests;
