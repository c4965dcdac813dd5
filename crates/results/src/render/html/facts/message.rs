//! What follows from a record of `netfathom message`.

use std::collections::BTreeMap;

use netfathom_model::layer::End;
use netfathom_model::plan::{Carrier, Placement};
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial, Remedied};
use serde::Serialize;

use super::{PlanWords, quantiles, read, values};
use crate::story::messaged::{self, Figure, Quantity};

#[derive(Serialize)]
pub struct MessageFacts {
    plan: PlanWords,
    /// What it is read by: `messages`, `bytes` or `time`, and how that is called.
    quantity: &'static str,
    quantity_name: &'static str,
    /// What multiples are those of.
    ratio_name: &'static str,
    size_name: &'static str,
    /// What is counted: `round trips`.
    counts: &'static str,
    /// The first layer, which the others are compared with.
    first: String,
    /// As they are typed, in the order of the plan; behind them what stands in for one that cannot be.
    layers: Vec<String>,
    /// In the order of the plan, with their words.
    placements: Vec<(&'static str, &'static str)>,
    /// The processors of each pair.
    pairs: Vec<String>,
    quantiles: Vec<f64>,
    /// One a cell.
    cells: Vec<CellFacts>,
    /// One a stall.
    remedies: Vec<RemedyFacts>,
    /// The layer of each thing that cannot be.
    absent: Vec<String>,
    /// Where an end in the kernel runs, if there is one.
    kernel_ends: Option<&'static str>,
    /// How far the time of the kernel's workers carries.
    workers: &'static str,
    /// Why an end in the kernel is not known, and why segments are not.
    in_kernel: &'static str,
    no_segments: Option<&'static str>,
    /// Why figures are not known.
    reasons: Vec<String>,
    /// What stands in for layers that cannot be.
    stand_ins: Vec<String>,
}

#[derive(Serialize)]
struct CellFacts {
    layer: String,
    /// The pair by its words, for a damaged record may have none.
    pair: String,
    figure: Option<FigureFacts>,
    /// To the first layer; `None` of that itself.
    ratio: Option<FigureFacts>,
    /// Of each trial, by what it is read by.
    trials: Vec<Option<f64>>,
    /// By end.
    ends: BTreeMap<&'static str, EndFacts>,
    kernel_workers_ns: Option<f64>,
    delayed_acks: Option<f64>,
    /// Times by quantile.
    times: Vec<Option<i64>>,
}

/// A message's.
#[derive(Serialize)]
struct EndFacts {
    cpu_ns: Option<f64>,
    calls: Option<f64>,
    switches: Option<f64>,
    segments: Option<f64>,
    in_kernel: bool,
}

#[derive(Serialize)]
struct FigureFacts {
    value: f64,
    half: Option<f64>,
}

#[derive(Serialize)]
struct RemedyFacts {
    layer: String,
    stall: &'static str,
    pair: String,
    /// The layer of each row.
    layers: Vec<String>,
}

impl MessageFacts {
    pub fn of(result: &MessageResult) -> Self {
        let quantity = Quantity::of(&result.plan);
        let quantiles = quantiles();
        let groups = messaged::groups(result);
        let cell = |cell: &MessageCell| {
            let group = groups.iter().find(|g| g.placement == cell.placement && g.pair == cell.pair);
            let reference = group.and_then(|group| group.reference(&result.plan, cell.bytes));
            CellFacts::of(result, cell, reference.filter(|first| first.layer != cell.layer), &quantiles)
        };
        Self {
            plan: messaged::plan_words(&result.plan),
            quantity: match quantity {
                Quantity::Messages => "messages",
                Quantity::Bytes => "bytes",
                Quantity::Time => "time",
            },
            quantity_name: quantity.name(&result.plan),
            ratio_name: quantity.ratio_name(result.plan.test),
            size_name: messaged::size_name(&result.plan),
            counts: result.plan.test.counts(),
            first: result.plan.layers.first().map(ToString::to_string).unwrap_or_default(),
            layers: messaged::layers(result).into_iter().map(ToString::to_string).collect(),
            kernel_ends: messaged::where_kernel_ends_run(result),
            workers: messaged::WORKERS,
            in_kernel: messaged::IN_KERNEL,
            no_segments: messaged::no_segments(result.plan.carrier),
            reasons: messaged::reasons(result),
            stand_ins: messaged::stand_ins(result),
            placements: placements(&result.plan.placements),
            pairs: (0..result.pairs.len()).map(|pair| messaged::pair(result, pair)).collect(),
            cells: result.cells.iter().map(cell).collect(),
            remedies: result.remedies.iter().map(|r| RemedyFacts::of(result, r)).collect(),
            absent: result
                .absent
                .iter()
                .map(|absent| messaged::layer_or_all(absent.layer.as_ref()))
                .collect(),
            quantiles,
        }
    }
}

fn placements(all: &[Placement]) -> Vec<(&'static str, &'static str)> {
    all.iter().map(|&placement| (placement.name(), messaged::placement(placement))).collect()
}

impl CellFacts {
    fn of(
        result: &MessageResult,
        cell: &MessageCell,
        reference: Option<&MessageCell>,
        quantiles: &[f64],
    ) -> Self {
        let quantity = Quantity::of(&result.plan);
        let end = |end: End, in_kernel| EndFacts {
            cpu_ns: cell.cpu_ns_per_message(end),
            calls: cell.calls_per_message(end),
            switches: cell.switches_per_message(end),
            segments: cell.segments_per_message(end),
            in_kernel,
        };
        Self {
            layer: cell.layer.to_string(),
            pair: messaged::pair(result, cell.pair),
            figure: quantity.of_cell(cell).map(FigureFacts::from),
            ratio: reference.and_then(|first| quantity.ratio(cell, first)).map(FigureFacts::from),
            trials: cell.trials.iter().map(|trial| of_trial(quantity, cell, trial)).collect(),
            ends: BTreeMap::from([
                (End::Client.name(), end(End::Client, cell.placement.kernel_client())),
                (End::Server.name(), end(End::Server, cell.placement.kernel_server())),
            ]),
            kernel_workers_ns: cell.kernel_workers_ns_per_message(),
            // Over anything else they are those of other connections.
            delayed_acks: cell.delayed_acks_per_message().filter(|_| result.plan.carrier == Carrier::Tcp),
            times: values(&read(&cell.times), quantiles),
        }
    }
}

fn of_trial(quantity: Quantity, cell: &MessageCell, trial: &MessageTrial) -> Option<f64> {
    match quantity {
        Quantity::Messages => trial.per_s(),
        Quantity::Bytes => trial.per_s().map(|per_s| per_s * cell.bytes as f64),
        Quantity::Time => cell.median_ns(trial),
    }
}

impl From<Figure> for FigureFacts {
    fn from(figure: Figure) -> Self {
        Self { value: figure.value, half: figure.half_width }
    }
}

impl RemedyFacts {
    fn of(result: &MessageResult, remedied: &Remedied) -> Self {
        Self {
            layer: remedied.layer.to_string(),
            stall: remedied.stall.name(),
            pair: messaged::pair(result, remedied.pair),
            layers: remedied.rows.iter().map(|row| row.layer.to_string()).collect(),
        }
    }
}
