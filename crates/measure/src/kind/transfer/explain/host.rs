//! What is known of this host and its end of the connection, beside the looks.

use netfathom_model::record::Holder;

/// Nothing of it need be known.
#[derive(Clone, Debug, Default)]
pub(in crate::kind::transfer) struct Host {
    /// What the socket's buffer was granted, where one was asked for.
    pub granted_buffer_bytes: Option<u32>,
    pub congestion: Option<String>,
    /// Least, default and largest size of a buffer that the kernel sizes, in bytes:
    /// `net.ipv4.tcp_wmem` of a sender, `net.ipv4.tcp_rmem` of a receiver.
    pub buffer_limits: Option<[u64; 3]>,
    /// The other process that ran longest meanwhile.
    pub busiest: Option<Busiest>,
}

#[derive(Clone, Debug)]
pub(in crate::kind::transfer) struct Busiest {
    pub by: Holder,
    /// How much of a CPU it used.
    pub cpus: f64,
}

impl Host {
    pub fn limits(text: &str) -> Option<[u64; 3]> {
        let numbers: Vec<u64> = text.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        numbers.try_into().ok()
    }
}
