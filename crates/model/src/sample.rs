//! One message in full: the raw stream.

use serde::{Deserialize, Serialize};

/// Every time that was taken of one message, CLOCK_MONOTONIC ns; `None` where the hook did
/// not see it. Of a message that another host sent, `intended_ns` and `sent_ns` are by that
/// host's clock: their difference is its lag, but nothing else can be held against them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The trial's place in the record.
    pub trial: u32,
    /// Number within the trial.
    pub sequence: u64,
    /// Intended departure.
    pub intended_ns: u64,
    /// The application's stamp before the send call.
    pub sent_ns: u64,
    /// `net_dev_queue`.
    pub net_dev_queue_ns: Option<u64>,
    /// `qdisc_enqueue`.
    pub qdisc_enqueue_ns: Option<u64>,
    /// `qdisc_dequeue`.
    pub qdisc_dequeue_ns: Option<u64>,
    /// `net_dev_start_xmit`: the link layer on the way out.
    pub net_dev_start_xmit_ns: Option<u64>,
    /// `net_dev_xmit`.
    pub net_dev_xmit_ns: Option<u64>,
    /// `netif_rx` or `napi_gro_receive_entry`.
    pub arrival_ns: Option<u64>,
    /// `netif_receive_skb`: the link layer on the way in.
    pub netif_receive_skb_ns: Option<u64>,
    /// `sk_data_ready`.
    pub sk_data_ready_ns: Option<u64>,
    /// `sched_wakeup` of the reader, where it was later than `sk_data_ready`.
    pub sched_wakeup_ns: Option<u64>,
    /// `sched_switch` to the reader, where it was later than `sk_data_ready`.
    pub sched_switch_ns: Option<u64>,
    /// The reader's receive call.
    pub receive_call_ns: Option<u64>,
    /// `sock_recv_length`.
    pub sock_recv_length_ns: Option<u64>,
    /// The application's stamp after the receive call; `None` if the message was lost,
    /// or went to another host.
    pub received_ns: Option<u64>,
}
