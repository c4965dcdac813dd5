//! `netfathom cost`: what a program takes from benchmarks, by condition, from mark to mark and by resource.

mod answer;
mod calls;
mod charts;
mod comparison;
mod effects;
mod figure;
mod notes;
mod plan;
mod program;
mod resources;
mod sequences;
mod spans;
mod trials;

use netfathom_model::plan::{CostLoad, CostPlan, Place};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, CostWaits};

use super::{Body, Story, contention, more, place::Site};
use crate::page::{Block, Page, shortened};

/// Letters of a benchmark's name in a heading.
const LONGEST_NAME: usize = 50;

impl Story for CostResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        let own = answer::own_alone(self);
        if own {
            self.benchmarks.iter().for_each(|benchmark| calls::draw(&mut page, self, benchmark));
        }
        effects::draw(&mut page, self);
        for benchmark in &self.benchmarks {
            if let Some(comparison) = comparison::shown(self, benchmark) {
                spans::draw(&mut page, self, benchmark, comparison);
                resources::draw(&mut page, self, benchmark, comparison);
                others(&mut page, self, benchmark, comparison);
            }
            if let Some(CostWaits { condition, waits }) = &benchmark.waits {
                let name = shortened(&benchmark.name, LONGEST_NAME);
                let beside = comparison::condition_name(self, *condition);
                let heading = format!("Who had the CPU while {name} waited for one: {beside}");
                contention::cpu_waits(
                    &mut page,
                    &heading,
                    waits,
                    ", in one more run, which counts for nothing else",
                );
            }
            if !own {
                calls::draw(&mut page, self, benchmark);
            }
        }
        program::draw(&mut page, self);
        trials::draw(&mut page, self);
        let plan = plan::words(self);
        super::asked_for(&mut page, &plan);
        Body {
            title: match self.plan.as_ref().and_then(CostPlan::timed) {
                _ if own => "What its own calls take",
                Some(_) => "Time of a command",
                None => "Slowdown of other work",
            }
            .into(),
            done: plan::done(self),
            page,
            remarks: answer::remarks(self),
            plan,
            left_out: &[],
        }
    }

    fn answer(&self) -> String {
        answer::answer(self)
    }

    fn site(&self) -> Site {
        match self.plan.as_ref().map(|plan| &plan.load) {
            None => Site::Elsewhere("times taken elsewhere"),
            Some(Some(CostLoad::Udp { .. })) => Site::At(Place::Lab),
            Some(_) => Site::Here,
        }
    }
}

/// Spans and resources of the comparisons that are not shown.
fn others(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, shown: &Comparison) {
    let has_details = |c: &&Comparison| !c.spans.is_empty() || !c.taken.is_empty();
    let all = benchmark.comparisons.iter().filter(|c| !std::ptr::eq(*c, shown)).filter(has_details);
    let option = |comparison: &Comparison| -> (String, Vec<Block>) {
        let name = format!("{}: {}", comparison.effect.name(), comparison::row_name(result, comparison));
        let blocks = Page::filled(|page| {
            page.text(&pair_name(result, benchmark, comparison));
            spans::fill(page, benchmark, comparison);
            resources::fill(page, comparison);
        });
        (name, blocks)
    };
    let options: Vec<_> = all.map(option).collect();
    if !options.is_empty() {
        page.details("the other comparisons", |page| page.choice("comparison", options));
    }
}

/// Benchmark, condition, and the one it is compared with: `tar, “with at 80M” vs. “without at 80M”`.
fn pair_name(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> String {
    let conditions = comparison::versus(result, comparison.condition, comparison.against);
    format!("{}, {conditions}", shortened(&benchmark.name, LONGEST_NAME))
}
