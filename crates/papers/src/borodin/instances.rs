//! How many instances of the sender a capture follows: more and more of them until it loses about half of the messages, then
//! the largest number with a loss of at most 5 %.

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{ReproducePlan, StackPlan, TapChoice};
use netfathom_model::print::percent_down;
use netfathom_model::profile::Profile;
use netfathom_model::record::{BesideTable, Claim, Figure, Measured, Origin, ReproducedRun, StackResult};
use netfathom_model::units::format_rate;
use netfathom_stats::{between_trials, ratio};

use super::plans::{QUICK_TRIALS, TRIALS, stack};
use super::{differences, ours};
use crate::Report;
use crate::beside::{self, HERE, beside_table, mean, own, plain, point};
use crate::claim::{above, below, percent, written};
use crate::ground::Ground;
use crate::part::Part;
use netfathom_measure::ground::error::RunError;

/// What one instance of the paper's program formed.
const OF_ONE_PER_S: f64 = 100e3;
const LENGTH_S: f64 = 2.0;
const QUICK_LENGTH_S: f64 = 0.5;
const NUMBERS: [(&str, u32); 7] = [
    ("1 instance", 1),
    ("2 instances", 2),
    ("4 instances", 4),
    ("8 instances", 8),
    ("16 instances", 16),
    ("32 instances", 32),
    ("64 instances", 64),
];
/// Where the search ends. The paper: about 50 %.
const ENDS_AT: f64 = 0.5;
/// What the experiment may lose.
const ALLOWED: f64 = 0.05;
const THERE: &str = "outgoing paper, the text before the results: conditions were chosen under which the capture loses at \
                     most 5 %; the number of instances is not printed";

pub fn parts(ground: &mut Ground<'_>) -> Result<Vec<Part>, RunError> {
    let duration_ns = ground.length_ns(QUICK_LENGTH_S, LENGTH_S);
    let part = |(name, workers)| {
        let profile = Profile::Constant { rate_per_s: OF_ONE_PER_S * f64::from(workers), duration_ns };
        let plan = StackPlan {
            tap: TapChoice::Only(Tap::Pcap),
            trials: ground.trials(QUICK_TRIALS, TRIALS),
            workers,
            // The program of the tests is none that could be started once more: those of the command have the processes.
            processes: !cfg!(test),
            ..stack(ground, &[Direction::Tx], profile)
        };
        // Loss is what is looked for.
        Part::new(name, plan).counted().unless(loses_half)
    };
    Ok(NUMBERS.map(part).into())
}

fn loses_half(runs: &[ReproducedRun]) -> bool {
    steps(runs).last().is_some_and(|step| step.lost() >= ENDS_AT)
}

/// One number of instances; a value a trial.
struct Step {
    instances: u32,
    per_s: Vec<f64>,
    lost: Vec<f64>,
}

impl Step {
    fn of(result: &StackResult) -> Option<Self> {
        let trials = || ours::measured(result).filter(|trial| trial.load.sent > 0 && trial.load.span_ns > 0);
        let sent = |trial: &netfathom_model::record::Trial| trial.load.sent as f64;
        let per_s = trials().map(|trial| sent(trial) * 1e9 / trial.load.span_ns as f64).collect::<Vec<_>>();
        let lost = trials().map(|trial| trial.accounting.unjoined_tx as f64 / sent(trial)).collect();
        (!per_s.is_empty()).then_some(Self { instances: result.plan.workers, per_s, lost })
    }

    /// The mean of its trials.
    fn lost(&self) -> f64 {
        netfathom_stats::mean(&self.lost)
    }
}

fn steps(runs: &[ReproducedRun]) -> Vec<Step> {
    runs.iter().filter_map(|run| Step::of(StackResult::of(&run.measurement)?)).collect()
}

/// The most instances that the capture follows: fewer do not lose more than is allowed either.
fn most(steps: &[Step]) -> Option<&Step> {
    steps.iter().take_while(|step| step.lost() <= ALLOWED).last()
}

pub fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let steps = steps(runs);
    Report {
        differences: differences::of_instances(plan, ours::stack(runs)),
        tables: table(&steps).into_iter().collect(),
        figures: figure(&steps).into_iter().collect(),
        claims: claims(&steps),
        ..Report::default()
    }
}

fn table(steps: &[Step]) -> Option<BesideTable> {
    let row = |step: &Step| {
        let lost: Vec<f64> = step.lost.iter().map(|lost| 100.0 * lost).collect();
        let asked = plain(OF_ONE_PER_S * f64::from(step.instances));
        own(format!("{HERE}, {}", step.instances), vec![Some(asked), mean(&step.per_s), mean(&lost)])
    };
    (!steps.is_empty()).then(|| {
        let columns = "asked for, messages/s|sent, messages/s|lost by the capture, %";
        let rows = steps.iter().map(row);
        beside_table("Instances, and what the capture loses", columns, rows, outcome(steps))
    })
}

/// What the search came to.
fn outcome(steps: &[Step]) -> String {
    let Some(last) = steps.last() else { return String::new() };
    let set = match most(steps) {
        Some(step) if step.instances == last.instances => {
            format!("All numbers up to {} lose at most 5 %.", step.instances)
        }
        Some(step) => format!("The largest number with at most 5 % loss: {}.", step.instances),
        None => "The capture loses more than 5 % of one instance.".into(),
    };
    let end = if last.lost() >= ENDS_AT {
        format!(
            "The search ended at {}, where the capture lost {}.",
            last.instances,
            percent_down(last.lost())
        )
    } else {
        format!("With {} the capture lost {}, less than half.", last.instances, percent_down(last.lost()))
    };
    format!("{set} {end} For this the paper prints neither numbers nor rates.")
}

fn figure(steps: &[Step]) -> Option<Figure> {
    let at = |step: &Step| Some(point(f64::from(step.instances), mean(&step.per_s)?));
    let series = vec![beside::ours(format!("{HERE}, sent"), steps.iter().filter_map(at).collect())];
    let figure = beside::lines("Rate over the number of instances", ["instances", "messages/s"], series);
    (!steps.is_empty()).then_some(figure)
}

fn claims(steps: &[Step]) -> Vec<Claim> {
    let [one, more @ ..] = steps else { return Vec::new() };
    let reached = between_trials(&one.per_s);
    let alone = Claim {
        origin: Origin::Source,
        says: "One instance sends far fewer messages than the 100,000 or so a second that it forms".into(),
        there: "outgoing paper, the text before the results; no figure of what was sent".into(),
        here: format!(
            "one instance sends {} messages/s (95 % interval between {} trials); far fewer is surely less than 90,000",
            written(reached, 0),
            one.per_s.len()
        ),
        holds: below(reached, 0.9 * OF_ONE_PER_S),
    };
    let Some(last) = more.last() else { return vec![alone] };
    let growth = ratio(&last.per_s, &one.per_s);
    let grows = Claim {
        origin: Origin::Source,
        says: "More messages are sent as the number of instances rises".into(),
        there: "outgoing paper, the text before the results; no figures".into(),
        here: format!(
            "{} instances, the most that were tried, send {} times as many as one (95 % interval between {} and {} \
             trials)",
            last.instances,
            written(growth, 2),
            last.per_s.len(),
            one.per_s.len()
        ),
        holds: above(growth, 1.0),
    };
    // The fewest of several: with more the capture loses no less.
    let two = &more[0];
    let lost = between_trials(&two.lost);
    let several = Claim {
        origin: Origin::Source,
        says: "Several instances can run with at most 5 % loss in the capture".into(),
        there: THERE.into(),
        here: format!(
            "{} instances, {} messages/s: the capture loses {} % (95 % interval between the trials). {}",
            two.instances,
            format_rate(netfathom_stats::mean(&two.per_s).round()),
            written(lost.map(percent), 2),
            outcome(steps)
        ),
        holds: below(lost, ALLOWED),
    };
    vec![alone, grows, several]
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Holds, Measurement};

    use super::super::fixture;
    use super::*;

    /// A run of three trials of a second, with that many thousand messages sent and that part of them lost.
    fn run(instances: u32, thousands: u64, lost: f64) -> ReproducedRun {
        let mut result = fixture::stack(&[(Direction::Tx, &[(1000, 1000); 3])]);
        result.plan.workers = instances;
        for (trial, jitter) in result.trials.iter_mut().zip([0, 10, 20]) {
            trial.load.span_ns = 1_000_000_000;
            trial.load.sent = 1000 * thousands + jitter;
            trial.accounting.unjoined_tx = (lost * trial.load.sent as f64) as u64;
        }
        ReproducedRun { name: String::new(), measurement: Measurement::Stack(Box::new(result)) }
    }

    #[test]
    fn the_search_ends_at_half_and_the_number_is_the_last_that_loses_little() {
        let mut runs = vec![run(1, 80, 0.0), run(2, 150, 0.04)];
        assert!(!loses_half(&[]) && !loses_half(&runs));
        runs.push(run(4, 200, 0.3));
        assert!(!loses_half(&runs));
        runs.push(run(8, 250, 0.55));
        assert!(loses_half(&runs));
        let steps = steps(&runs);
        assert_eq!(most(&steps).unwrap().instances, 2);
        let text = outcome(&steps);
        assert!(text.contains("at most 5 % loss: 2.") && text.contains("ended at 8"), "{text}");
        assert!(
            outcome(&steps[..2]).starts_with("All numbers up to 2 lose at most 5 %. With 2 the capture lost")
        );
    }

    #[test]
    fn less_loss_with_more_instances_is_chance() {
        let runs = [run(1, 80, 0.01), run(2, 150, 0.2), run(4, 150, 0.04)];
        assert_eq!(most(&steps(&runs)).unwrap().instances, 1);
        assert!(most(&steps(&runs[1..])).is_none());
        assert!(outcome(&steps(&runs[1..])).contains("more than 5 % of one instance"));
    }

    #[test]
    fn intervals_decide() {
        let holds = |runs: &[_]| claims(&steps(runs)).iter().map(|claim| claim.holds).collect::<Vec<_>>();
        let (yes, no) = (Holds::Yes, Holds::No);
        assert_eq!(holds(&[run(1, 50, 0.0), run(2, 90, 0.01)]), [yes, yes, yes]);
        assert_eq!(holds(&[run(1, 100, 0.0), run(2, 80, 0.1)]), [no, no, no]);
        assert_eq!(holds(&[run(1, 100, 0.0)]), [no]);
        assert!(holds(&[]).is_empty());
    }
}
