//! A Perfetto trace (protobuf): every sampled or slow message with its stages, on CLOCK_MONOTONIC.
//!
//! Messages overlap, and slices of one track must nest: a message takes the first lane of its trial that is free.
//! A lane has a track of whole messages, and below it one of each way: over one machine the way in begins before
//! the driver's call of the way out has ended.

mod proto;
mod slices;
pub mod slow;

use std::collections::BTreeMap;
use std::io::Write;

use netfathom_model::record::Record;
use netfathom_model::sample::Sample;
use prost::Message;
use proto::{Clock, ClockSnapshot, DebugAnnotation, Trace, TracePacket, TrackDescriptor, TrackEvent};
use slices::Drawn;

use super::ExportError;
use crate::quantity::{Sampled, trial_prefix};

/// Of the packets: one writer with its own tracks.
const SEQUENCE: u32 = 1;
/// The track of the run; those of lanes follow.
const RUN_TRACK: u64 = 1;
/// Tracks of a lane: messages, the way out, the way in.
const TRACKS_A_LANE: u64 = 3;

/// Writes the messages, and returns what could not be drawn.
pub fn write(
    out: &mut (dyn Write + Send),
    record: &Record,
    of: Sampled<'_>,
    samples: &[Sample],
) -> Result<Vec<String>, ExportError> {
    let mut begun = begun_here(of, samples);
    let without = samples.len() - begun.len();
    put(out, clocks(record, begun.iter().map(|sample| sample.sent_ns)))?;
    put(out, run_track(record))?;
    begun.sort_by_key(|sample| (sample.trial, sample.sent_ns));
    let mut lanes = Lanes::default();
    let mut negative = 0;
    for sample in &begun {
        let (message, backwards) = Drawn::of(sample);
        negative += backwards;
        let (lane, is_new) = lanes.take(sample.trial, message.begin, message.end);
        if is_new {
            lane_tracks(of, sample.trial, lane).into_iter().try_for_each(|packet| put(out, packet))?;
        }
        packets(&message, lane.track, sample).into_iter().try_for_each(|packet| put(out, packet))?;
    }
    let untold = "stages of sampled messages have a negative time, since the clocks of two CPUs differ: they cannot be drawn and are left out";
    let negative = (negative > 0).then(|| format!("{negative} {untold}"));
    let without =
        (without > 0).then(|| format!("{without} sampled messages have no time on the clock of this host"));
    Ok(negative.into_iter().chain(without).collect())
}

/// Of messages that another host sent, the time at which they were sent is of that host's clock: here they begin with
/// their arrival.
fn begun_here(of: Sampled<'_>, samples: &[Sample]) -> Vec<Sample> {
    let begun = |sample: &Sample| {
        let sent_ns =
            if of.from_afar { sample.arrival_ns.or(sample.netif_receive_skb_ns)? } else { sample.sent_ns };
        Some(Sample { sent_ns, ..sample.clone() })
    };
    samples.iter().filter_map(begun).collect()
}

/// A trace is its packets one after the other, so each may be written by itself.
fn put(out: &mut (dyn Write + Send), packet: TracePacket) -> Result<(), ExportError> {
    Ok(out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?)
}

/// Ties CLOCK_MONOTONIC, which all times are of, to the time of day.
fn clocks(record: &Record, begins: impl Iterator<Item = u64>) -> TracePacket {
    let begin = begins.min().unwrap_or(0);
    let today = begin.saturating_add_signed(record.environment.realtime_ahead_ns);
    let clocks = vec![
        Clock { clock_id: proto::MONOTONIC, timestamp: begin },
        Clock { clock_id: proto::REALTIME, timestamp: today },
    ];
    let snapshot = ClockSnapshot { clocks, primary_trace_clock: proto::MONOTONIC as i32 };
    TracePacket { clock_snapshot: Some(snapshot), sequence: SEQUENCE, ..TracePacket::default() }
}

fn run_track(record: &Record) -> TracePacket {
    track(RUN_TRACK, None, format!("netfathom {}", record.id))
}

fn lane_tracks(of: Sampled<'_>, trial: u32, lane: Lane) -> [TracePacket; 3] {
    let kind = of.trials.iter().find(|t| t.index == trial).map_or("", |t| trial_prefix(t));
    let name = format!("{}trial {}, lane {}", kind.replace('.', " "), u64::from(trial) + 1, lane.number);
    tracks(lane, name, "way out", "way in")
}

/// Those of a lane, the first above the others.
fn tracks(lane: Lane, name: String, second: &str, third: &str) -> [TracePacket; 3] {
    [
        track(lane.track, Some(RUN_TRACK), name),
        track(lane.track + 1, Some(lane.track), second.into()),
        track(lane.track + 2, Some(lane.track), third.into()),
    ]
}

fn track(uuid: u64, parent_uuid: Option<u64>, name: String) -> TracePacket {
    let descriptor = TrackDescriptor { uuid, parent_uuid, name: Some(name) };
    TracePacket { track_descriptor: Some(descriptor), sequence: SEQUENCE, ..TracePacket::default() }
}

/// A place for messages of a trial that do not overlap.
#[derive(Clone, Copy)]
struct Lane {
    /// From 1, within the trial.
    number: usize,
    track: u64,
    free_at: u64,
}

#[derive(Default)]
struct Lanes {
    of_trial: BTreeMap<u32, Vec<Lane>>,
    all: u64,
}

impl Lanes {
    /// The first that is free, and whether it is a new one.
    fn take(&mut self, trial: u32, begin: u64, end: u64) -> (Lane, bool) {
        let lanes = self.of_trial.entry(trial).or_default();
        if let Some(lane) = lanes.iter_mut().find(|lane| lane.free_at <= begin) {
            lane.free_at = end;
            return (*lane, false);
        }
        let track = RUN_TRACK + 1 + self.all * TRACKS_A_LANE;
        let lane = Lane { number: lanes.len() + 1, track, free_at: end };
        self.all += 1;
        lanes.push(lane);
        (lane, true)
    }
}

/// The message itself, and its stages on the tracks below.
fn packets(message: &Drawn, track: u64, sample: &Sample) -> Vec<TracePacket> {
    let name = format!("message {}", sample.sequence);
    let mut packets = Vec::from(slice(track, name, message.begin, message.whole_end, notes(sample)));
    for (below, stages) in [(1, &message.out), (2, &message.into)] {
        let stages = stages.iter();
        packets.extend(
            stages.flat_map(|s| slice(track + below, s.stage.name().into(), s.begin, s.end, Vec::new())),
        );
    }
    packets
}

fn slice(track: u64, name: String, begin: u64, end: u64, notes: Vec<DebugAnnotation>) -> [TracePacket; 2] {
    let event = |timestamp, kind, name, debug_annotations| TracePacket {
        timestamp: Some(timestamp),
        timestamp_clock_id: Some(proto::MONOTONIC),
        sequence: SEQUENCE,
        track_event: Some(TrackEvent { kind, track_uuid: track, name, debug_annotations }),
        ..TracePacket::default()
    };
    [event(begin, proto::SLICE_BEGIN, Some(name), notes), event(end, proto::SLICE_END, None, Vec::new())]
}

/// A message's annotations, in addition to its stages.
fn notes(sample: &Sample) -> Vec<DebugAnnotation> {
    let note = |name: &str, value: i64| DebugAnnotation { name: name.into(), int_value: Some(value) };
    let mut notes = vec![note("trial_index", sample.trial.into()), note("sequence", sample.sequence as i64)];
    if sample.intended_ns != 0 {
        notes.push(note("lag_ns", sample.sent_ns.wrapping_sub(sample.intended_ns) as i64));
    }
    notes.push(note("delivered", sample.received_ns.is_some().into()));
    notes
}
