//! What a network device is set to, through the ethtool interface: rings, coalescing, channels, driver. Everything
//! here is about devices of the calling thread's namespace.

use std::io;

use crate::offload::{Ethtool, text};

/// The numbers of linux/ethtool.h.
const GDRVINFO: u32 = 0x03;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GCHANNELS: u32 = 0x3c;

/// A word of the kernel's answer, and the name that ethtool gives it.
type Word = (usize, &'static str);

/// struct ethtool_ringparam: command, four limits, four sizes.
const RINGS: [Word; 4] = [(5, "rx"), (6, "rx-mini"), (7, "rx-jumbo"), (8, "tx")];
/// struct ethtool_channels: command, four limits, four numbers.
const CHANNELS: [Word; 4] = [(5, "rx"), (6, "tx"), (7, "other"), (8, "combined")];
/// struct ethtool_coalesce: command and one word each.
const COALESCING: [Word; 22] = [
    (1, "rx-usecs"),
    (2, "rx-frames"),
    (3, "rx-usecs-irq"),
    (4, "rx-frames-irq"),
    (5, "tx-usecs"),
    (6, "tx-frames"),
    (7, "tx-usecs-irq"),
    (8, "tx-frames-irq"),
    (9, "stats-block-usecs"),
    (10, "adaptive-rx"),
    (11, "adaptive-tx"),
    (12, "pkt-rate-low"),
    (13, "rx-usecs-low"),
    (14, "rx-frames-low"),
    (15, "tx-usecs-low"),
    (16, "tx-frames-low"),
    (17, "pkt-rate-high"),
    (18, "rx-usecs-high"),
    (19, "rx-frames-high"),
    (20, "tx-usecs-high"),
    (21, "tx-frames-high"),
    (22, "sample-interval"),
];

/// A group of a device's numbers by their names in ethtool.
pub type Numbers = Vec<(&'static str, u32)>;

/// Sizes of the rings; none of a device without rings.
pub fn rings(device: &str) -> io::Result<Numbers> {
    numbers(device, GRINGPARAM, &RINGS)
}

/// How long and for how many packets interrupts wait; none of a device without interrupts.
pub fn coalescing(device: &str) -> io::Result<Numbers> {
    numbers(device, GCOALESCE, &COALESCING)
}

/// Queues by purpose; empty if the driver of the device does not count them.
pub fn channels(device: &str) -> io::Result<Numbers> {
    numbers(device, GCHANNELS, &CHANNELS)
}

fn numbers(device: &str, command: u32, words: &[Word]) -> io::Result<Numbers> {
    let last = words.iter().map(|word| word.0).max().unwrap_or_default();
    let mut answer = vec![0; last + 1];
    answer[0] = command;
    if !supported(Ethtool::open(device)?.ask(&mut answer))? {
        return Ok(Vec::new());
    }
    Ok(words.iter().map(|&(at, name)| (name, answer[at])).collect())
}

fn supported(answer: io::Result<()>) -> io::Result<bool> {
    match answer {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
        other => other.map(|()| true),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Such as `virtio_net`.
    pub name: String,
    /// Its own, or the kernel's release.
    pub version: String,
    /// Of the device; empty of one without.
    pub firmware: String,
}

/// The driver of a device; `None` of one that has none, such as `lo`.
pub fn driver(device: &str) -> io::Result<Option<Driver>> {
    // struct ethtool_drvinfo: command, then texts of 32 bytes (driver, version, firmware, bus, ROM), 12 bytes,
    // and five words.
    const TEXT: usize = 32;
    const WORDS: usize = 1 + (5 * TEXT + 12) / size_of::<u32>() + 5;
    let mut answer = [0; WORDS];
    answer[0] = GDRVINFO;
    if !supported(Ethtool::open(device)?.ask(&mut answer))? {
        return Ok(None);
    }
    let bytes: Vec<u8> = answer[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut texts = bytes.chunks(TEXT).map(text);
    let mut next = || texts.next().unwrap_or_default();
    Ok(Some(Driver { name: next(), version: next(), firmware: next() }))
}

#[cfg(test)]
mod tests {
    use netfathom_testkit::needs_root;

    use super::*;
    use crate::lab::{DEVICE, Lab};

    #[test]
    fn a_veth_has_a_driver_and_channels_but_no_coalescing() {
        needs_root!();
        let lab = Lab::create();
        let read =
            || (driver(DEVICE).unwrap().unwrap(), channels(DEVICE).unwrap(), coalescing(DEVICE).unwrap());
        let (driver, channels, coalescing) = lab.hosts[0].run(read).unwrap();
        assert_eq!(driver.name, "veth");
        assert!(channels.contains(&("rx", 1)) && channels.contains(&("tx", 1)), "{channels:?}");
        assert_eq!(coalescing, []);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        assert!(rings("no-such-dev").is_err() && driver("no-such-dev").is_err());
    }
}
