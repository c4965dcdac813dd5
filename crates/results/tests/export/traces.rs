//! Single messages, by Perfetto's own definition of a trace and by Wireshark.

use std::process::Command;

use netfathom_model::record::Measurement;
use netfathom_results::export::{Format, What};
use netfathom_results::store;
use netfathom_sys::directory::Directory;
use netfathom_testkit::{needs_programs, test_name};
use serde_json::{Value, json};

use crate::readers::{python, read, run};
use crate::runs::{exported, messages, run as kept, sampled, written};

/// Slices of each track, nested as Perfetto nests them, with what tracks they are on.
const PERFETTO: &str = "\
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace(); trace.ParseFromString(open(sys.argv[1], 'rb').read())
def unknown(message):
    from google.protobuf.unknown_fields import UnknownFieldSet
    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in (value if field.is_repeated else [value]): found += unknown(one)
    return found
tracks, events, clocks = {}, [], []
for p in trace.packet:
    if p.HasField('track_descriptor'): tracks[p.track_descriptor.uuid] = [p.track_descriptor.parent_uuid, p.track_descriptor.name]
    if p.HasField('clock_snapshot'): clocks.append([p.clock_snapshot.primary_trace_clock, [[c.clock_id, c.timestamp] for c in p.clock_snapshot.clocks]])
    if p.HasField('track_event'): events.append((p.timestamp, p.timestamp_clock_id, p.track_event))
events.sort(key=lambda e: e[0]); open_slices, slices = {}, []
for at, clock, e in events:
    stack = open_slices.setdefault(e.track_uuid, [])
    if e.type == TrackEvent.TYPE_SLICE_BEGIN:
        stack.append((e.name, at, {a.name: a.int_value for a in e.debug_annotations}))
    else:
        name, begin, notes = stack.pop()
        slices.append([e.track_uuid, name, begin, at, len(stack), notes, clock])
print(json.dumps({'tracks': tracks, 'slices': slices, 'clocks': clocks, 'unknown': unknown(trace),
    'left open': sum(map(len, open_slices.values()))}))";

#[test]
fn a_trace_is_what_perfetto_defines() {
    let Some(python) = python(test_name!()) else { return };
    let (_dir, run) = sampled();
    let (_file_dir, file) = exported(&run, Format::Perfetto, What::Trials);
    let (_, left_out) = written(&run, Format::Perfetto, What::Trials).unwrap();
    assert!(left_out.len() == 1 && left_out[0].starts_with("1 stages of"), "{left_out:?}");
    let trace = read(&python, PERFETTO, &file);
    assert_eq!((&trace["unknown"], &trace["left open"]), (&json!(0), &json!(0)));
    let slices = trace["slices"].as_array().unwrap();
    assert!(slices.iter().all(|s| s[4] == 0 && s[6] == 3), "one slice at a time on a track, CLOCK_MONOTONIC");
    let whole: Vec<&Value> = slices.iter().filter(|s| !s[5].as_object().unwrap().is_empty()).collect();
    assert_eq!(whole.len(), messages().len());
    for (slice, message) in whole.iter().zip(messages()) {
        assert_eq!(slice[1], format!("message {}", message.sequence));
        assert_eq!((&slice[2], &slice[5]["lag_ns"]), (&json!(message.sent_ns), &json!(40)));
        if let Some(received) = message.received_ns {
            assert_eq!(slice[3], received);
        }
    }
    let stages = |name: &str| slices.iter().filter(|s| s[1] == name).count();
    assert_eq!(["socket", "qdisc", "driver", "read"].map(stages), [50, 50, 50, 49]);
    // Where the reader's clock is behind, that stage is not drawn.
    assert_eq!(stages("return"), 48);
    // Two are under way at a time, so there are two lanes of three tracks, and the run's own.
    let tracks = trace["tracks"].as_object().unwrap();
    assert_eq!(tracks.len(), 7, "{tracks:?}");
    for (uuid, track) in tracks.iter().filter(|(uuid, _)| *uuid != "1") {
        assert!(tracks.contains_key(&track[0].to_string()), "{uuid} hangs nowhere");
    }
    let clocks = &trace["clocks"][0];
    let ahead = run.record.environment.realtime_ahead_ns;
    let first = messages()[0].sent_ns;
    assert_eq!(clocks, &json!([3, [[3, first], [1, first as i64 + ahead]]]));
}

#[test]
fn slow_messages_are_a_trace_with_a_track_a_socket() {
    let Some(python) = python(test_name!()) else { return };
    let run = kept("watch-slow");
    let Measurement::Watch(watch) = &run.record.measurement else { panic!() };
    let slow = &watch.slow.as_ref().unwrap().messages;
    let (_file_dir, file) = exported(&run, Format::Perfetto, What::Trials);
    let trace = read(&python, PERFETTO, &file);
    assert_eq!((&trace["unknown"], &trace["left open"]), (&json!(0), &json!(0)));
    let slices = trace["slices"].as_array().unwrap();
    assert!(slices.iter().all(|s| s[4] == 0 && s[6] == 3), "one slice at a time on a track, CLOCK_MONOTONIC");
    let times = |s: &Value| s[3].as_u64().unwrap() - s[2].as_u64().unwrap();
    let whole: Vec<&Value> = slices.iter().filter(|s| s[1] == "received").collect();
    assert_eq!(whole.len(), slow.len());
    for message in slow {
        let slice = whole.iter().find(|s| s[2] == message.begin_ns).unwrap();
        assert_eq!((&slice[3], &slice[5]["bytes"]), (&json!(message.end_ns), &json!(message.bytes)));
    }
    let stages: u64 = ["protocol", "wakeup", "runqueue", "blocked", "sockqueue", "read"]
        .into_iter()
        .flat_map(|stage| slices.iter().filter(move |s| s[1] == stage))
        .map(times)
        .sum();
    assert_eq!(stages, whole.iter().map(|s| times(s)).sum::<u64>());
    assert!(slices.iter().any(|s| s[1].as_str().unwrap().starts_with("sha256sum (pid ")));
}

#[test]
fn packets_are_read_by_wireshark() {
    needs_programs!(["tshark"], "tshark");
    let (dir, sampled) = sampled();
    let (_file_dir, file) = exported(&sampled, Format::Pcapng, What::Trials);
    let mut tshark = Command::new("tshark");
    tshark.args(["-r"]).arg(&file).args(["-T", "fields", "-e", "udp.length", "-e", "frame.comment"]);
    let shown = run(tshark.env("HOME", dir.path()));
    let out = messages().len();
    // The lost one came as far as the link layer of the way in.
    assert_eq!(shown.lines().count(), 2 * out);
    assert_eq!(shown.lines().filter(|line| line.contains("way out")).count(), out);
    assert!(shown.lines().next().unwrap().contains("trial 1, message 0, way out: 600 ns"), "{shown}");
}

#[test]
fn a_run_writes_the_same_packets_by_itself() {
    let (dir, run) = sampled();
    netfathom_results::export::pcapng::write(&Directory::open(dir.path()).unwrap(), &run.record, &messages())
        .unwrap();
    let own = std::fs::read(dir.path().join(store::CAPTURE_FILE)).unwrap();
    assert!(own == written(&run, Format::Pcapng, What::Trials).unwrap().0);
}
