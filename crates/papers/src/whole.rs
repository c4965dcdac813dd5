//! An experiment as far as it is finished, and what its parts say together.

use netfathom_model::environment::Environment;
use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::{Claim, Holds, Measurement, ReproduceResult, ReproducedRun};
use netfathom_model::verdict::{Finding, Level, Reason, Verdict};

use super::Experiment;
use super::part::Part;
use netfathom_measure::ground::environment;
use netfathom_measure::ground::observer::Progressed;

#[derive(Clone)]
pub struct Whole<'a> {
    experiment: &'a Experiment,
    plan: &'a ReproducePlan,
    environment: Option<Environment>,
    runs: Vec<ReproducedRun>,
    verdicts: Vec<(&'static str, Verdict)>,
    findings: Vec<Finding>,
}

impl<'a> Whole<'a> {
    /// Nothing yet but what was found out beforehand.
    pub fn new(experiment: &'a Experiment, plan: &'a ReproducePlan, findings: Vec<Finding>) -> Self {
        Self { experiment, plan, environment: None, runs: Vec::new(), verdicts: Vec::new(), findings }
    }

    pub fn runs(&self) -> &[ReproducedRun] {
        &self.runs
    }

    /// A part is finished, or ended early.
    pub fn add(&mut self, part: &Part, progressed: Progressed<Measurement>) {
        let Progressed { environment, result, mut verdict, findings, .. } = progressed;
        // The parts run on the same machine; the first one's threads and devices stand for all.
        self.environment.get_or_insert(environment);
        self.runs.push(ReproducedRun { name: part.name.into(), measurement: result });
        if part.counted {
            verdict.reasons.iter_mut().for_each(|reason| reason.level = reason.level.min(Level::Degraded));
        }
        self.verdicts.push((part.name, verdict));
        // Their remedies name options that this command has not.
        let command = self.runs.last().map_or("", |run| run.measurement.command());
        let aside = |f: Finding| Finding {
            remedy: format!("measured by itself, with `netfathom {command}`: {}", f.remedy),
            ..f
        };
        self.findings.extend(findings.into_iter().map(aside));
    }

    /// All there is with a part that is still measured.
    pub fn with(
        &self,
        part: &Part,
        so_far: Progressed<Measurement>,
        of: usize,
    ) -> Progressed<ReproduceResult> {
        let mut whole = self.clone();
        whole.add(part, so_far);
        whole.result(of).0
    }

    /// The result so far, out of `of` parts.
    pub fn progressed(&self, of: usize) -> Progressed<ReproduceResult> {
        let (mut progressed, verdict) = self.result(of);
        // What is not whole, or VOID already, proves nothing either way.
        if self.verdicts.len() == of && progressed.verdict.level < Level::Void {
            verdict
                .reasons
                .into_iter()
                .for_each(|reason| progressed.verdict.lower(reason.level, reason.text));
        }
        progressed
    }

    /// The result so far, and the verdict of its report if it were whole.
    fn result(&self, of: usize) -> (Progressed<ReproduceResult>, Verdict) {
        let verdict = self.verdict(of);
        let mut report = (self.experiment.tell)(self.plan, &self.runs);
        if verdict.level == Level::Void {
            report.claims.iter_mut().for_each(leave_undecided);
        }
        let result = ReproduceResult {
            plan: self.plan.clone(),
            title: self.experiment.title.into(),
            source: self.experiment.source.into(),
            differences: report.differences,
            runs: self.runs.clone(),
            tables: report.tables,
            figures: report.figures,
            claims: report.claims,
        };
        let environment = self.environment.clone();
        let environment = environment.unwrap_or_else(|| environment::read(Vec::new(), Vec::new(), None));
        let mut progressed = Progressed::new(environment, result);
        progressed.verdict = verdict;
        progressed.findings.clone_from(&self.findings);
        (progressed, report.verdict)
    }

    /// The worst of the parts decides, for every table rests on all of them.
    fn verdict(&self, of: usize) -> Verdict {
        let mut verdict = Verdict::default();
        if self.verdicts.is_empty() {
            verdict.lower(Level::Void, "nothing was measured");
        } else if self.verdicts.len() < of {
            let text = format!("only {} of {of} parts were measured", self.verdicts.len());
            verdict.lower(Level::Degraded, text);
        }
        for (name, of_part) in &self.verdicts {
            for reason in &of_part.reasons {
                let part = if of > 1 { format!("{name}: ") } else { String::new() };
                verdict.lower(reason.level, format!("{part}{}", reason.text));
            }
        }
        verdict
    }
}

/// That a part was measured again with a lighter load, and why.
pub fn halved(times: u32, why: &[Reason]) -> Finding {
    let void = why.iter().filter(|reason| reason.level == Level::Void).map(|reason| reason.text.as_str());
    Finding {
        seen: format!(
            "the rates are a {} of what the experiment has",
            ["half", "quarter"][times as usize - 1]
        ),
        cause: "with higher ones the run was VOID, which decides nothing".into(),
        evidence: void.collect::<Vec<_>>().join("; "),
        remedy: "keep others off this machine for the experiment's own rates".into(),
    }
}

/// Unusable figures decide nothing; the claim still shows what they would decide.
fn leave_undecided(claim: &mut Claim) {
    let alone = match claim.holds {
        Holds::CannotTell => String::new(),
        holds => format!("by these figures alone it {}, but ", holds.name()),
    };
    claim.here.push_str(&format!("; {alone}the run is VOID: do not rely on it"));
    claim.holds = Holds::CannotTell;
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::TapChoice;

    use super::*;
    use crate::borodin::fixture;
    use crate::tests::plan;
    use crate::{PROOF, find};

    fn too_noisy() -> Progressed<Measurement> {
        let mut progressed =
            Progressed::new(environment::read(Vec::new(), Vec::new(), None), fixture::reverse(&[]).into());
        progressed.verdict.lower(Level::Void, "too noisy");
        progressed
    }

    #[test]
    fn one_of_many_that_are_counted_makes_nothing_void() {
        let plan = plan(PROOF, TapChoice::Auto);
        let whole = Whole::new(find(PROOF).unwrap(), &plan, Vec::new());
        let one_of_many = Part::new("one of many", fixture::reverse(&[]).plan).counted();
        let alone = Part::new("alone", fixture::reverse(&[]).plan);
        let verdict = whole.with(&one_of_many, too_noisy(), 1).verdict;
        assert_eq!(verdict.level, Level::Degraded);
        assert_eq!(verdict.reasons[0].text, "too noisy");
        assert_eq!(whole.with(&alone, too_noisy(), 1).verdict.level, Level::Void);
    }

    #[test]
    fn figures_that_are_not_to_be_used_decide_nothing() {
        let mut claim = Claim {
            origin: netfathom_model::record::Origin::Source,
            says: "it falls".into(),
            there: "a table".into(),
            here: "2 below 3".into(),
            holds: Holds::Yes,
        };
        leave_undecided(&mut claim);
        assert_eq!(claim.holds, Holds::CannotTell);
        assert_eq!(
            claim.here,
            "2 below 3; by these figures alone it holds, but the run is VOID: do not rely on it"
        );
    }
}
