//! What was asked for.

use netfathom_model::plan::{EngineChoice, LoadPlan, ReceiveChoice, Spin};

use crate::story::{CHOSEN, place, processors};

pub(super) fn words(plan: &LoadPlan) -> Vec<(&'static str, String)> {
    let engine = match plan.engine {
        EngineChoice::Auto => "the lowest that is on schedule",
        EngineChoice::Only(engine) => engine.name(),
    };
    let receive = match plan.receive {
        ReceiveChoice::Auto => "the one that matches the engine",
        ReceiveChoice::Only(receive) => receive.name(),
    };
    let waiting = match plan.spin {
        Spin::Auto => "sleeps while it is far, spins the last stretch",
        Spin::Never => "only sleeps",
    };
    let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
    vec![
        ("place", place::ends(plan.place)),
        ("profile", plan.profile.to_string()),
        ("trials", plan.trials.to_string()),
        ("requested engine", engine.into()),
        ("requested way to receive", receive.into()),
        ("workers", plan.workers.to_string()),
        ("a worker", waiting.into()),
        ("echo", yes(plan.echo)),
        ("one way", yes(plan.one_way)),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("CPUs", processors(&plan.cpus, CHOSEN)),
        ("port", if plan.port == 0 { "a free one".into() } else { plan.port.to_string() }),
        ("seed", plan.seed.to_string()),
    ]
}
