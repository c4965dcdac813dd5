//! What a device does instead of the kernel, through the ethtool interface: reading and
//! switching its features, such as `tx-udp-segmentation`. Everything here is about devices
//! of the calling thread's namespace.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::call::{c_text, done, socket};
use crate::device;

/// The numbers of linux/ethtool.h.
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
/// The set of strings that names the features; a feature's number is its place in it.
const SET_FEATURES: u32 = 4;
/// ETH_GSTRING_LEN: a name takes this many bytes, filled up with zeros.
const NAME_BYTES: usize = 32;

const BLOCK_BITS: usize = u32::BITS as usize;
/// A block of states has a word for each of: available, requested, active, never changed.
const FEATURE_WORDS: usize = 4;
const AVAILABLE: usize = 0;
const ACTIVE: usize = 2;
const NEVER_CHANGED: usize = 3;

/// The feature of a device that leaves the splitting of UDP_SEGMENT to it.
pub const SPLITS_BUFFERS: &str = "tx-udp-segmentation";

refusal! {
    /// What could not be done with a feature of a device, why, and what to do.
    OffloadError:
    libc::EPERM => "; this needs CAP_NET_ADMIN: run as root, or measure over loopback",
    libc::ENODEV => "; no device of this name is in this network namespace",
    libc::EOPNOTSUPP => "; its driver does not know features: leave them as they are",
}

/// Whether a feature of a device is on, by its name as `ethtool -k` shows it; `None` where
/// the kernel knows no such feature.
pub fn feature(device: &str, name: &str) -> Result<Option<bool>, OffloadError> {
    let fail = || OffloadError::new(format!("read {name} of device {device}"));
    let ethtool = Ethtool::open(device).map_err(fail())?;
    let Some(number) = ethtool.number(name).map_err(fail())? else { return Ok(None) };
    let states = ethtool.features(number).map_err(fail())?;
    Ok(Some(states.active))
}

/// Whether a device takes UDP_SEGMENT buffers for split and hands them on whole, as veth and lo do. Other devices
/// without hardware (bond, VLAN, bridge) leave the splitting to the device below them, which is not asked.
pub fn leaves_buffers_whole(device: &str) -> Result<bool, OffloadError> {
    if feature(device, SPLITS_BUFFERS)? != Some(true) {
        return Ok(false);
    }
    let driver =
        device::driver(device).map_err(OffloadError::new(format!("read the driver of device {device}")))?;
    // lo has none.
    Ok(driver.is_none_or(|driver| driver.name == "veth"))
}

/// Switches a feature of a device on or off. It stays so until it is switched again.
///
/// # Errors
/// Without CAP_NET_ADMIN, or when the device does not know the feature or does not let it be
/// switched.
pub fn set_feature(device: &str, name: &str, on: bool) -> Result<(), OffloadError> {
    let state = if on { "on" } else { "off" };
    switch(device, name, on).map_err(OffloadError::new(format!("switch {name} of device {device} {state}")))
}

/// All features of a device by their names as `ethtool -k` shows them, and whether they are on.
pub fn features(device: &str) -> Result<BTreeMap<String, bool>, OffloadError> {
    let read = || -> io::Result<BTreeMap<String, bool>> {
        let ethtool = Ethtool::open(device)?;
        let names = ethtool.names()?;
        let blocks = ethtool.blocks(names.len().div_ceil(BLOCK_BITS))?;
        let is_on = |number: usize| {
            let block = &blocks[number / BLOCK_BITS * FEATURE_WORDS..];
            block[ACTIVE] & (1 << (number % BLOCK_BITS)) != 0
        };
        let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        Ok(named.map(|(number, name)| (name, is_on(number))).collect())
    };
    read().map_err(OffloadError::new(format!("read the features of device {device}")))
}

fn switch(device: &str, name: &str, on: bool) -> io::Result<()> {
    let unable = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
    let ethtool = Ethtool::open(device)?;
    let Some(number) = ethtool.number(name)? else {
        return unable("the kernel knows no such feature; ethtool -k lists those that there are");
    };
    let before = ethtool.features(number)?;
    if before.active == on {
        return Ok(());
    }
    if !before.switchable {
        return unable("this device does not let it be switched; measure with it as it is");
    }
    ethtool.switch(number, on)?;
    // The kernel answers success also when another feature, or the device, stands against it.
    if ethtool.features(number)?.active != on {
        return unable("the device kept it as it was; perhaps another feature needs it so");
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct FeatureState {
    active: bool,
    switchable: bool,
}

/// One device, and a socket to ask about it: the socket's namespace is the device's.
pub(crate) struct Ethtool {
    socket: OwnedFd,
    device: [libc::c_char; libc::IFNAMSIZ],
}

impl Ethtool {
    pub(crate) fn open(device: &str) -> io::Result<Self> {
        let device = c_text(device).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        Ok(Self { socket: socket(libc::AF_INET, libc::SOCK_DGRAM)?, device })
    }

    /// Hands `command` to the kernel, which answers in place. Its words must have room for
    /// the answer, as much as their own numbers say.
    pub(crate) fn ask(&self, command: &mut [u32]) -> io::Result<()> {
        let mut request = libc::ifreq {
            ifr_name: self.device,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: command.as_mut_ptr().cast() },
        };
        // SAFETY: the request is a whole ifreq. The kernel reads and writes `command` as far
        // as the callers below say in it: each gives as many words as its numbers ask for.
        // SFEATURES answers with flags of what it could not do as asked.
        done(unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
    }

    /// How many features this kernel has, of any device.
    fn count(&self) -> io::Result<usize> {
        // struct ethtool_sset_info: command, reserved, a mask of 64 bits (its lower half is
        // the first word on a little-endian machine only), and one number a set bit.
        let mask = (1_u64 << SET_FEATURES).to_ne_bytes();
        let word = |at: usize| u32::from_ne_bytes([mask[at], mask[at + 1], mask[at + 2], mask[at + 3]]);
        let mut command = [GSSET_INFO, 0, word(0), word(4), 0];
        self.ask(&mut command)?;
        Ok(command[4] as usize)
    }

    /// The names of all features; the place of a name is the feature's number.
    fn names(&self) -> io::Result<Vec<String>> {
        // struct ethtool_gstrings: command, set, count, and the names. The count does not
        // change while the kernel runs: it is that of its own table.
        const HEADER: usize = 3;
        let count = self.count()?;
        let mut command = vec![0_u32; HEADER + count * NAME_BYTES / size_of::<u32>()];
        command[..HEADER].copy_from_slice(&[GSTRINGS, SET_FEATURES, count as u32]);
        self.ask(&mut command)?;
        let bytes: Vec<u8> = command[HEADER..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(bytes.chunks(NAME_BYTES).map(text).collect())
    }

    fn number(&self, name: &str) -> io::Result<Option<usize>> {
        Ok(self.names()?.iter().position(|known| known == name))
    }

    /// The states of this number of blocks of features, [`FEATURE_WORDS`] each.
    fn blocks(&self, blocks: usize) -> io::Result<Vec<u32>> {
        // struct ethtool_gfeatures: command, count of blocks, and the blocks.
        const HEADER: usize = 2;
        let mut command = vec![0_u32; HEADER + blocks * FEATURE_WORDS];
        command[..HEADER].copy_from_slice(&[GFEATURES, blocks as u32]);
        self.ask(&mut command)?;
        Ok(command.split_off(HEADER))
    }

    fn features(&self, number: usize) -> io::Result<FeatureState> {
        let block = number / BLOCK_BITS;
        let words = &self.blocks(block + 1)?[block * FEATURE_WORDS..];
        let bit = 1 << (number % BLOCK_BITS);
        let switchable = words[AVAILABLE] & bit != 0 && words[NEVER_CHANGED] & bit == 0;
        Ok(FeatureState { active: words[ACTIVE] & bit != 0, switchable })
    }

    fn switch(&self, number: usize, on: bool) -> io::Result<()> {
        // struct ethtool_sfeatures: command, count of blocks, and a block of two words each:
        // which to change, and to what. The kernel insists on all blocks.
        const HEADER: usize = 2;
        const WORDS: usize = 2;
        let blocks = self.count()?.div_ceil(BLOCK_BITS);
        let mut command = vec![0_u32; HEADER + blocks * WORDS];
        command[..HEADER].copy_from_slice(&[SFEATURES, blocks as u32]);
        let block = &mut command[HEADER + number / BLOCK_BITS * WORDS..];
        let bit = 1 << (number % BLOCK_BITS);
        block[0] = bit;
        block[1] = if on { bit } else { 0 };
        self.ask(&mut command)
    }
}

/// What stands before the first zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use netfathom_testkit::needs_root;

    use super::*;
    use crate::lab::{DEVICE, Lab};
    use crate::socket::{Wait, enable_gro, receive_coalesced, set_segment_size};

    const SEGMENTATION: &str = SPLITS_BUFFERS;

    #[test]
    fn an_unknown_feature_is_none_and_a_missing_device_is_named() {
        assert_eq!(feature("lo", "tx-telepathy").unwrap(), None);
        // The loopback device always has it on.
        assert_eq!(feature("lo", "loopback").unwrap(), Some(true));
        for device in ["no-such-dev", "a-name-longer-than-any-device", ""] {
            let error = feature(device, SEGMENTATION).unwrap_err().to_string();
            assert!(error.contains(device) && error.contains("No such device"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_switched_says_so() {
        needs_root!();
        let lab = Lab::create();
        let errors = lab.hosts[0]
            .run(|| {
                ["loopback", "tx-telepathy"]
                    .map(|name| set_feature("lo", name, false).unwrap_err().to_string())
            })
            .unwrap();
        assert!(errors[0].starts_with("cannot switch loopback of device lo off: this device"), "{errors:?}");
        assert!(errors[1].contains("no such feature"), "{errors:?}");
    }

    /// The witness is the reader: it sees whether the buffer was split before the device.
    #[test]
    fn switching_segmentation_off_splits_before_the_device() {
        needs_root!();
        let lab = Lab::create();
        let (sender, reader) = lab.pair();
        enable_gro(&reader).unwrap();
        set_segment_size(&sender, 8).unwrap();
        let mut buffer = [0; 64];
        let mut first_bytes = |on: bool| {
            let switched = || {
                set_feature(DEVICE, SEGMENTATION, on).unwrap();
                feature(DEVICE, SEGMENTATION).unwrap()
            };
            assert_eq!(lab.hosts[0].run(switched).unwrap(), Some(on));
            assert_eq!(lab.hosts[0].run(|| leaves_buffers_whole(DEVICE)).unwrap().unwrap(), on);
            sender.send(&[5; 32]).unwrap();
            let bytes = receive_coalesced(&reader, &mut buffer, Wait::ForOne).unwrap().bytes;
            for _ in (bytes..32).step_by(8) {
                receive_coalesced(&reader, &mut buffer, Wait::ForOne).unwrap();
            }
            bytes
        };
        assert_eq!([first_bytes(true), first_bytes(false), first_bytes(true)], [32, 8, 32]);
    }
}
