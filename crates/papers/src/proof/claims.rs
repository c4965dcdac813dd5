//! Whether the measurement is right.

use netfathom_model::record::{Claim, Estimate, Holds, Origin, Outcome, ReproducedRun};
use netfathom_model::verdict::{Level, Verdict};

use super::named;
use super::plans::{BURNERS, NOTHINGS};
use super::tables::{Recovered, SWITCHING, findings, points};
use crate::claim::{below, percent, percent_more, ratio, written};

/// Most false positives among the runs with a program that does nothing.
const FALSE_ALARMS: usize = 1;
/// What is asked of the observation points: no more than this part.
const NEXT_TO_NOTHING: f64 = 0.005;

pub fn all(runs: &[ReproducedRun]) -> Vec<Claim> {
    of_ruler(runs).into_iter().chain([next_to_nothing(runs)]).collect()
}

/// Those without which no cost that is found can be relied on. What the observation points take is in both arms.
pub fn of_ruler(runs: &[ReproducedRun]) -> Vec<Claim> {
    let burners = BURNERS.into_iter().map(|(burner, _)| recovered(runs, burner));
    [nothing(runs)].into_iter().chain(burners).collect()
}

/// What they make of the whole: a proof that fails is no measurement that went well.
pub fn verdict(claims: &[Claim], quick: bool) -> Verdict {
    let longer = if quick { ", or without --quick" } else { "" };
    let mut verdict = Verdict::default();
    for Claim { says, here, holds, .. } in claims {
        match holds {
            Holds::Yes => {}
            Holds::No => verdict.lower(
                Level::Void,
                format!(
                    "the proof failed: {says}, but {here}. By chance that comes once in a while: repeat it, and if it \
                     fails again do not rely on `netfathom cost` on this machine"
                ),
            ),
            Holds::CannotTell => verdict.lower(
                Level::Degraded,
                format!("not proved: {says}; {here}. Repeat it while the machine is quieter{longer}"),
            ),
        }
    }
    verdict
}

fn nothing(runs: &[ReproducedRun]) -> Claim {
    let found = findings(runs);
    let count = |outcome| found.iter().filter(|c| c.outcome == outcome).count();
    let alarms = count(Outcome::Cost) + count(Outcome::Faster);
    let inconclusive = count(Outcome::CannotTell);
    let whole = found.len() as u64 == NOTHINGS;
    let holds = match alarms {
        _ if alarms > FALSE_ALARMS => Holds::No,
        _ if !whole || alarms + inconclusive > FALSE_ALARMS => Holds::CannotTell,
        _ => Holds::Yes,
    };
    Claim {
        origin: Origin::Ours,
        says: format!("of a program that does nothing, nothing is found: in at least 19 of {NOTHINGS} runs"),
        there: "a program that sleeps".into(),
        here: format!(
            "no cost in {} of {} runs; {alarms} false alarms, {inconclusive} inconclusive",
            count(Outcome::NoCost),
            found.len()
        ),
        holds,
    }
}

fn points_of(estimate: Estimate) -> String {
    format!("{} %", written(Some(percent(estimate)), 2))
}

fn recovered(runs: &[ReproducedRun], burner: &str) -> Claim {
    let recovered = named(runs, burner).first().and_then(|result| Recovered::of(result));
    Claim {
        origin: Origin::Ours,
        says: format!(
            "{burner}: what it takes is found, with up to {:.0} points more that no process was charged with",
            100.0 * SWITCHING
        ),
        there: recovered.map_or("unknown".into(), |r| format!("it took {} of the CPU", points_of(r.known))),
        here: recovered.map_or("unknown".into(), |r| format!("the benchmark lacked {}", points_of(r.found))),
        holds: match recovered.and_then(|r| r.agrees()) {
            Some(true) => Holds::Yes,
            Some(false) => Holds::No,
            None => Holds::CannotTell,
        },
    }
}

fn next_to_nothing(runs: &[ReproducedRun]) -> Claim {
    let found = ratio(points(runs));
    Claim {
        origin: Origin::Ours,
        says: format!(
            "the observation points of a tar with gzip take less than {:.1} %",
            100.0 * NEXT_TO_NOTHING
        ),
        there: "a tar with gzip that is not observed".into(),
        here: found.map_or("unknown".into(), |ratio| format!("{} %", written(Some(percent_more(ratio)), 2))),
        holds: below(found, 1.0 + NEXT_TO_NOTHING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: Holds) -> Claim {
        Claim {
            origin: Origin::Ours,
            says: "it finds nothing".into(),
            there: "nothing".into(),
            here: "7 alarms".into(),
            holds,
        }
    }

    #[test]
    fn a_ruler_that_is_wrong_proves_nothing() {
        assert_eq!(verdict(&[claim(Holds::Yes)], true), Verdict::default());
        let inconclusive = verdict(&[claim(Holds::Yes), claim(Holds::CannotTell)], true);
        assert_eq!(inconclusive.level, Level::Degraded);
        let wrong = verdict(&[claim(Holds::CannotTell), claim(Holds::No)], true);
        assert_eq!(wrong.level, Level::Void);
        assert!(wrong.reasons[1].text.contains("it finds nothing, but 7 alarms"), "{wrong:?}");
    }
}
