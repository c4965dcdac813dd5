//! The slow messages of `watch`: a track a socket, its stages below, and who had the CPU meanwhile.

use std::collections::BTreeMap;
use std::io::Write;

use netfathom_model::path::Direction;
use netfathom_model::record::{Record, SlowMessage};

use super::proto::{DebugAnnotation, TracePacket};
use super::{ExportError, Lane, Lanes, clocks, put, run_track, slice, tracks};

/// Those of each socket are apart, so lanes are numbered by it.
pub fn write(
    out: &mut (dyn Write + Send),
    record: &Record,
    messages: &[SlowMessage],
) -> Result<Vec<String>, ExportError> {
    put(out, clocks(record, messages.iter().map(|message| message.begin_ns)))?;
    put(out, run_track(record))?;
    let mut messages: Vec<&SlowMessage> = messages.iter().filter(|message| message.total_ns() >= 0).collect();
    messages.sort_by_key(|message| message.begin_ns);
    let (mut lanes, mut sockets) = (Lanes::default(), BTreeMap::new());
    for message in messages {
        let number = sockets.len() as u32;
        let socket = *sockets.entry((&message.local, &message.peer)).or_insert(number);
        let stays = message.stays.iter().map(|stay| (stay.from_ns, stay.until_ns));
        let begin = stays.clone().map(|stay| stay.0).fold(message.begin_ns, u64::min);
        let end = stays.map(|stay| stay.1).fold(message.end_ns, u64::max);
        let (lane, is_new) = lanes.take(socket, begin, end);
        if is_new {
            tracks_of(message, lane).into_iter().try_for_each(|packet| put(out, packet))?;
        }
        packets(message, lane.track).into_iter().try_for_each(|packet| put(out, packet))?;
    }
    Ok(Vec::new())
}

fn tracks_of(message: &SlowMessage, lane: Lane) -> [TracePacket; 3] {
    let end = |end: &Option<String>| end.clone().unwrap_or_else(|| "any".into());
    let process = message.process.as_ref();
    let process = process.map_or_else(String::new, |of| format!("{} ({}): ", of.name, of.pid));
    let name = format!("{process}{} from {}", end(&message.local), end(&message.peer));
    tracks(lane, name, "stages", "who had the CPU")
}

/// Stages one after the other: one that was passed several times is one slice.
fn packets(message: &SlowMessage, lane: u64) -> Vec<TracePacket> {
    let name = match message.direction {
        _ if message.application => "application",
        Direction::Rx => "received",
        Direction::Tx => "sent",
    };
    let note = DebugAnnotation { name: "bytes".into(), int_value: Some(message.bytes.into()) };
    let mut packets = Vec::from(slice(lane, name.into(), message.begin_ns, message.end_ns, vec![note]));
    let mut at = message.begin_ns;
    for sum in &message.stages {
        let until = at.saturating_add_signed(sum.sum_ns);
        packets.extend(slice(lane + 1, message.named(sum.stage).into(), at, until.max(at), Vec::new()));
        at = until.max(at);
    }
    let stays = message.stays.iter();
    packets.extend(stays.flat_map(|stay| {
        slice(lane + 2, stay.by.to_string(), stay.from_ns, stay.until_ns.max(stay.from_ns), Vec::new())
    }));
    packets
}
