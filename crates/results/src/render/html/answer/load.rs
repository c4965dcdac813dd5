//! The answer of `netfathom load send`.

use netfathom_model::print;
use netfathom_model::record::{Echo, LoadResult, LoadSummary, LoadTrialKind};
use netfathom_model::units::format_duration;

use super::{Words, family, percent, place, rate_interval, time, together, trials};

pub fn words(load: &LoadResult) -> Words {
    let plan = &load.plan;
    let done = load.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded).count();
    let mut circumstances = vec![
        place(plan.place),
        plan.profile.to_string(),
        format!("{} of {}", trials(plan.trials), format_duration(plan.profile.duration_ns())),
        format!("{} bytes over UDP, {}", plan.size_bytes, family(plan.family)),
        format!("engine {}", load.engine.name()),
        workers(plan.workers),
    ];
    if let Some(receive) = load.receive {
        circumstances.push(format!("received by {}", receive.name()));
    }
    Words {
        title: "The load that was made".into(),
        sentence: load.summary.as_ref().map_or_else(
            || "No loaded trial was finished, so there is no answer yet.".into(),
            |s| sentence(load, s),
        ),
        there: format!("{done} of {} loaded trials are here.", plan.trials),
        circumstances,
    }
}

fn workers(count: u32) -> String {
    if count == 1 { "1 worker".into() } else { format!("{count} workers") }
}

fn sentence(load: &LoadResult, s: &LoadSummary) -> String {
    let lost = match s.lost {
        Some(0.0) => "; none was lost".to_owned(),
        Some(lost) => format!("; {} of them were lost", percent(lost)),
        None => "; nobody told how many arrived".to_owned(),
    };
    let lag = if s.lag.n == 0 {
        String::new()
    } else {
        format!(
            ", half of them no more than {} late and 99\u{a0}% no more than {}",
            time(s.lag.p50_ns as f64),
            time(s.lag.p99_ns as f64)
        )
    };
    let of_plan = together(&print::percent_down(s.of_plan));
    format!(
        "{} sent {of_plan} of the plan, {} messages a second{lag}{lost}.{}",
        load.engine.name(),
        rate_interval(s.reached_per_s, s.between_trials_per_s),
        s.echo_loaded.as_ref().map_or(String::new(), omission)
    )
}

fn omission(echo: &Echo) -> String {
    if echo.response.n == 0 {
        return String::new();
    }
    format!(
        " An answer came within {} of the intended departure for 99\u{a0}% of the messages; counted from the \
         actual departure it would read {}.",
        time(echo.response.p99_ns as f64),
        time(echo.service.p99_ns as f64)
    )
}
