//! Where the contenders run: nothing else has a word in either place.

use netfathom_measure::ground::lab::Lab;
use netfathom_model::plan::Family;
use netfathom_sys::counters::{self, CountersError};
use netfathom_sys::link::{self, LinkError};
use netfathom_sys::netns::Namespace;

use super::Failure;

#[derive(Clone, Copy)]
pub enum Counted {
    /// Bytes of TCP that came in.
    Stream,
    /// Datagrams of UDP that the receiver has read.
    Datagrams {
        /// The bytes of each.
        bytes: u64,
    },
}

/// Two ends, which may be the same.
pub struct Place {
    pub name: &'static str,
    pub host: String,
    device: &'static str,
    /// Of every packet, as this device counts them.
    header_bytes: u64,
    ends: Ends,
}

enum Ends {
    Loopback(Namespace),
    Lab(Lab),
}

impl Place {
    pub fn loopback() -> Result<Self, Failure> {
        let alone = Namespace::create()?;
        alone.run(|| -> Result<(), LinkError> { link::set_up(&link::read("lo")?) })??;
        // IPv4, TCP and its timestamps.
        let header_bytes = 20 + 32;
        let host = "127.0.0.1".into();
        Ok(Self { name: "loopback", host, device: "lo", header_bytes, ends: Ends::Loopback(alone) })
    }

    pub fn lab() -> Result<Self, Failure> {
        let lab = Lab::create()?;
        let host = lab.reader_addr(Family::Ipv4).to_string();
        // Here the header of Ethernet counts too.
        let header_bytes = 14 + 20 + 32;
        Ok(Self { name: "lab", host, device: "veth0", header_bytes, ends: Ends::Lab(lab) })
    }

    pub fn sender(&self) -> &Namespace {
        match &self.ends {
            Ends::Loopback(alone) => alone,
            Ends::Lab(lab) => &lab.sender,
        }
    }

    pub fn reader(&self) -> &Namespace {
        match &self.ends {
            Ends::Loopback(alone) => alone,
            Ends::Lab(lab) => &lab.reader,
        }
    }

    /// Bytes that have come in, without those of the headers. Acknowledgments, which at lo come
    /// in too, are nothing but headers.
    pub fn came(&self, counted: Counted) -> Result<u64, Failure> {
        let now = self.reader().run(counters::read)?.map_err(|e: CountersError| e.to_string())?;
        Ok(match counted {
            Counted::Datagrams { bytes } => now.udp4.in_datagrams * bytes,
            Counted::Stream => {
                let device = now.devices.get(self.device).ok_or("the device is gone")?;
                device.rx_bytes.saturating_sub(self.header_bytes * device.rx_packets)
            }
        })
    }
}
