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

/// This number of messages is read of a log, and this is the error after them.
#[track_caller]
fn refused(bytes: &[u8], messages: usize, why: &str) {
    let (read, end, _) = read(bytes);
    assert_eq!((read.len(), end), (messages, Err(why.into())));
}

/// The same, where the damage has a place.
#[track_caller]
fn damaged(bytes: &[u8], messages: usize, at: usize, why: &str) {
    refused(bytes, messages, &format!("damaged at byte {at}: {why}"));
}

#[test]
fn damaged_binary_logs_say_where_and_why() {
    refused(b"", 0, "no message log: it is empty");
    damaged(b"nfms", 0, 4, "the log ends within its header of 16 bytes");
    damaged(&binary(&[])[..12], 0, 12, "the log ends within its header of 16 bytes");
    let later = "a netfathom log of version 2; this build knows only 1: use the netfathom that wrote it";
    refused(&[&MAGIC[..], &words(&[2, 2])].concat(), 0, later);
    let no_times = "the header names no times, or unknown ones (0x0); 1 to 7 can be";
    damaged(&[&MAGIC[..], &words(&[1, 0])].concat(), 0, 12, no_times);
    let absurd = "a block of 4294967295 messages, reserved field 0: at most 65536 and 0 can be";
    damaged(&binary(&[&words(&[1, 7, u32::MAX, 0]), &[0; 8]]), 0, 16, absurd);
    let cut = binary(&[&words(&[1, 7, 2, 0]), &words(&[5, 0, 6, 0]), &[1; 15]]);
    damaged(&cut, 1, 48, "the log ends with 1 messages of a block to come");
    for cut in [binary(&[&words(&[1, 7])]), binary(&[&[1, 0]])] {
        damaged(&cut, 0, 16, "the log ends within the head of a block");
    }
    let unknown = binary(&[&words(&[9, 0, 0, 0])]);
    damaged(&unknown, 0, 16, "a block of kind 9: 1 (messages) and 2 (clock) can be");
}

#[test]
fn damaged_csv_says_which_line_and_why() {
    let neither = "no message log: it begins neither with `nfmsglog` nor with a line that names columns, \
                   such as sequence,sent_ns";
    refused(b"\x7fELF\x02\x01\x01", 0, neither);
    refused(b"1,2,3\n", 0, neither);
    refused(b"# a\n\n", 0, "no message log: it has no line that names columns");
    let no_time = "no message log: line 1 names no time; name one of intended_ns, sent_ns, received_ns \
                   (or _us, _ms, _s)";
    refused(b"flow,sequence\n1,2\n", 0, no_time);
    refused(b"# x\nflow,sent_ns\n1,2\n", 0, "no message log: line 2 names no column `sequence`");
    refused(b"sequence,sent_ns,sent_us\n1,2,3\n", 0, "no message log: line 1 names a column twice");
    damaged(b"sequence,sent_ns\n1,2\nx,3\n", 1, 21, "line 3: `x` is no number");
    damaged(b"sequence,sent_ns\n1,-2\n", 0, 17, "line 2: `-2` is no number");
    damaged(b"sequence,sent_s\n1,1e9\n", 0, 16, "line 2: `1e9` is no number");
    damaged(b"sequence,sent_s\n1,1.\n", 0, 16, "line 2: `1.` is no number");
    damaged(b"sequence,sent_s\n1,99999999999\n", 0, 16, "line 2: `99999999999` is too large");
    damaged(b"sequence,sent_ns,received_ns\n1,2\n", 0, 29, "line 2: 2 of 3 fields");
    damaged(b"sequence,sent_ns\n1,2,3\n", 0, 17, "line 2: more than 2 fields");
    let long = format!("sequence,sent_ns\n1,2\n{}", "3".repeat(5000));
    damaged(long.as_bytes(), 1, 21, "line 3: longer than 4096 bytes");
    let empty = "\n".repeat(1_000_001);
    let idle = "line 1000001: over 1,000,000 empty lines and comments in a row";
    damaged(empty.as_bytes(), 0, 1_000_000, idle);
    damaged(b"sequence,sent_ns\n1,2\n\0\0\0\0", 1, 21, "line 3: `\0\0\0\0` is no number");
    // A statement that says nothing.
    let tai = "line 2: `clock=tai` is no clock: realtime and monotonic are";
    damaged(b"sequence,sent_ns\n# clock=tai\n1,2\n", 0, 17, tai);
    let ahead = "line 2: clock=monotonic needs realtime_ahead_ns=N, CLOCK_REALTIME minus CLOCK_MONOTONIC";
    damaged(b"sequence,sent_ns\n# clock=monotonic\n1,2\n", 0, 17, ahead);
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
