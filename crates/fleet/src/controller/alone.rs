//! The same measurement on every host by itself: which one is different, and in what.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::Observer;
use netfathom_model::plan::FleetTest;
use netfathom_model::record::{FleetFigure, FleetResult};

use super::{Crew, Run};
use crate::wire::{Alone, Figure, Outcome, Task, plain};

/// Trials, and loading of kernel programs on a busy host.
const WITHIN: Duration = Duration::from_secs(300);

impl<O: Observer<FleetResult>> Run<'_, O> {
    pub async fn alone(&mut self, crew: &mut Crew) -> Result<(), RunError> {
        let plan = self.plan;
        let what = if plan.test == FleetTest::Stack { Alone::Stack } else { Alone::Capacity };
        let has = |name: &String| crew.hosts.get(name).is_some_and(|host| host.verdict.is_some());
        let names: Vec<String> = crew.members.keys().filter(|&name| !has(name)).cloned().collect();
        let parts: Vec<&[String]> =
            names.chunks(plan.parallel.map_or(names.len(), |n| n as usize).max(1)).collect();
        for (number, part) in parts.iter().enumerate() {
            if !self.goes_on(crew).await {
                break;
            }
            self.begins("hosts", number + 1, parts.len());
            crew.link.next_round();
            let outcomes = join_all(part.iter().map(|name| async {
                let member = crew.members.get(name)?;
                let (time_ns, rate_per_s) = (plan.time_ns, plan.rates_per_s[0]);
                let task = Task::Alone { what, time_ns, rate_per_s, size_bytes: plan.size_bytes };
                Some(match crew.link.order(member, task).await {
                    Ok(started) => crew.link.outcome(member, started, WITHIN).await,
                    Err(miss) => Err(miss),
                })
            }))
            .await;
            for (name, outcome) in part.iter().zip(outcomes) {
                match outcome {
                    Some(Ok(Outcome::Figures { figures, verdict })) => {
                        add(&mut self.p.result.figures, name, figures);
                        if let Some(host) = crew.hosts.get_mut(name) {
                            host.verdict = Some(verdict);
                        }
                    }
                    Some(Err(miss)) => crew.lose(name, miss.why()),
                    _ => crew.lose(name, "it reported something else than it was asked for"),
                }
            }
            self.keep(crew)?;
        }
        Ok(())
    }
}

fn add(all: &mut Vec<FleetFigure>, host: &str, figures: Vec<Figure>) {
    for figure in figures.into_iter().filter(|figure| figure.value.is_finite()) {
        let name = plain(&figure.name);
        let place = all.iter().position(|known| known.name == name).unwrap_or_else(|| {
            let (title, unit) = (plain(&figure.title), plain(&figure.unit));
            let (less, main) = (figure.less, figure.main);
            all.push(FleetFigure { name, title, unit, less, main, hosts: BTreeMap::new() });
            all.len() - 1
        });
        all[place].hosts.insert(host.to_owned(), figure.value);
    }
}
