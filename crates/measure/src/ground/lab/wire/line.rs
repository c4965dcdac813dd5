//! One direction of a path: what becomes of each packet, and when. No clock and no device of
//! its own, so that it can be tested without either.

use std::collections::VecDeque;

use netfathom_model::plan::Wire;
use netfathom_model::random::SplitMix64;
use netfathom_sys::tun::HEADER_BYTES;

/// What one direction may hold. A plan's rate and delay stay below it; without a rate it is
/// the only limit, and what a load keeps under way beyond it is dropped.
const MOST_HELD_BYTES: usize = 256 << 20;
/// What a held packet takes beside its bytes: its place in the row and the allocator's share.
const OVERHEAD_BYTES: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It may be handed over as it is, at once.
    AtOnce,
    /// It is kept until it is due.
    Held,
    /// Lost under way, by chance.
    Lost,
    /// The queue had no room.
    Dropped,
}

struct Held {
    due_ns: u64,
    packet: Box<[u8]>,
}

pub(super) struct Line {
    delay_ns: u64,
    loss_per_million: u32,
    rate: Option<Rate>,
    random: SplitMix64,
    /// In the order of their arrival, which is that of their times.
    held: VecDeque<Held>,
    held_bytes: usize,
}

struct Rate {
    bits_per_s: u64,
    /// How long a full queue takes to go out.
    queue_ns: u64,
    /// When all that came so far will have gone out.
    free_at_ns: u64,
}

impl Line {
    /// An empty line of a validated plan; the seed decides which packets it loses.
    pub(super) fn new(wire: &Wire, seed: u64) -> Self {
        let rate = wire.rate_bits_per_s.map(|bits_per_s| Rate {
            bits_per_s,
            queue_ns: out_ns(wire.queue_bytes, bits_per_s),
            free_at_ns: 0,
        });
        Self {
            delay_ns: wire.delay_ns,
            loss_per_million: wire.loss_per_million,
            rate,
            random: SplitMix64::new(seed),
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }

    /// Takes a packet, with its header in front, that came at this time.
    pub(super) fn take(&mut self, packet: &[u8], now_ns: u64) -> Fate {
        if happens(&mut self.random, self.loss_per_million) {
            return Fate::Lost;
        }
        let keeps = packet.len() + OVERHEAD_BYTES;
        if self.held_bytes + keeps > MOST_HELD_BYTES {
            return Fate::Dropped;
        }
        let bytes = packet.len().saturating_sub(HEADER_BYTES) as u64;
        let admitted = self.rate.as_mut().map_or(Some(now_ns), |rate| rate.admit(bytes, now_ns));
        let Some(out_at_ns) = admitted else { return Fate::Dropped };
        let due_ns = out_at_ns + self.delay_ns;
        if due_ns <= now_ns && self.held.is_empty() {
            return Fate::AtOnce;
        }
        self.held.push_back(Held { due_ns, packet: packet.into() });
        self.held_bytes += keeps;
        Fate::Held
    }

    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.held.front().map(|held| held.due_ns)
    }

    pub(super) fn due(&mut self, now_ns: u64) -> Option<Box<[u8]>> {
        let held = self.held.pop_front_if(|held| held.due_ns <= now_ns)?;
        self.held_bytes -= held.packet.len() + OVERHEAD_BYTES;
        Some(held.packet)
    }
}

impl Rate {
    /// When a packet of `bytes` bytes will be fully sent; `None` if there is no room for it.
    fn admit(&mut self, bytes: u64, now_ns: u64) -> Option<u64> {
        let free_at_ns = self.free_at_ns.max(now_ns) + out_ns(bytes, self.bits_per_s);
        if free_at_ns - now_ns > self.queue_ns {
            return None;
        }
        self.free_at_ns = free_at_ns;
        Some(free_at_ns)
    }
}

/// Whether what happens in `per_million` of a million cases does. Each call advances by one step, even
/// with a probability of 0: a packet that is lost at a low rate is then also lost at a higher one.
#[inline]
fn happens(random: &mut SplitMix64, per_million: u32) -> bool {
    // Evenly from 0 to 999,999: the upper half of the product, without a division.
    ((random.next_u64() >> 32) * 1_000_000) >> 32 < u64::from(per_million)
}

/// Rounded up, so that a line is never faster than its rate.
fn out_ns(bytes: u64, bits_per_s: u64) -> u64 {
    (bytes * 8 * 1_000_000_000).div_ceil(bits_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of `bytes` bytes on the wire that begins with its number.
    fn packet(bytes: usize, number: u8) -> Vec<u8> {
        let mut packet = vec![0; HEADER_BYTES + bytes];
        packet[0] = number;
        packet
    }

    #[test]
    fn a_line_without_properties_holds_nothing() {
        let mut line = Line::new(&Wire::long(0), 1);
        assert_eq!(line.take(&packet(1500, 0), 77), Fate::AtOnce);
        assert_eq!((line.next_due_ns(), line.held_bytes), (None, 0));
    }

    #[test]
    fn packets_are_due_after_the_delay_in_their_order() {
        let mut line = Line::new(&Wire::long(1000), 1);
        for (number, now) in [(0, 0), (1, 0), (2, 500)] {
            assert_eq!(line.take(&packet(100, number), now), Fate::Held);
        }
        assert_eq!(line.next_due_ns(), Some(1000));
        assert!(line.due(999).is_none());
        assert_eq!(line.due(1000).unwrap()[0], 0);
        assert_eq!(line.due(1000).unwrap()[0], 1);
        assert!(line.due(1499).is_none());
        assert_eq!(line.due(1500).unwrap()[0], 2);
        assert_eq!((line.next_due_ns(), line.held_bytes), (None, 0));
    }

    #[test]
    fn packets_go_out_one_after_the_other_and_then_travel() {
        // 1000 bytes take 1 ms at 8 Mbit/s.
        let wire = Wire { rate_bits_per_s: Some(8_000_000), ..Wire::long(5_000_000) };
        let mut line = Line::new(&wire, 1);
        for number in 0..3 {
            assert_eq!(line.take(&packet(1000, number), 0), Fate::Held);
        }
        let due: Vec<u64> = line.held.iter().map(|held| held.due_ns).collect();
        assert_eq!(due, [6_000_000, 7_000_000, 8_000_000]);
        // After a pause the line is free at once.
        line.take(&packet(1000, 3), 100_000_000);
        assert_eq!(line.held[3].due_ns, 106_000_000);
    }

    #[test]
    fn a_full_queue_drops_and_empties_at_the_rate() {
        let wire = Wire { rate_bits_per_s: Some(8_000_000), queue_bytes: 3000, ..Wire::long(0) };
        let mut line = Line::new(&wire, 1);
        let fates: Vec<Fate> = (0..4).map(|n| line.take(&packet(1000, n), 0)).collect();
        assert_eq!(fates, [Fate::Held, Fate::Held, Fate::Held, Fate::Dropped]);
        assert_eq!(line.take(&packet(1000, 4), 999_999), Fate::Dropped);
        assert_eq!(line.take(&packet(1000, 5), 1_000_000), Fate::Held);
        // The least queue has room for one packet of the largest size, at an uneven rate too.
        let wire = Wire { rate_bits_per_s: Some(7_777_777), queue_bytes: 1500, ..Wire::long(0) };
        assert_eq!(Line::new(&wire, 1).take(&packet(1500, 0), 5), Fate::Held);
    }

    #[test]
    fn memory_is_bounded_without_a_rate() {
        let mut line = Line::new(&Wire::long(10_000_000_000), 1);
        let large = packet(65_000, 0);
        let taken = (0..5000).filter(|_| line.take(&large, 0) == Fate::Held).count();
        assert_eq!(taken, MOST_HELD_BYTES / (large.len() + OVERHEAD_BYTES));
        assert!(line.held_bytes <= MOST_HELD_BYTES);
    }

    #[test]
    fn loss_is_by_chance_and_the_seed_repeats_it() {
        let wire = Wire { loss_per_million: 100_000, ..Wire::long(0) };
        let lost = |seed| -> Vec<usize> {
            let mut line = Line::new(&wire, seed);
            (0..100_000).filter(|_| line.take(&packet(100, 0), 0) == Fate::Lost).collect()
        };
        let first = lost(7);
        // Of a binomial distribution with mean 10,000: six standard deviations of 95.
        assert!((9_430..=10_570).contains(&first.len()), "{}", first.len());
        assert_eq!(first, lost(7));
        assert_ne!(first, lost(8));
    }

    #[test]
    fn never_and_almost_always() {
        let count = |per_million| {
            let mut random = SplitMix64::new(1_234_567);
            (0..100_000).filter(|_| happens(&mut random, per_million)).count()
        };
        assert_eq!(count(0), 0);
        assert!(count(999_999) >= 99_990);
    }

    #[test]
    fn a_higher_loss_includes_a_lower_one() {
        let (mut low, mut high) = (SplitMix64::new(3), SplitMix64::new(3));
        assert!((0..10_000).all(|_| happens(&mut low, 10_000) <= happens(&mut high, 50_000)));
    }
}
