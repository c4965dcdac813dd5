use super::*;

const DEV_TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
 veth0:123456789012 9754    1    2    3     4          5         6   624814    6026    7    8    9    10      11         12
";

const SNMP_TEXT: &str = "\
Ip: Forwarding DefaultTTL
Ip: 1 64
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 205 3 8 206 6 1 2 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 9 9 9 9 9 9 9 9 9
";

const SNMP6_TEXT: &str = "\
Ip6InReceives                   \t77
Udp6InDatagrams                 \t11
Udp6NoPorts                     \t12
Udp6InErrors                    \t13
Udp6OutDatagrams                \t14
Udp6RcvbufErrors                \t15
Udp6SndbufErrors                \t16
Udp6InCsumErrors                \t17
UdpLite6InDatagrams             \t99
";

fn counters() -> Counters {
    Counters {
        devices: parse_dev(DEV_TEXT).unwrap(),
        udp4: parse_snmp(SNMP_TEXT).unwrap(),
        udp6: Some(parse_snmp6(SNMP6_TEXT).unwrap()),
        backlog_dropped: parse_softnet("00001a2b 0000000a 00000000\n00000000 00000001 00000000\n").unwrap(),
    }
}

#[test]
fn devices_are_parsed_by_column() {
    let devices = counters().devices;
    assert_eq!(devices.keys().collect::<Vec<_>>(), ["lo", "veth0"]);
    let expected = DeviceCounters {
        rx_bytes: 123_456_789_012,
        rx_packets: 9754,
        rx_dropped: 2,
        tx_packets: 6026,
        tx_dropped: 8,
    };
    assert_eq!(devices["veth0"], expected);
}

#[test]
fn udp_is_parsed_by_name() {
    let udp4 = counters().udp4;
    assert_eq!((udp4.in_datagrams, udp4.in_errors), (205, 8));
    assert_eq!((udp4.out_datagrams, udp4.rcvbuf_errors), (206, 6));
    let udp6 = counters().udp6.unwrap();
    assert_eq!((udp6.in_datagrams, udp6.in_errors), (11, 13));
    assert_eq!((udp6.out_datagrams, udp6.rcvbuf_errors), (14, 15));
    assert_eq!((udp4.in_csum_errors, udp6.in_csum_errors), (2, 17));
    assert_eq!((udp4.sndbuf_errors, udp6.sndbuf_errors), (1, 16));
}

#[test]
fn backlog_drops_are_hexadecimal_and_added_up() {
    assert_eq!(counters().backlog_dropped, 11);
}

#[test]
fn the_difference_is_what_was_gained() {
    let before = counters();
    let mut after = counters();
    after.devices.get_mut("veth0").unwrap().tx_packets += 5;
    after.udp4.rcvbuf_errors += 2;
    let gained = after.since(&before).unwrap();
    assert_eq!(gained.devices["veth0"], DeviceCounters { tx_packets: 5, ..DeviceCounters::default() });
    assert_eq!(gained.udp4, UdpCounters { rcvbuf_errors: 2, ..UdpCounters::default() });
    assert_eq!((gained.udp6, gained.backlog_dropped), (Some(UdpCounters::default()), 0));
}

#[test]
fn a_counter_that_went_backwards_is_no_difference() {
    let mut before = counters();
    before.devices.get_mut("lo").unwrap().rx_packets += 1;
    let error = counters().since(&before).unwrap_err().to_string();
    assert!(error.contains("lo rx_packets went backwards"), "{error}");
}

#[test]
fn a_device_that_is_new_counts_in_full() {
    let mut before = counters();
    before.devices.remove("lo");
    assert_eq!(counters().since(&before).unwrap().devices["lo"].rx_packets, 29);
}

#[test]
fn texts_of_another_form_are_refused() {
    assert!(parse_dev("\n\n eth0: 1 2 3\n").unwrap_err().to_string().contains("eth0"));
    assert!(parse_snmp("Udp: InDatagrams\nUdp: 1\n").unwrap_err().to_string().contains("InErrors"));
    assert!(parse_snmp6("").is_err());
    assert!(parse_softnet("0\n").is_err());
}

#[test]
fn this_kernel_writes_what_is_expected() {
    let first = read().unwrap();
    assert!(first.devices.contains_key("lo"));
    read().unwrap().since(&first).unwrap();
}
