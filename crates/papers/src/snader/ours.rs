//! What was measured here, found again among the runs.

use netfathom_model::record::{Cell, SweepPoint, SweepResult, SweepTrial};
use netfathom_stats::{Estimate, between_trials};

use super::originals::SEGMENT_BYTES;
use crate::beside;

pub type Ours<'a> = beside::Ours<'a, SweepResult>;

impl<'a> Ours<'a> {
    pub fn point(&self, buffer: Option<u32>, no_delay: bool) -> Option<&'a SweepPoint> {
        self.result.points.iter().find(|p| (p.socket_buffer_bytes, p.no_delay) == (buffer, no_delay))
    }

    /// The points of the book: a buffer of one segment, and the system's.
    pub fn books(&self) -> impl Iterator<Item = &'a SweepPoint> {
        self.result.points.iter().filter(|p| p.socket_buffer_bytes.is_none_or(|b| b == SEGMENT_BYTES))
    }
}

pub fn rates(point: Option<&SweepPoint>) -> Vec<f64> {
    point.map_or_else(Vec::new, |p| p.trials.iter().filter_map(SweepTrial::bytes_per_s).collect())
}

/// Mean of the trials with its interval; `None` below two trials.
pub fn between(point: Option<&SweepPoint>, value: impl Fn(&SweepTrial) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = point?.trials.iter().filter_map(value).collect();
    between_trials(&values)
}

/// The same for a table or a figure, or the one value that there is without an interval.
pub fn mean(point: &SweepPoint, value: impl Fn(&SweepTrial) -> Option<f64>) -> Option<Cell> {
    let values: Vec<f64> = point.trials.iter().filter_map(value).collect();
    beside::mean(&values).filter(|cell| cell.value.is_finite())
}
