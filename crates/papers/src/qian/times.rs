//! Table 3: total, user and system time of the tar under tcpdump.

use netfathom_model::record::{BesideTable, Claim, Comparison, CostTrial, Holds, Origin, Resource};
use netfathom_stats::Estimate;

use super::claims::in_a_short_tar;
use super::originals::{Level, TCPDUMP, tar_times};
use super::ours::{Ours, amount, falls, rises};
use crate::beside::{beside_table, own, plain, source};
use crate::claim::{above, below, ratio, written};
use crate::rounds::Rounds;

/// What the paper says of its heaviest load: 7.301 s of system time become 15.668.
const SYSTEM_TIMES: f64 = 2.0;
const TOTAL: f64 = 1.2;
const USER: f64 = 1.1;
const THERE: &str = "table 3, from no load to 80 Mbit/s";

/// The paper's rows, and ours at the same levels.
pub fn table(ours: Option<&Ours<'_>>) -> BesideTable {
    let theirs = |who: &str, name: &str| {
        let cells = tar_times(name).into_iter().flatten().map(|s| Some(plain(s))).collect();
        source(format!("Qian & Wang, {who}"), cells)
    };
    let here = |who: String, condition: usize| {
        let cells = ours.map_or([None; 3], |o| o.times_s(condition)).map(|s| s.map(plain));
        own(format!("here, {who}"), cells.into())
    };
    let none = [theirs("0", "intercepted")].into_iter().chain(ours.map(|_| here("no load".into(), 0)));
    let levels = TCPDUMP.levels.iter().flat_map(|level| {
        let found = ours.and_then(|o| o.beside(level.ours));
        let here = found.map(|c| here(format!("{}, with its load", level.ours), c.condition));
        [theirs(level.theirs, &format!("tcpdump {}", level.theirs))].into_iter().chain(here)
    });
    beside_table(
        "Time of the tar under tcpdump (table 3)",
        "total, s|user, s|system, s",
        none.chain(levels),
        "Row 0 has the figures that table 1 has of the intercepted tar. Ours: means of the trials; most kernels divide user and system time by \
         who runs at each tick.",
    )
}

pub fn claims(ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let [.., heaviest] = TCPDUMP.levels else { return Vec::new() };
    let found = ours.and_then(|o| o.beside(heaviest.ours)).filter(|c| c.blocks >= 2);
    let times = |resource| found.and_then(|c| times(c, resource));
    let total = ratio(found);
    let (user, system) = (times(Resource::UserCpu), times(Resource::SystemCpu));
    let claim = |says: &str, there: &str, times, holds| Claim {
        origin: Origin::Source,
        says: says.into(),
        there: format!("{there} ({THERE})"),
        here: format!("{}: {} times as much", heaviest.ours, written(times, 3)),
        holds,
    };
    vec![
        claim(
            "the tar's system time more than doubles",
            "7.301 s become 15.668 s",
            system,
            above(system, SYSTEM_TIMES),
        ),
        claim(
            "its whole time grows by less than 20 %",
            "154.458 s become 183.464 s",
            total,
            below(total, TOTAL),
        ),
        claim("its user time grows by less than 10 %", "61.049 s become 65.750 s", user, below(user, USER)),
        in_a_short_tar(longer(ours), &TCPDUMP, ours),
        in_a_short_tar(user_time_not_strictly(ours), &TCPDUMP, ours),
    ]
}

fn longer(ours: Option<&Ours<'_>>) -> Claim {
    let rows = column(ours, |trial| Some(trial.total_ns / 1e9));
    Claim {
        origin: Origin::Source,
        says: "the more traffic there is, the longer the tar takes".into(),
        there:
            "2.3; table 3, from no load to 80 Mbit/s: 154.458, 156.575, 166.609, 168.357, 174.133, 183.464 s"
                .into(),
        here: row_by_row(&rows),
        holds: rises(&rows),
    }
}

fn user_time_not_strictly(ours: Option<&Ours<'_>>) -> Claim {
    let rows = column(ours, |trial| Some(amount(trial, Resource::UserCpu)? / 1e9));
    Claim {
        origin: Origin::Source,
        says: "its user time does not grow strictly with the load".into(),
        there: "2.3; table 3, from no load to 80 Mbit/s: 61.049, 59.502, 64.382, 63.631, 65.090, 65.750 s"
            .into(),
        here: format!("{}; a fall is judged at 95 % for all of them together", row_by_row(&rows)),
        holds: match rises(&rows) {
            _ if falls(&rows) => Holds::Yes,
            Holds::Yes => Holds::No,
            _ => Holds::CannotTell,
        },
    }
}

/// A column of table 3 here: by block, without a load and at each level.
fn column(ours: Option<&Ours<'_>>, of: fn(&CostTrial) -> Option<f64>) -> Vec<Rounds> {
    let at = |condition: Option<usize>| {
        let of = |trial: &CostTrial| of(trial).filter(|_| trial.failed.is_none());
        ours.zip(condition).map(|(o, condition)| o.blocks(condition, of)).unwrap_or_default()
    };
    let beside = |level: &Level| at(ours.and_then(|o| o.beside(level.ours)).map(|c| c.condition));
    std::iter::once(at(Some(0))).chain(TCPDUMP.levels.iter().map(beside)).collect()
}

/// By how much each row is more than the one before.
fn row_by_row(rows: &[Rounds]) -> String {
    let each = TCPDUMP
        .levels
        .iter()
        .zip(rows.windows(2))
        .map(|(level, row)| format!("{}: {} s", level.ours, written(row[1].less(&row[0]).estimate(), 3)));
    let each = each.collect::<Vec<_>>().join("; ");
    format!("more than at the load before, {each} (95 % intervals between blocks, each by itself)")
}

/// A resource as a multiple of what it was before.
fn times(of: &Comparison, resource: Resource) -> Option<Estimate> {
    let taken = of.taken.iter().find(|taken| taken.resource == resource && taken.before > 0.0)?;
    let part = |value: f64| value / taken.before;
    Some(Estimate {
        value: 1.0 + part(taken.difference.value),
        half_width: part(taken.difference.half_width),
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::CostLevel;
    use netfathom_model::record::{self, Amount, Condition, CostBenchmark, CostResult, Effect, Outcome};

    use super::*;

    #[test]
    fn the_papers_own_times_bear_its_conclusions_out() {
        let [before, after] = ["intercepted", "tcpdump 80Mbps"].map(|name| tar_times(name).unwrap());
        let times: Vec<f64> = before.iter().zip(after).map(|(before, after)| after / before).collect();
        assert!(times[0] < TOTAL && times[1] < USER && times[2] > SYSTEM_TIMES, "{times:?}");
    }

    #[test]
    fn the_papers_rows_stand_alone_before_there_is_a_trial() {
        let table = table(None);
        assert_eq!(table.rows.len(), 1 + TCPDUMP.levels.len());
        assert!(table.rows.iter().all(|row| !row.here), "{:?}", table.rows);
        let who: Vec<&str> = table.rows.iter().map(|row| row.who.as_str()).collect();
        assert_eq!(who[..2], ["Qian & Wang, 0", "Qian & Wang, 800kbps"]);
        assert_eq!(claims(None).len(), 5);
    }

    /// A trial of each condition in each of three blocks: the tar in all and in user mode, in s.
    fn made(rows: [(f64, f64); 6]) -> CostResult {
        let trial = |block: u32, (condition, (total_s, user_s)): (usize, (f64, f64))| CostTrial {
            block,
            condition,
            // What drifts from block to block is no difference of the rows.
            total_ns: 1e9 * (total_s + f64::from(block)),
            amounts: vec![Amount { resource: Resource::UserCpu, value: 1e9 * (user_s + f64::from(block)) }],
            ..CostTrial::default()
        };
        let of_block = |block| rows.into_iter().enumerate().map(move |row| trial(block, row));
        let nothing = record::Estimate { value: 1.0, half_width: 0.0 };
        let comparison = |condition| Comparison {
            effect: Effect::Both,
            condition,
            against: 0,
            blocks: 3,
            ratio: nothing,
            pcost: nothing,
            outcome: Outcome::CannotTell,
            smallest: None,
            spans: Vec::new(),
            taken: Vec::new(),
        };
        let levels = TCPDUMP.levels.iter().map(|level| level.ours);
        let condition = |level: &str| Condition {
            name: level.into(),
            program: true,
            level: Some(CostLevel { text: level.into(), bits_per_s: None }),
            way: None,
            armed: true,
        };
        CostResult {
            plan: None,
            subject: String::new(),
            conditions: std::iter::once("0").chain(levels).map(condition).collect(),
            benchmarks: vec![CostBenchmark {
                trials: (0..3).flat_map(of_block).collect(),
                comparisons: (1..6).map(comparison).collect(),
                ..CostBenchmark::default()
            }],
            overall: Vec::new(),
            program: Vec::new(),
        }
    }

    /// Whether the tar takes the longer, and whether its user time does not grow strictly.
    fn holds(result: &CostResult) -> [Holds; 2] {
        let ours = Ours { result, tar: &result.benchmarks[0] };
        let claims = claims(Some(&ours));
        [claims[3].holds, claims[4].holds]
    }

    #[test]
    fn the_tar_takes_longer_from_row_to_row_or_not() {
        use Holds::{CannotTell, No, Yes};
        let names = TCPDUMP.levels.iter().map(|level| format!("tcpdump {}", level.theirs));
        let names = std::iter::once("intercepted".to_owned()).chain(names);
        let there = names.map(|name| tar_times(&name).unwrap()).map(|[total, user, _]| (total, user));
        let there: Vec<(f64, f64)> = there.collect();
        assert_eq!(holds(&made(there.try_into().unwrap())), [Yes, Yes], "the paper's own");
        let rises = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0].map(|s| (s, s));
        assert_eq!(holds(&made(rises)), [Yes, No]);
        let [a, b, c, d, e, f] = rises;
        assert_eq!(holds(&made([a, c, b, d, e, f])), [No, Yes]);
        assert_eq!(holds(&made([a, b, c, c, e, f])), [CannotTell; 2], "as long is not longer");
        let short = made(rises.map(|(total, user)| (total - 9.0, user)));
        assert_eq!(holds(&short), [CannotTell; 2]);
        let mut failed = made(rises);
        for trial in failed.benchmarks[0].trials.iter_mut().filter(|trial| trial.block > 0) {
            trial.failed = Some("it ended early".into());
        }
        assert_eq!(holds(&failed), [CannotTell; 2], "one block has no interval");
    }
}
