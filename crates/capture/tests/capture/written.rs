//! What is written can be read: here, and by tshark.

use std::process::Command;

use netfathom_capture::packet::{LinkType, Packet, PacketDirection, Resolution};
use netfathom_capture::write::{PcapWriter, PcapngWriter};
use netfathom_testkit::skip;

use crate::made::{Got, frame, read_whole};

const TIME: i64 = 1_700_000_000_123_456_789;

fn packet<'a>(got: &'a Got) -> Packet<'a> {
    let Got { time_ns, link, way, original_bytes, ref data } = *got;
    Packet { time_ns, resolution: Resolution::NANOSECONDS, link, way, original_bytes, data }
}

fn packets() -> Vec<Got> {
    let ethernet = frame(b"hello");
    let raw = ethernet[14..].to_vec();
    let of = |time_ns, link, way, data: &[u8]| Got {
        time_ns,
        link,
        way,
        original_bytes: data.len() as u32,
        data: data.to_vec(),
    };
    let mut packets = vec![
        of(TIME, LinkType::Ethernet, Some(PacketDirection::Out), &ethernet),
        of(TIME + 1, LinkType::Raw, Some(PacketDirection::In), &raw),
        of(TIME - 5, LinkType::Ethernet, None, &ethernet),
        of(0, LinkType::Ethernet, None, b""),
    ];
    packets[2].original_bytes += 1000;
    packets
}

const COMMENTS: [&[&str]; 4] = [&["message 1: in the stack for 12.5 µs"], &["a", "second"], &[], &[]];

fn pcapng() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), "netfathom test").expect("memory");
    let ethernet = writer.interface("nf0", "the sender's end", LinkType::Ethernet, 0).expect("memory");
    let raw = writer.interface("tun0", "", LinkType::Raw, 262_144).expect("memory");
    for (got, comments) in packets().iter().zip(COMMENTS) {
        let interface = if got.link == LinkType::Raw { raw } else { ethernet };
        writer.packet(interface, &packet(got), comments).expect("memory");
    }
    writer.finish().expect("memory")
}

#[test]
fn pcapng_there_and_back() {
    assert_eq!(read_whole(&pcapng()[..]), packets());
}

#[test]
fn pcap_there_and_back() {
    let expected: Vec<_> = packets()
        .into_iter()
        .filter(|got| got.link == LinkType::Ethernet)
        .map(|got| Got { way: None, ..got })
        .collect();
    let mut writer = PcapWriter::new(Vec::new(), LinkType::Ethernet, 1 << 16).expect("memory");
    for got in &expected {
        writer.packet(got.time_ns as u64, got.original_bytes, &got.data).expect("memory");
    }
    assert_eq!(read_whole(&writer.finish().expect("memory")[..]), expected);
}

#[test]
fn what_the_format_has_no_room_for() {
    let mut writer = PcapngWriter::new(Vec::new(), "").expect("memory");
    let text = |error: std::io::Error| error.to_string();
    let other = writer.interface("x", "", LinkType::Other(65_536), 0).expect_err("no such link type");
    assert_eq!(text(other), "pcapng has no link type 65536: link types there are below 65536");
    let interface = writer.interface("x", "", LinkType::Ethernet, 0).expect("memory");
    let good = Got { time_ns: 0, link: LinkType::Ethernet, way: None, original_bytes: 0, data: vec![] };
    let early = writer.packet(interface, &packet(&Got { time_ns: -1, ..good.clone() }), &[]);
    assert_eq!(text(early.expect_err("before 1970")), "a packet's time before 1970: -1 ns");
    let raw = writer.packet(interface, &packet(&Got { link: LinkType::Raw, ..good.clone() }), &[]);
    assert_eq!(text(raw.expect_err("another link")), "a packet of raw IP on another interface");
    let long = writer.packet(interface, &packet(&good), &[&"x".repeat(65_536)]);
    assert_eq!(text(long.expect_err("too long")), "a text of 65536 bytes: pcapng has room for 65535 of them");
    let longest = "x".repeat(65_535);
    writer.packet(interface, &packet(&good), &[&longest]).expect("memory");
    assert_eq!(read_whole(&writer.finish().expect("memory")[..]), [good], "nothing of what was refused");
}

#[test]
fn tshark_shows_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("written.pcapng");
    std::fs::write(&path, pcapng()).expect("a file");
    let fields = ["frame.comment", "frame.time_epoch", "frame.interface_name", "frame.interface_description"];
    let more = ["frame.packet_flags_direction", "frame.len", "udp.dstport"];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-T", "fields"]);
    for field in fields.into_iter().chain(more) {
        tshark.args(["-e", field]);
    }
    let output = match tshark.output() {
        Ok(output) => output,
        Err(error) => skip!("tshark: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        "message 1: in the stack for 12.5 µs\t1700000000.123456789\tnf0\tthe sender's end\t0x00000002\t47\t2000",
        "a,second\t1700000000.123456790\ttun0\t\t0x00000001\t33\t2000",
        "\t1700000000.123456784\tnf0\tthe sender's end\t\t1047\t2000",
        "\t0.000000000\tnf0\tthe sender's end\t\t0\t",
    ];
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
}
