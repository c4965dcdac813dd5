//! The plan of `netfathom ttcp sweep`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MS, PlanError, Role, S, TransferPlan, Wire, range, span};
use crate::random::SplitMix64;

/// Bytes of a trial's writes beyond this are no buffer that anyone would have.
const MOST_WRITE_BYTES: u64 = 1 << 30;
/// Each is a transfer; a picture of more is a smear.
const MOST_POINTS: u64 = 400;

/// Where the two ends of a sweep are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "where")]
pub enum SweepEnds {
    /// In two network namespaces of our own.
    Lab {
        /// The path between them, where it is to be like one in the world; `None` for a veth pair.
        wire: Option<Wire>,
    },
    /// Both on this host, over its loopback device.
    Loopback,
    /// The receiver is on another host, and takes one sender after the other.
    Host {
        /// Its name or address.
        name: String,
        /// Its port.
        port: u16,
    },
}

/// The plan of `netfathom ttcp sweep`: every send buffer with every size of a write, with and
/// without TCP_NODELAY.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPlan {
    /// Where the ends are.
    pub ends: SweepEnds,
    /// Send buffers to ask for; `None` leaves it to the kernel.
    pub socket_buffers_bytes: Vec<Option<u32>>,
    /// Receive buffer of the other end; `None` leaves it to the kernel.
    pub receive_buffer_bytes: Option<u32>,
    /// Bytes of a write.
    pub writes_bytes: Vec<u64>,
    /// TCP_NODELAY
    pub no_delay: Vec<bool>,
    /// How long each trial sends.
    pub time_ns: u64,
    /// Trials of each point.
    pub trials: u32,
    /// Decides the order of the points and which packets a wire loses.
    pub seed: u64,
}

/// One combination of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Send buffer to ask for; `None` leaves it to the kernel.
    pub socket_buffer_bytes: Option<u32>,
    /// Bytes of a write.
    pub write_bytes: u64,
    /// TCP_NODELAY
    pub no_delay: bool,
}

impl SweepPlan {
    /// Every combination once, by write and TCP_NODELAY, and within these from the smallest
    /// buffer to the kernel's own.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut buffers = self.socket_buffers_bytes.clone();
        buffers.sort_by_key(|asked| asked.unwrap_or(u32::MAX));
        buffers.dedup();
        let (mut writes, mut no_delay) = (self.writes_bytes.clone(), self.no_delay.clone());
        writes.sort_unstable();
        writes.dedup();
        no_delay.sort_unstable();
        no_delay.dedup();
        let mut all = Vec::with_capacity(writes.len() * no_delay.len() * buffers.len());
        for &write_bytes in &writes {
            for &no_delay in &no_delay {
                let with = |&socket_buffer_bytes| Combination { socket_buffer_bytes, write_bytes, no_delay };
                all.extend(buffers.iter().map(with));
            }
        }
        all
    }

    /// The order of all trials, as places among the combinations: each has its first trial
    /// before any has its second, and every round is shuffled anew, so that what drifts on the
    /// machine drifts for all of them.
    pub fn order(&self) -> Vec<usize> {
        let points = self.combinations().len();
        let mut random = SplitMix64::new(self.seed);
        let mut order = Vec::with_capacity(points * self.trials as usize);
        for _ in 0..self.trials {
            let mut round: Vec<usize> = (0..points).collect();
            random.shuffle(&mut round);
            order.extend(round);
        }
        order
    }

    /// The sending end of one trial of a combination.
    pub fn transfer(&self, c: Combination, host: &str, port: u16) -> TransferPlan {
        let mut plan = TransferPlan::classic(Role::Transmit);
        (plan.host, plan.port) = (Some(host.into()), port);
        (plan.generated, plan.explain, plan.time_ns) = (true, true, Some(self.time_ns));
        (plan.buffer_bytes, plan.buffer_named) = (c.write_bytes, true);
        (plan.socket_buffer_bytes, plan.no_delay) = (c.socket_buffer_bytes, c.no_delay);
        // A rate is that of all that arrived, and a long buffer on a slow path takes its time.
        plan.idle_ns = 60 * S;
        plan
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        let buffer = |flag, bytes: u32| range(flag, bytes.into(), 1, 1 << 30);
        self.socket_buffers_bytes.iter().flatten().try_for_each(|&bytes| buffer("sndbuf", bytes))?;
        self.receive_buffer_bytes.map_or(Ok(()), |bytes| buffer("rcvbuf", bytes))?;
        self.writes_bytes.iter().try_for_each(|&bytes| range("write", bytes, 1, MOST_WRITE_BYTES))?;
        span("time", self.time_ns, (20 * MS, 600 * S))?;
        range("trials", self.trials.into(), 1, 100)?;
        range(
            "sndbuf: combinations with --write and --no-delay,",
            self.combinations().len() as u64,
            1,
            MOST_POINTS,
        )?;
        match &self.ends {
            SweepEnds::Lab { wire: Some(wire) } => {
                wire.clone().validated()?;
            }
            SweepEnds::Host { port, .. } => range("port", (*port).into(), 1, u16::MAX.into())?,
            SweepEnds::Lab { wire: None } | SweepEnds::Loopback => {}
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SweepPlan {
        SweepPlan {
            ends: SweepEnds::Loopback,
            socket_buffers_bytes: vec![None, Some(4096), Some(1448), Some(4096)],
            receive_buffer_bytes: None,
            writes_bytes: vec![8192, 512],
            no_delay: vec![true, false],
            time_ns: 100_000_000,
            trials: 2,
            seed: 1,
        }
    }

    #[test]
    fn every_combination_is_there_once_and_in_order() {
        let all = plan().combinations();
        assert_eq!(all.len(), 3 * 2 * 2);
        let first = |n: usize| (all[n].socket_buffer_bytes, all[n].write_bytes, all[n].no_delay);
        assert_eq!(first(0), (Some(1448), 512, false));
        assert_eq!(first(2), (None, 512, false));
        assert_eq!(first(3), (Some(1448), 512, true));
        assert_eq!(first(11), (None, 8192, true));
    }

    #[test]
    fn trials_are_interleaved_and_the_seed_decides() {
        let order = plan().order();
        let sorted = |part: &[usize]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        };
        let all: Vec<usize> = (0..12).collect();
        assert_eq!((sorted(&order[..12]), sorted(&order[12..])), (all.clone(), all.clone()));
        assert!(order[..12] != all && order[..12] != order[12..]);
        assert_eq!(order, plan().order());
        assert_ne!(order, SweepPlan { seed: 2, ..plan() }.order());
    }

    #[test]
    fn a_trial_is_a_transfer_that_can_be() {
        for c in plan().combinations() {
            let transfer = plan().transfer(c, "localhost", 5001).validated().unwrap();
            assert_eq!((transfer.buffer_bytes, transfer.no_delay), (c.write_bytes, c.no_delay));
            assert!(transfer.explain && transfer.time_ns == Some(100_000_000));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        type Change = fn(&mut SweepPlan);
        let cases: [(Change, &str); 7] = [
            (|p| p.writes_bytes.push(0), "--write 0: choose from 1"),
            (|p| p.socket_buffers_bytes.push(Some(0)), "--sndbuf 0"),
            (|p| p.socket_buffers_bytes.clear(), "--sndbuf: combinations"),
            (|p| p.time_ns = 1_000_000, "--time 1ms: choose from 20ms to 600s"),
            (|p| p.trials = 0, "--trials 0"),
            (|p| p.ends = SweepEnds::Host { name: "x".into(), port: 0 }, "--port 0"),
            (|p| p.ends = SweepEnds::Lab { wire: Some(Wire::long(u64::MAX)) }, "--delay"),
        ];
        assert!(plan().validated().is_ok());
        for (change, reason) in cases {
            let mut wrong = plan();
            change(&mut wrong);
            let error = wrong.validated().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
