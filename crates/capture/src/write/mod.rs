//! Captures written: pcap for the packet ring of a trial, pcapng where packets carry comments.

mod pcap;
mod pcapng;

pub use pcap::PcapWriter;
pub use pcapng::{InterfaceId, PcapngWriter};
