//! Of `netfathom watch`.

use netfathom_model::record::{Distribution, WatchResult};
use serde_json::Value;

use super::Figures;
use super::Quantity;
use super::histogram::{Histogram, Pooled};
use super::plan::plan_with;

impl Figures for WatchResult {
    /// The time of a message on its way in, its stages, and the application's own.
    fn quantities(&self) -> Vec<Quantity> {
        let mut all = of_times("rx", "link layer to read", &self.total, true);
        for stage in &self.stages {
            let name = stage.stage.name();
            all.extend(of_times(&format!("rx.{name}"), &format!("stage {name}"), &stage.times, false));
        }
        if let Some(times) = &self.application {
            all.extend(of_times("application", "last byte read to first byte sent", times, false));
        }
        let seconds = self.watched_ns as f64 / 1e9;
        let rate = (seconds > 0.0).then(|| self.account.seen as f64 / seconds);
        all.push(Quantity::rate("rate", "messages that came", rate));
        all.push(Quantity::share("untimed", "messages without times", [1.0 - self.account.share_timed()]));
        all
    }

    fn plan(&self) -> Value {
        plan_with(&self.plan, &[])
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        let set = |(name, times)| Histogram { name, trial: None, span_ns: None, times };
        self.sets().map(set).collect()
    }

    fn pooled(&self) -> Vec<Pooled> {
        self.sets().map(|(name, times)| Pooled::new(name, times)).collect()
    }
}

trait Sets {
    /// What quantities made of it begin with, and the times.
    fn sets(&self) -> impl Iterator<Item = (String, &Distribution)>;
}

impl Sets for WatchResult {
    fn sets(&self) -> impl Iterator<Item = (String, &Distribution)> {
        let stages = self.stages.iter().map(|stage| (format!("rx.{}", stage.stage.name()), &stage.times));
        let application = self.application.iter().map(|times| ("application".to_owned(), times));
        [("rx".to_owned(), &self.total)].into_iter().chain(stages).chain(application)
    }
}

fn of_times(prefix: &str, title: &str, d: &Distribution, main: bool) -> Vec<Quantity> {
    let values =
        [("mean", d.mean_ns), ("p50", d.p50_ns as f64), ("p99", d.p99_ns as f64), ("p999", d.p999_ns as f64)];
    let is_main = |what| main && (what == "mean" || what == "p99");
    let known = values.into_iter().filter(|_| d.n > 0);
    known
        .map(|(what, value)| {
            Quantity::time(format!("{prefix}.{what}"), format!("{title}, {what}"), [value])
                .main(is_main(what))
        })
        .collect()
}
