//! Where the time goes, as a picture: each stage's part of the mean stack time.

use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::Transport;
use netfathom_model::print::listed;
use netfathom_model::record::{PathSummary, StageSummary, StageSummaryTimes};

use super::stages::one_reason;
use crate::page::{Axis, Color, Fill, Page, Waterfall, WaterfallStep};
use crate::story::number;
use crate::story::stages::each;

/// `messages` are those of the summary, such as `all messages`.
pub(super) fn draw(page: &mut Page, summary: &PathSummary, messages: &str, transport: Transport) {
    if summary.stages.is_empty() || summary.total.n == 0 {
        return;
    }
    let mut steps = steps(summary, transport);
    steps.push(total(summary, messages));
    page.waterfall(Waterfall {
        about: format!("Stages of {}, one after the other", summary.direction.name()),
        unit: Axis::Time,
        steps,
        note: format!(
            "A bar is the stage's part of the mean stack time over {messages}, also over those that did not pass it. \
             Hatched: below the link layer, not part of the stack time."
        ),
    });
}

fn steps(summary: &PathSummary, transport: Transport) -> Vec<WaterfallStep> {
    if let Some(reason) = one_reason(&summary.stages) {
        return vec![WaterfallStep::Missing {
            name: "all stages",
            about: listed(summary.stages.iter().map(|s| s.stage.name())),
            why: reason.to_owned(),
        }];
    }
    // What lies below the link layer on the way in comes before it: left of zero.
    let below = summary.stages.iter().filter(|s| summary.direction == Direction::Rx && !s.inside);
    let mut at = -below.map(|s| part(summary, s)).sum::<f64>();
    let step = |s: &StageSummary| {
        let from = at;
        at += part(summary, s);
        step(summary, s, transport, (from, at))
    };
    let mut steps: Vec<WaterfallStep> = summary.stages.iter().map(step).collect();
    let inside = |s: &StageSummary| s.inside;
    let border = match summary.direction {
        Direction::Tx => summary.stages.iter().rposition(inside).map_or(0, |last| last + 1),
        Direction::Rx => summary.stages.iter().position(inside).unwrap_or(0),
    };
    steps.insert(border, WaterfallStep::Border { name: "link layer" });
    steps
}

/// A stage's part of the mean, over all messages: also over those that did not pass it.
fn part(summary: &PathSummary, stage: &StageSummary) -> f64 {
    stage.times.distribution().map_or(0.0, |d| d.sum_ns as f64 / summary.total.n as f64)
}

fn step(summary: &PathSummary, s: &StageSummary, transport: Transport, ends: (f64, f64)) -> WaterfallStep {
    let (name, about) = (s.stage.name(), s.stage.meaning(transport).to_owned());
    let d = match &s.times {
        StageSummaryTimes::Measured(d) => d,
        StageSummaryTimes::Unavailable(why) => {
            return WaterfallStep::Missing { name, about, why: why.clone() };
        }
    };
    WaterfallStep::Bar {
        name,
        about,
        color: color(s.stage),
        fill: if s.inside { Fill::Full } else { Fill::Hatched },
        ends,
        text: number::mean(ends.1 - ends.0),
        aside: each(d, summary.total.n),
        share: match s.share {
            Some(share) if s.inside => number::percent(share),
            _ => "-".into(),
        },
    }
}

fn total(summary: &PathSummary, messages: &str) -> WaterfallStep {
    let mean_ns = summary.total.mean_ns;
    WaterfallStep::Bar {
        name: "stack time",
        about: format!("mean over {messages}"),
        color: "ink",
        fill: Fill::Sum,
        ends: (0.0, mean_ns),
        text: number::mean(mean_ns),
        aside: None,
        share: number::percent(1.0),
    }
}

pub(super) fn color(stage: Stage) -> Color {
    match stage {
        Stage::Socket | Stage::Send => "stage-socket",
        Stage::Output => "stage-output",
        Stage::Sendq => "stage-sockqueue",
        Stage::Qdisc => "stage-qdisc",
        Stage::Device => "stage-device",
        Stage::Driver => "stage-driver",
        Stage::Backlog => "stage-backlog",
        Stage::Protocol | Stage::Input => "stage-protocol",
        Stage::Enqueue => "stage-enqueue",
        Stage::Wakeup => "stage-wakeup",
        Stage::Runqueue => "stage-runqueue",
        Stage::Sockqueue => "stage-sockqueue",
        Stage::Read | Stage::Dequeue => "stage-read",
        Stage::Entry => "stage-entry",
        Stage::Copy => "stage-copy",
        Stage::Return => "stage-return",
    }
}
