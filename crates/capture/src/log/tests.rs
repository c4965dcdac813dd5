use proptest::prelude::*;

use super::*;

fn read(bytes: &[u8]) -> (Vec<Message>, Result<(), String>, Clock) {
    let mut reader = match LogReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Err(error.to_string()), Clock::default()),
    };
    let mut messages = Vec::new();
    let end = loop {
        match reader.next_message() {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    assert!(matches!(reader.next_message(), Ok(None)), "goes on after its end");
    (messages, end, reader.clock())
}

fn columns() -> impl Strategy<Value = Columns> {
    (1u32..8).prop_map(|bits| Columns::of_bits(bits).unwrap())
}

fn values() -> impl Strategy<Value = [u64; 4]> {
    let time = || 0..=MOST_NS;
    (any::<u64>(), time(), time(), time()).prop_map(|(number, a, b, c)| [number, a, b, c])
}

fn entry(columns: Columns, values: [u64; 4]) -> LogEntry {
    let of = |there, value| if there { value } else { 0 };
    LogEntry {
        sequence: values[0],
        intended_ns: of(columns.intended, values[1]),
        sent_ns: of(columns.sent, values[2]),
        received_ns: of(columns.received, values[3]),
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        columns in columns(),
        csv: bool,
        blocks in prop::collection::vec((any::<u32>(), prop::collection::vec(values(), 0..40)), 0..10),
        ahead in -(MOST_NS as i64)..MOST_NS as i64,
    ) {
        let format = if csv { LogFormat::Csv } else { LogFormat::Binary };
        let mut writer = LogWriter::new(Vec::new(), format, columns).unwrap();
        writer.write_clock(1, ahead).unwrap();
        let mut written = Vec::new();
        for (flow, values) in &blocks {
            let entries: Vec<LogEntry> = values.iter().map(|v| entry(columns, *v)).collect();
            writer.write_block(*flow, &entries).unwrap();
            writer.write_clock(2, ahead + 1).unwrap();
            written.extend(entries.into_iter().map(|entry| Message { flow: *flow, entry, ..Message::default() }));
        }
        let (messages, end, clock) = read(&writer.finish().unwrap());
        prop_assert_eq!(messages, written);
        prop_assert_eq!(end, Ok(()));
        prop_assert_eq!(clock.first_ahead_ns, ahead);
        prop_assert_eq!(clock.statements, 1 + blocks.len() as u64);
    }

    #[test]
    fn anything_is_read_without_harm(mut bytes: Vec<u8>, binary: bool) {
        if binary {
            bytes.splice(0..0, [&MAGIC[..], &1u32.to_le_bytes(), &7u32.to_le_bytes()].concat());
        }
        let _ = read(&bytes);
    }
}

fn binary(rest: &[&[u8]]) -> Vec<u8> {
    [&[&MAGIC[..], &1u32.to_le_bytes(), &2u32.to_le_bytes()], rest].concat().concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn damaged_binary_logs_say_where_and_why() {
    let cases: [(&str, Vec<u8>, usize, &str); 10] = [
        ("empty", vec![], 0, "no message log: it is empty"),
        (
            "in its magic",
            b"nfms".to_vec(),
            0,
            "damaged at byte 4: the log ends within its header of 16 bytes",
        ),
        (
            "half a header",
            binary(&[])[..12].to_vec(),
            0,
            "damaged at byte 12: the log ends within its header of 16 bytes",
        ),
        (
            "version",
            [&MAGIC[..], &words(&[2, 2])].concat(),
            0,
            "a netfathom log of version 2; this build knows only 1: use the netfathom that wrote it",
        ),
        (
            "no times",
            [&MAGIC[..], &words(&[1, 0])].concat(),
            0,
            "damaged at byte 12: the header names no times, or unknown ones (0x0); 1 to 7 can be",
        ),
        (
            "absurd count",
            binary(&[&words(&[1, 7, u32::MAX, 0]), &[0; 8]]),
            0,
            "damaged at byte 16: a block of 4294967295 messages, reserved field 0: at most 65536 and 0 can be",
        ),
        (
            "cut message",
            binary(&[&words(&[1, 7, 2, 0]), &words(&[5, 0, 6, 0]), &[1; 15]]),
            1,
            "damaged at byte 48: the log ends with 1 messages of a block to come",
        ),
        (
            "cut head",
            binary(&[&words(&[1, 7])]),
            0,
            "damaged at byte 16: the log ends within the head of a block",
        ),
        ("cut kind", binary(&[&[1, 0]]), 0, "damaged at byte 16: the log ends within the head of a block"),
        (
            "kind",
            binary(&[&words(&[9, 0, 0, 0])]),
            0,
            "damaged at byte 16: a block of kind 9: 1 (messages) and 2 (clock) can be",
        ),
    ];
    for (name, bytes, messages, why) in cases {
        let (read, end, _) = read(&bytes);
        assert_eq!((read.len(), end), (messages, Err(why.into())), "{name}");
    }
}

#[test]
fn damaged_csv_says_which_line_and_why() {
    let long = format!("sequence,sent_ns\n1,2\n{}", "3".repeat(5000));
    let cases: [(&str, &[u8], usize, &str); 15] = [
        (
            "binary",
            b"\x7fELF\x02\x01\x01",
            0,
            "no message log: it begins neither with `nfmsglog` nor with a line that names columns, such as sequence,sent_ns",
        ),
        (
            "no header",
            b"1,2,3\n",
            0,
            "no message log: it begins neither with `nfmsglog` nor with a line that names columns, such as sequence,sent_ns",
        ),
        ("comments only", b"# a\n\n", 0, "no message log: it has no line that names columns"),
        (
            "no time",
            b"flow,sequence\n1,2\n",
            0,
            "no message log: line 1 names no time; name one of intended_ns, sent_ns, received_ns (or _us, _ms, _s)",
        ),
        ("no sequence", b"# x\nflow,sent_ns\n1,2\n", 0, "no message log: line 2 names no column `sequence`"),
        ("twice", b"sequence,sent_ns,sent_us\n1,2,3\n", 0, "no message log: line 1 names a column twice"),
        ("word", b"sequence,sent_ns\n1,2\nx,3\n", 1, "damaged at byte 21: line 3: `x` is no number"),
        ("negative", b"sequence,sent_ns\n1,-2\n", 0, "damaged at byte 17: line 2: `-2` is no number"),
        ("exponent", b"sequence,sent_s\n1,1e9\n", 0, "damaged at byte 16: line 2: `1e9` is no number"),
        ("point", b"sequence,sent_s\n1,1.\n", 0, "damaged at byte 16: line 2: `1.` is no number"),
        (
            "large",
            b"sequence,sent_s\n1,99999999999\n",
            0,
            "damaged at byte 16: line 2: `99999999999` is too large",
        ),
        ("few", b"sequence,sent_ns,received_ns\n1,2\n", 0, "damaged at byte 29: line 2: 2 of 3 fields"),
        ("many", b"sequence,sent_ns\n1,2,3\n", 0, "damaged at byte 17: line 2: more than 2 fields"),
        ("long", long.as_bytes(), 1, "damaged at byte 21: line 3: longer than 4096 bytes"),
        ("NUL", b"sequence,sent_ns\n1,2\n\0\0\0\0", 1, "damaged at byte 21: line 3: `\0\0\0\0` is no number"),
    ];
    for (name, bytes, messages, why) in cases {
        let (read, end, _) = read(bytes);
        assert_eq!((read.len(), end), (messages, Err(why.into())), "{name}");
    }
}

#[test]
fn a_statement_that_says_nothing_is_damage() {
    for (comment, why) in [
        ("# clock=tai", "damaged at byte 17: line 2: `clock=tai` is no clock: realtime and monotonic are"),
        (
            "# clock=monotonic",
            "damaged at byte 17: line 2: clock=monotonic needs realtime_ahead_ns=N, CLOCK_REALTIME minus CLOCK_MONOTONIC",
        ),
    ] {
        let text = format!("sequence,sent_ns\n{comment}\n1,2\n");
        assert_eq!(read(text.as_bytes()).1, Err(why.to_owned()));
    }
}

#[test]
fn columns_come_in_any_order_unit_and_dress() {
    let text = "\u{feff}# a comment\r\n\r\n\"Received_ms\"; note ;Flow; sequence;sent_s;intended_us\r\n\
                # clock=monotonic realtime_ahead_ns=-5\r\n\
                1.5;\"a, b\"; 7 ;1;1763712000.123456789;2\r\n\
                ;;;2;0.0000000019;.\r\n";
    let (messages, end, clock) = read(text.as_bytes());
    // Half a step was added: of a microsecond, and of the last digit of 1.5 ms.
    let first = LogEntry {
        sequence: 1,
        intended_ns: 2_500,
        sent_ns: 1_763_712_000_123_456_789,
        received_ns: 1_550_000,
    };
    assert_eq!(messages, [Message { flow: 7, entry: first, resolution: Resolution::of(4) }]);
    assert_eq!(end, Err("damaged at byte 155: line 6: `.` is no number".to_owned()));
    assert_eq!((clock.ahead_ns, clock.statements), (-5, 1));
    // Digits below one ns are left out, and the last line needs no end.
    let (messages, end, _) = read(b"sequence\tsent_s\n2\t0.0000000019");
    assert_eq!((messages[0].entry.sent_ns, end), (1, Ok(())));
}

#[test]
fn a_block_beyond_the_most_is_split() {
    let entries: Vec<LogEntry> =
        (0..70_000).map(|n| LogEntry { sequence: n, sent_ns: n + 1, ..LogEntry::default() }).collect();
    let columns = Columns { sent: true, ..Columns::default() };
    let mut writer = LogWriter::new(Vec::new(), LogFormat::Binary, columns).unwrap();
    writer.write_block(3, &entries).unwrap();
    let bytes = writer.finish().unwrap();
    assert_eq!(bytes.len(), 16 + 2 * 16 + 70_000 * 16);
    let (messages, end, clock) = read(&bytes);
    assert_eq!((messages.len(), end, clock.statements), (70_000, Ok(()), 0));
}

#[test]
fn a_log_without_times_cannot_be_begun() {
    assert!(LogWriter::new(Vec::new(), LogFormat::Csv, Columns::default()).is_err());
}
