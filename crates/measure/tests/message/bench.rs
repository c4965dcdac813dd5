//! What the tests have in common.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_measure::kind::message;
use netfathom_model::layer::{Layer, Side};
use netfathom_model::plan::{MessagePlan, MessageTest, Place, ProcessorChoice};
use netfathom_model::record::{Counted, MessageCell, MessageResult};

/// Keeps how many trials there were each time.
#[derive(Default)]
pub struct Watcher {
    pub steps: Vec<String>,
    pub kept: Vec<usize>,
}

pub fn trials(result: &MessageResult) -> usize {
    result.cells.iter().map(|cell| cell.trials.len()).sum()
}

impl Observer<MessageResult> for Watcher {
    fn begins(&mut self, step: Step, _: &Arc<Live>) {
        self.steps.push(step.name);
    }

    fn keep(&mut self, so_far: &Progressed<MessageResult>) -> io::Result<()> {
        self.kept.push(trials(&so_far.result));
        Ok(())
    }
}

pub fn layers(names: &str) -> Vec<Layer> {
    names.split(',').map(|name| name.parse().unwrap()).collect()
}

/// Few and short: these tests count.
pub fn plan(test: MessageTest, place: Place, names: &str) -> MessagePlan {
    MessagePlan {
        sizes_bytes: vec![64],
        layers: layers(names),
        processors: ProcessorChoice::Same,
        messages: 300,
        least_ns: 0,
        trials: 2,
        ..MessagePlan::paper(test, place)
    }
}

pub fn run(plan: MessagePlan) -> Progressed<MessageResult> {
    let plan = plan.validated().unwrap();
    message::run(&plan, &mut Watcher::default(), &AtomicBool::new(false)).unwrap()
}

pub fn cell<'a>(result: &'a MessageResult, layer: &str) -> &'a MessageCell {
    let layer: Layer = layer.parse().unwrap();
    result.cells.iter().find(|cell| cell.layer == layer).unwrap()
}

/// Calls a message of one end, by name.
pub fn calls(cell: &MessageCell, end: Side, name: &str) -> f64 {
    let Counted::Calls(calls) = &cell.calls else { panic!("{:?}", cell.calls) };
    calls.iter().filter(|c| c.end == end && c.name == name).map(|c| c.per_message).sum()
}
