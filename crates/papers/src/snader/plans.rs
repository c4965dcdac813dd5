//! The sweeps that the experiment is made of.

use netfathom_model::plan::{Place, SweepEnds, SweepPlan, Wire};

use super::originals::{SEGMENT_BYTES, WRITE_BYTES};
use crate::ground::Ground;
use crate::part::Part;

pub const LAB: &str = "lab";
pub const LOOPBACK: &str = "loopback";
pub const PATH: &str = "path";
/// Receive buffers that the path would have room for: it holds 125 KB.
pub const RECEIVERS: [(&str, u32); 3] = [
    ("path, receive buffer of 16 KiB", 16 << 10),
    ("path, receive buffer of 32 KiB", 32 << 10),
    ("path, receive buffer of 64 KiB", 64 << 10),
];

/// Half of the path's round trip. Two round trips, which a full buffer may have to wait for, are so
/// not to be mistaken for an acknowledgment that is delayed for 40 ms.
const DELAY_NS: u64 = 5_000_000;
/// That of a common network of the time.
const RATE_BITS_PER_S: u64 = 100_000_000;
/// The book's default and a larger one, where the path is long enough to tell them apart.
const OVER_PATH: [u32; 2] = [16 << 10, 64 << 10];
/// Loopback's segments hold 64 KB: that is where a buffer of today is less than a segment. The book's held
/// exactly one.
pub const LESS_THAN_LOOPBACKS_SEGMENT: u32 = 16 << 10;

/// Send buffers below a receive buffer, like it, and beyond it.
pub fn beside(receive_bytes: u32) -> [u32; 3] {
    [receive_bytes / 4, receive_bytes, 4 * receive_bytes]
}

/// The lab with and without a path in it, and loopback; without root loopback alone.
pub fn parts(ground: &Ground<'_>) -> Vec<Part> {
    let time_ns = ground.length_ns(0.4, 2.0);
    // It stalls now and then: more of these tell more.
    let long_ns = ground.length_ns(1.0, 5.0);
    let loopback =
        Part::new(LOOPBACK, sweep(ground, SweepEnds::Loopback, &[LESS_THAN_LOOPBACKS_SEGMENT], long_ns));
    if ground.place() != Place::Lab {
        return vec![loopback];
    }
    let wire = Wire { rate_bits_per_s: Some(RATE_BITS_PER_S), ..Wire::long(DELAY_NS) };
    let path = sweep(ground, SweepEnds::Lab { wire: Some(wire) }, &OVER_PATH, time_ns);
    let receivers = RECEIVERS.map(|(name, bytes)| {
        let receiver = SweepPlan {
            socket_buffers_bytes: beside(bytes).map(Some).into(),
            receive_buffer_bytes: Some(bytes),
            no_delay: vec![false],
            ..path.clone()
        };
        Part::new(name, receiver)
    });
    let first = [
        Part::new(LAB, sweep(ground, SweepEnds::Lab { wire: None }, &[], time_ns)),
        loopback,
        Part::new(PATH, path),
    ];
    first.into_iter().chain(receivers).collect()
}

fn sweep(ground: &Ground<'_>, ends: SweepEnds, between: &[u32], time_ns: u64) -> SweepPlan {
    let small = [SEGMENT_BYTES].into_iter().chain(between.iter().copied()).map(Some);
    SweepPlan {
        ends,
        socket_buffers_bytes: small.chain([None]).collect(),
        receive_buffer_bytes: None,
        writes_bytes: vec![WRITE_BYTES],
        no_delay: vec![false, true],
        time_ns,
        trials: ground.trials(5, 10),
        seed: ground.plan.seed,
    }
}
