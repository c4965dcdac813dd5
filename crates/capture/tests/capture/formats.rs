//! Both formats, in both byte orders and every resolution.

use netfathom_capture::packet::{LinkType, PacketDirection, Packets};
use netfathom_capture::reader::CaptureReader;

use crate::made::*;

#[test]
fn pcap_of_every_kind() {
    for is_big in [false, true] {
        for (magic, fraction_ns, format) in
            [(MICROSECONDS, 1000, "pcap, microseconds"), (NANOSECONDS, 1, "pcap, nanoseconds")]
        {
            let file = Bytes::new(is_big).pcap(magic, 276).record(7, 123_456, b"abc").record(8, 0, b"").bytes;
            assert_eq!(CaptureReader::new(&file[..]).expect("a capture").format(), format);
            let packets = read_whole(&file[..]);
            assert_eq!(packets.len(), 2);
            assert_eq!(packets[0].time_ns, 7_000_000_000 + 123_456 * fraction_ns);
            assert_eq!((packets[0].link, packets[0].way), (LinkType::Sll2, None));
            assert_eq!(packets[0].data, b"abc");
        }
    }
}

#[test]
fn modified_pcap_tells_the_way() {
    let file = Bytes::new(false).pcap(MODIFIED, 1);
    let file = [0, 4].into_iter().fold(file, |file, kind| {
        file.u32(1).u32(2).u32(3).u32(4).u32(1).u16(0x800).raw(&[kind, 0]).raw(b"abc")
    });
    let packets = read_whole(&file.bytes[..]);
    let ways: Vec<_> = packets.iter().map(|packet| (packet.way, &packet.data[..])).collect();
    assert_eq!(ways, [(Some(PacketDirection::In), &b"abc"[..]), (Some(PacketDirection::Out), b"abc")]);
}

#[test]
fn the_length_of_a_check_sum_is_not_of_the_link_type() {
    let file = Bytes::new(false).pcap(MICROSECONDS, 0x5400_0001).record(1, 1, b"").bytes;
    assert_eq!(read_whole(&file[..])[0].link, LinkType::Ethernet);
}

#[test]
fn resolutions() {
    for is_big in [false, true] {
        for (resolution, ticks, expected) in [
            (None, 5, 5_000),
            (Some(0), 5, 5_000_000_000),
            (Some(6), 5, 5_000),
            (Some(9), 5, 5),
            (Some(12), 5_999, 5),
            (Some(28), u64::MAX, 1),
            (Some(127), u64::MAX, 0),
            (Some(0x80), 5, 5_000_000_000),
            (Some(0x80 | 10), 1536, 1_500_000_000),
            (Some(0x80 | 32), (7 << 32) + (1 << 31), 7_500_000_000),
            (Some(0xff), u64::MAX, 0),
        ] {
            let file =
                Bytes::new(is_big).section().interface(1, 0, resolution).enhanced(0, ticks, b"x").bytes;
            assert_eq!(read_whole(&file[..])[0].time_ns, expected, "{resolution:?}");
        }
    }
}

#[test]
fn times_from_an_offset() {
    for is_big in [false, true] {
        let seconds: i64 = -10;
        let offset = if is_big { seconds.to_be_bytes() } else { seconds.to_le_bytes() };
        let file = Bytes::new(is_big)
            .section()
            .block(INTERFACE, |body| body.u16(1).u16(0).u32(0).option(14, &offset).option(9, &[9]))
            .enhanced(0, 3, b"")
            .bytes;
        assert_eq!(read_whole(&file[..])[0].time_ns, -9_999_999_997);
    }
}

#[test]
fn sections_and_interfaces() {
    let file = Bytes::new(false)
        .section()
        .interface(1, 0, Some(9))
        .interface(276, 0, Some(6))
        .block(5, |body| body.raw(&[0; 600_000]))
        .enhanced(1, 2, b"b")
        .enhanced(0, 1, b"a")
        .bytes;
    let next =
        Bytes { is_big: true, bytes: file }.section().interface(101, 0, None).enhanced(0, 3, b"c").bytes;
    let got: Vec<_> = read_whole(&next[..]).into_iter().map(|p| (p.link, p.time_ns, p.data)).collect();
    assert_eq!(
        got,
        [
            (LinkType::Sll2, 2_000, b"b".to_vec()),
            (LinkType::Ethernet, 1, b"a".to_vec()),
            (LinkType::Raw, 3_000, b"c".to_vec()),
        ]
    );
}

#[test]
fn the_way_is_in_the_flags() {
    for is_big in [false, true] {
        let file = [0u32, 1, 2, 3].into_iter().fold(
            Bytes::new(is_big).section().interface(1, 0, None),
            |file, flags| {
                let flags = Bytes::new(is_big).u32(flags | 0xfff0).bytes;
                file.block(ENHANCED_PACKET, |body| {
                    body.u32(0)
                        .u32(0)
                        .u32(1)
                        .u32(1)
                        .u32(1)
                        .raw(b"x")
                        .padded()
                        .option(1, b"why")
                        .option(2, &flags)
                })
            },
        );
        let ways: Vec<_> = read_whole(&file.bytes[..]).into_iter().map(|packet| packet.way).collect();
        assert_eq!(ways, [None, Some(PacketDirection::In), Some(PacketDirection::Out), None]);
    }
}

#[test]
fn old_and_simple_packets() {
    let file = Bytes::new(true)
        .section()
        .interface(1, 4, None)
        .block(OLD_PACKET, |body| body.u16(0).u16(9).u32(0).u32(5).u32(2).u32(2).raw(b"ab"))
        .block(SIMPLE_PACKET, |body| body.u32(6).raw(b"abcd"))
        .block(SIMPLE_PACKET, |body| body.u32(3).raw(b"abc"))
        .bytes;
    let got: Vec<_> =
        read_whole(&file[..]).into_iter().map(|p| (p.time_ns, p.original_bytes, p.data)).collect();
    assert_eq!(got, [(5_000, 2, b"ab".to_vec()), (0, 6, b"abcd".to_vec()), (0, 3, b"abc".to_vec())]);
    let mut reader = CaptureReader::new(&file[..]).expect("a capture");
    while let Ok(Some(_)) = reader.next_packet() {}
    assert_eq!(reader.without_time(), 2);
}

#[test]
fn the_longest_packet_that_there_can_be() {
    let longest = vec![7; 256 << 10];
    let file = Bytes::new(false).pcap(MICROSECONDS, 1).record(1, 1, &longest).record(2, 2, &longest).bytes;
    let pcapng = Bytes::new(false).section().interface(1, 0, None);
    let pcapng = pcapng.enhanced(0, 1, &longest).enhanced(0, 2, &longest).bytes;
    for file in [file, pcapng] {
        let packets = read_whole(&file[..]);
        assert!(packets.len() == 2 && packets.iter().all(|packet| packet.data == longest));
    }
}
