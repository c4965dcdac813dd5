//! The path between the two hosts of a lab, where it is to be like one in the world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, conflict, range, span};

/// The longest way: light takes a tenth of a second around the world, queues add seconds.
const MOST_DELAY_NS: u64 = 10_000_000_000;
/// All of a million lost is no path.
const MOST_LOSS_PER_MILLION: u64 = 999_999;
/// A large packet takes 1.5 s at this rate.
const LEAST_RATE_BITS_PER_S: u64 = 8_000;
/// Beyond what any one CPU can pass on.
const MOST_RATE_BITS_PER_S: u64 = 100_000_000_000;
/// One packet of the largest size must have room.
const LEAST_QUEUE_BYTES: u64 = 1_500;
const MOST_QUEUE_BYTES: u64 = 64 << 20;
/// What may be under way in one direction at full rate: it lies in memory.
const MOST_UNDER_WAY_BYTES: u128 = 128 << 20;
/// About 170 large packets: what 100 Mbit/s bring in 20 ms.
pub const DEFAULT_QUEUE_BYTES: u64 = 256 << 10;

/// What a path does to packets, the same in both directions. A packet meets these in turn:
/// it is lost or not, it waits in the queue until those before it have gone out at the rate,
/// it goes out itself, and arrives a delay later. Packets never pass each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// Time under way from one end to the other; a round trip takes twice that.
    pub delay_ns: u64,
    /// Of a million packets, how many are lost on average, each by chance of its own.
    pub loss_per_million: u32,
    /// Bits of IP packets, their headers included, that leave in a second; `None` for as many
    /// as this machine can.
    pub rate_bits_per_s: Option<u64>,
    /// Bytes that may wait for their turn at the rate; a packet beyond is dropped. Without a
    /// rate nothing waits.
    pub queue_bytes: u64,
}

impl Wire {
    /// A path that is only long. Others are made from it by changing what is to be different.
    pub fn long(delay_ns: u64) -> Self {
        Self { delay_ns, loss_per_million: 0, rate_bits_per_s: None, queue_bytes: DEFAULT_QUEUE_BYTES }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        span("delay", self.delay_ns, (0, MOST_DELAY_NS))?;
        range("loss (per million)", self.loss_per_million.into(), 0, MOST_LOSS_PER_MILLION)?;
        range("queue (bytes)", self.queue_bytes, LEAST_QUEUE_BYTES, MOST_QUEUE_BYTES)?;
        if let Some(rate) = self.rate_bits_per_s {
            range("rate (bit/s)", rate, LEAST_RATE_BITS_PER_S, MOST_RATE_BITS_PER_S)?;
            let under_way = u128::from(rate) * u128::from(self.delay_ns) / 8_000_000_000;
            if under_way > MOST_UNDER_WAY_BYTES {
                return conflict(format!(
                    "--rate {rate} and --delay {} ns: {} MiB would be under way at once; choose a lower \
                     rate or a shorter delay, for at most {}",
                    self.delay_ns,
                    under_way >> 20,
                    MOST_UNDER_WAY_BYTES >> 20
                ));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_is_valid() {
        let wire = Wire { rate_bits_per_s: Some(1_000_000_000), ..Wire::long(100_000_000) };
        assert_eq!(wire.clone().validated().unwrap(), wire);
        assert!(Wire { loss_per_million: 999_999, ..Wire::long(0) }.validated().is_ok());
        assert!(Wire::long(10_000_000_000).validated().is_ok());
    }

    #[test]
    fn an_invalid_wire_is_an_error_that_names_the_option() {
        let wire = Wire::long(1);
        let wrong = [
            (Wire::long(10_000_000_001), "--delay"),
            (Wire { loss_per_million: 1_000_000, ..wire.clone() }, "--loss"),
            (Wire { rate_bits_per_s: Some(7_999), ..wire.clone() }, "--rate"),
            (Wire { rate_bits_per_s: Some(100_000_000_001), ..wire.clone() }, "--rate"),
            (Wire { queue_bytes: 1_499, ..wire.clone() }, "--queue"),
            (Wire { queue_bytes: (64 << 20) + 1, ..wire }, "--queue"),
            (Wire { rate_bits_per_s: Some(10_000_000_000), ..Wire::long(1_000_000_000) }, "1192 MiB"),
        ];
        for (wire, word) in wrong {
            let error = wire.validated().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
