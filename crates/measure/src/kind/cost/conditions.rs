//! In what a benchmark is run, and which conditions are compared.

use netfathom_model::plan::{CostLevel, CostPlan, Interception, Subject};
use netfathom_model::record::{Condition, Effect};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    pub effect: Effect,
    pub condition: usize,
    /// beside which.
    pub against: usize,
}

/// The conditions of a plan, the baseline first.
pub fn planned(plan: &CostPlan) -> Vec<Condition> {
    let mut all = vec![baseline()];
    match &plan.subject {
        Subject::Interception { ways } => {
            // Observers are compared with an unobserved benchmark.
            let unobserved = Condition { armed: false, ..baseline() };
            let observed = |&way: &Interception| Condition {
                name: way.name().into(),
                way: Some(way),
                ..unobserved.clone()
            };
            return std::iter::once(unobserved.clone()).chain(ways.iter().map(observed)).collect();
        }
        Subject::Nothing if plan.load.is_some() => {
            all.extend(plan.levels.iter().filter(|level| !is_none(level)).map(|level| loaded(level, false)));
        }
        // Ranking its own calls needs no other program.
        Subject::Nothing if plan.own => {}
        _ if plan.levels.is_empty() => {
            all.push(Condition { name: "with the program".into(), program: true, ..baseline() });
        }
        _ => {
            for level in &plan.levels {
                if plan.load.is_some() && !is_none(level) {
                    all.push(loaded(level, false));
                }
                all.push(loaded(level, true));
            }
        }
    }
    if plan.baselines {
        all.push(Condition { name: "baseline, unobserved".into(), armed: false, ..baseline() });
    }
    all
}

fn baseline() -> Condition {
    Condition { name: "baseline".into(), program: false, level: None, way: None, armed: true }
}

fn loaded(level: &CostLevel, program: bool) -> Condition {
    let name = if program { level.text.clone() } else { format!("{}, load alone", level.text) };
    Condition { name, program, level: Some(level.clone()), ..baseline() }
}

/// A load of nothing is no load.
pub fn is_none(level: &CostLevel) -> bool {
    level.bits_per_s == Some(0.0)
}

pub fn compared(conditions: &[Condition]) -> Vec<Compared> {
    let mut all = Vec::new();
    for (condition, what) in conditions.iter().enumerate().skip(1) {
        let beside = |effect, against| Compared { effect, condition, against };
        if what.way.is_some() {
            all.push(beside(Effect::Observation, 0));
        } else if !what.armed {
            all.push(Compared { effect: Effect::Observation, condition: 0, against: condition });
        } else if !what.program {
            all.push(beside(Effect::Load, 0));
        } else if let Some(alone) = load_alone(conditions, what) {
            all.extend([beside(Effect::Program, alone), beside(Effect::Both, 0)]);
        } else {
            all.push(beside(Effect::Program, 0));
        }
    }
    all
}

/// The same load without the program.
fn load_alone(conditions: &[Condition], of: &Condition) -> Option<usize> {
    conditions.iter().position(|c| !c.program && c.level.is_some() && c.level == of.level)
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::CostLoad;

    use super::super::fixture::plan;
    use super::*;

    fn names(plan: &CostPlan) -> Vec<String> {
        planned(plan).into_iter().map(|c| c.name).collect()
    }

    fn levels() -> Vec<CostLevel> {
        let level = |text: &str, bits| CostLevel { text: text.into(), bits_per_s: Some(bits) };
        vec![level("0", 0.0), level("8M", 8e6)]
    }

    #[test]
    fn a_program_is_compared_with_the_same_load_without_it() {
        let load = Some(CostLoad::Udp { frame_bytes: 1064 });
        let plan = CostPlan { load, levels: levels(), baselines: true, ..plan() };
        assert_eq!(names(&plan), ["baseline", "0", "8M, load alone", "8M", "baseline, unobserved"]);
        let of = |effect, condition, against| Compared { effect, condition, against };
        let expected = [
            of(Effect::Program, 1, 0),
            of(Effect::Load, 2, 0),
            of(Effect::Program, 3, 2),
            of(Effect::Both, 3, 0),
            of(Effect::Observation, 0, 4),
        ];
        assert_eq!(compared(&planned(&plan)), expected);
    }

    #[test]
    fn levels_of_the_command_itself_have_no_load_alone() {
        let plan = CostPlan { levels: levels(), baselines: false, ..plan() };
        assert_eq!(names(&plan), ["baseline", "0", "8M"]);
        assert!(compared(&planned(&plan)).iter().all(|c| c.effect == Effect::Program && c.against == 0));
    }

    #[test]
    fn observers_are_compared_with_an_unobserved_benchmark() {
        let ways = vec![Interception::Strace, Interception::Tracepoints];
        let plan = CostPlan { subject: Subject::Interception { ways }, baselines: true, ..plan() };
        let all = planned(&plan);
        assert!(all.len() == 3 && all.iter().all(|c| !c.armed));
        assert!(compared(&all).iter().all(|c| c.effect == Effect::Observation && c.against == 0));
    }

    #[test]
    fn nothing_is_compared_with_nothing() {
        let plan = CostPlan { subject: Subject::Nothing, baselines: false, ..plan() };
        assert_eq!(names(&plan), ["baseline", "with the program"]);
        assert_eq!(names(&CostPlan { own: true, ..plan }), ["baseline"]);
    }
}
