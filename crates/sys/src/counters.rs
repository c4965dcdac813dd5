//! What the kernel itself counts: accounts of messages are checked against it.

use std::collections::BTreeMap;
use std::{fs, io};

mod tcp;

pub use tcp::TcpCounters;

/// What could not be read of the kernel's counters, and why.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    #[error("cannot read {path}: {source}; is /proc mounted?")]
    Read {
        path: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("cannot read {path}: no {what} in it; this kernel writes it in a way not known here")]
    Format { path: &'static str, what: String },
    #[error("the counter {counter} went backwards: the device was replaced during the measurement")]
    Backwards {
        /// Which counter, such as `veth0 rx_packets`.
        counter: String,
    },
}

/// A struct of counters, and the difference of two of it.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: u64,)* }

        impl $name {
            fn since(&self, earlier: &Self, owner: &str) -> Result<Self, CountersError> {
                Ok(Self { $($field: gain(self.$field, earlier.$field, owner, stringify!($field))?,)* })
            }
        }
    };
}

counters! {
    /// Of one network device, from `/proc/net/dev`.
    DeviceCounters {
        rx_bytes,
        rx_packets,
        /// Packets in that the driver dropped, for want of room too.
        rx_dropped,
        /// Packets out. A packet that the device will still split counts once.
        tx_packets,
        /// Packets out that the driver dropped.
        tx_dropped,
    }
}

counters! {
    /// Of UDP over one version of IP, from `/proc/net/snmp` and `/proc/net/snmp6`.
    UdpCounters {
        /// Datagrams that an application read: not those that still wait in a socket.
        in_datagrams,
        /// Received datagrams that were lost, for any reason; the next two are parts of it.
        in_errors,
        /// Datagrams in that found the receive buffer of the socket full.
        rcvbuf_errors,
        /// Datagrams in with a wrong checksum.
        in_csum_errors,
        out_datagrams,
        /// Datagrams that a queue or a device of this host dropped, though the send call succeeded (without IP_RECVERR), and
        /// send calls that failed for want of room.
        sndbuf_errors,
    }
}

/// The counters of one network namespace at one time, or what they gained between two times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub devices: BTreeMap<String, DeviceCounters>,
    /// UDP over IPv4.
    pub udp4: UdpCounters,
    /// UDP over IPv6; `None` where the kernel runs without.
    pub udp6: Option<UdpCounters>,
    /// Packets that found the queue between driver and stack full: on the whole machine,
    /// for the kernel does not count them by namespace.
    pub backlog_dropped: u64,
}

const DEV: &str = "/proc/thread-self/net/dev";
const SNMP: &str = "/proc/thread-self/net/snmp";
const SNMP6: &str = "/proc/thread-self/net/snmp6";
const SOFTNET: &str = "/proc/thread-self/net/softnet_stat";

/// Reads the counters of the calling thread's namespace.
pub fn read() -> Result<Counters, CountersError> {
    let udp6 = match text(SNMP6) {
        Ok(snmp6) => Some(parse_snmp6(&snmp6)?),
        Err(CountersError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(Counters {
        devices: parse_dev(&text(DEV)?)?,
        udp4: parse_snmp(&text(SNMP)?)?,
        udp6,
        backlog_dropped: parse_softnet(&text(SOFTNET)?)?,
    })
}

impl Counters {
    /// What was gained since an earlier reading. A device that appeared since counts in full.
    pub fn since(&self, earlier: &Self) -> Result<Self, CountersError> {
        let mut devices = BTreeMap::new();
        for (name, now) in &self.devices {
            let before = earlier.devices.get(name).copied().unwrap_or_default();
            devices.insert(name.clone(), now.since(&before, name)?);
        }
        let udp6 = match (&self.udp6, &earlier.udp6) {
            (Some(now), Some(before)) => Some(now.since(before, "udp6")?),
            _ => None,
        };
        Ok(Self {
            devices,
            udp4: self.udp4.since(&earlier.udp4, "udp4")?,
            udp6,
            backlog_dropped: gain(self.backlog_dropped, earlier.backlog_dropped, "backlog", "dropped")?,
        })
    }
}

fn gain(now: u64, before: u64, owner: &str, field: &str) -> Result<u64, CountersError> {
    now.checked_sub(before).ok_or_else(|| CountersError::Backwards { counter: format!("{owner} {field}") })
}

fn text(path: &'static str) -> Result<String, CountersError> {
    fs::read_to_string(path).map_err(|source| CountersError::Read { path, source })
}

fn missing(path: &'static str, what: impl Into<String>) -> CountersError {
    CountersError::Format { path, what: what.into() }
}

/// Parses the text of `/proc/net/dev`.
///
/// # Errors
/// When a line has not the sixteen numbers that it has since Linux 2.2.
pub fn parse_dev(text: &str) -> Result<BTreeMap<String, DeviceCounters>, CountersError> {
    text.lines().skip(2).map(parse_device).collect()
}

fn parse_device(line: &str) -> Result<(String, DeviceCounters), CountersError> {
    // A name may hold a colon itself (an alias), and long numbers follow it without a space.
    let (name, numbers) = line.rsplit_once(':').ok_or_else(|| missing(DEV, "device name"))?;
    let n: Vec<u64> = numbers.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    if n.len() < 12 {
        return Err(missing(DEV, format!("line of 16 numbers for {}", name.trim())));
    }
    let counters = DeviceCounters {
        rx_bytes: n[0],
        rx_packets: n[1],
        rx_dropped: n[3],
        tx_packets: n[9],
        tx_dropped: n[11],
    };
    Ok((name.trim().to_owned(), counters))
}

/// Parses UDP from the text of `/proc/net/snmp`: a line of names above a line of numbers.
pub fn parse_snmp(text: &str) -> Result<UdpCounters, CountersError> {
    udp(SNMP, &named(text, "Udp:"))
}

/// A line of names above a line of numbers, both after the same word.
fn named<'a>(text: &'a str, word: &str) -> BTreeMap<&'a str, &'a str> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(word));
    let names = lines.next().unwrap_or_default().split_ascii_whitespace();
    let numbers = lines.next().unwrap_or_default().split_ascii_whitespace();
    names.zip(numbers).collect()
}

/// Parses UDP from the text of `/proc/net/snmp6`: a name and a number a line.
pub fn parse_snmp6(text: &str) -> Result<UdpCounters, CountersError> {
    let pair = |line| str::split_once(line, char::is_whitespace);
    let udp6 = text.lines().filter_map(|line| pair(line.strip_prefix("Udp6")?));
    udp(SNMP6, &udp6.map(|(name, number)| (name, number.trim())).collect())
}

fn udp(path: &'static str, by_name: &BTreeMap<&str, &str>) -> Result<UdpCounters, CountersError> {
    let read = |name| number(path, by_name, "UDP", name);
    Ok(UdpCounters {
        in_datagrams: read("InDatagrams")?,
        in_errors: read("InErrors")?,
        rcvbuf_errors: read("RcvbufErrors")?,
        in_csum_errors: read("InCsumErrors")?,
        out_datagrams: read("OutDatagrams")?,
        sndbuf_errors: read("SndbufErrors")?,
    })
}

fn number(
    path: &'static str,
    by_name: &BTreeMap<&str, &str>,
    protocol: &str,
    name: &str,
) -> Result<u64, CountersError> {
    let number = by_name.get(name).and_then(|number| number.parse().ok());
    number.ok_or_else(|| missing(path, format!("counter {name} of {protocol}")))
}

/// Parses the packets dropped, all processors together, from the text of
/// `/proc/net/softnet_stat`: hexadecimal, a line for each processor, drops in the second column.
pub fn parse_softnet(text: &str) -> Result<u64, CountersError> {
    let dropped = |line: &str| {
        let column = line.split_ascii_whitespace().nth(1)?;
        u64::from_str_radix(column, 16).ok()
    };
    text.lines().map(|line| dropped(line).ok_or_else(|| missing(SOFTNET, "column of drops"))).sum()
}

#[cfg(test)]
mod tests;
