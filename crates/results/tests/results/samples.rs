//! The raw stream, read back by others.

use std::fs::File;
use std::process::Command;

use netfathom_model::sample::Sample;
use netfathom_results::store::samples;
use netfathom_sys::directory::Directory;
use netfathom_testkit::skip;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// More than one row group.
const ROWS: u64 = 100_003;

fn sample(i: u64) -> Sample {
    Sample {
        trial: (i % 3) as u32,
        sequence: i,
        intended_ns: 1_000_000 + i * 5_000,
        sent_ns: 1_000_040 + i * 5_000,
        net_dev_queue_ns: Some(1_001_000 + i * 5_000),
        received_ns: (!i.is_multiple_of(10)).then_some(1_007_000 + i * 5_000),
        tx_disturbed: (!i.is_multiple_of(10)).then_some(i % 2),
        rx_disturbed: (!i.is_multiple_of(10)).then_some(i % 3 % 2),
        ..Sample::default()
    }
}

fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let rows: Vec<Sample> = (0..ROWS).map(sample).collect();
    samples::write(&Directory::open(dir.path()).unwrap(), &rows).expect("written");
    dir
}

#[test]
fn the_rows_come_back_as_they_were() {
    let dir = written();
    let file = File::open(dir.path().join("samples.parquet")).expect("the file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let mut n = 0;
    for (i, row) in reader.get_row_iter(None).expect("rows").enumerate() {
        let row = row.expect("a row");
        let Ok(serde_json::Value::Object(expected)) = serde_json::to_value(sample(i as u64)) else {
            panic!("a sample is an object")
        };
        for ((name, field), (key, value)) in row.get_column_iter().zip(fields(&expected)) {
            assert_eq!(name, key, "columns are the fields of a sample, in their order");
            let field = if let Field::Long(v) = field { Some(*v as u64) } else { None };
            assert_eq!(field, value.as_u64(), "row {i}, {name}");
        }
        assert_eq!(row.len(), expected.len());
        n += 1;
    }
    assert_eq!(n, ROWS);
}

/// The fields in the order of the struct, which a JSON map may not keep.
fn fields(map: &serde_json::Map<String, serde_json::Value>) -> Vec<(&String, &serde_json::Value)> {
    let text = serde_json::to_string(&Sample::default()).expect("JSON");
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(key, _)| text.find(&format!("\"{key}\"")));
    fields
}

#[test]
fn no_rows_are_a_file_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    samples::write(&Directory::open(dir.path()).unwrap(), &[]).expect("written");
    let file = File::open(dir.path().join("samples.parquet")).expect("the file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn a_directory_that_is_gone_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let (gone, path) = (Directory::open(dir.path()).expect("opened"), dir.path().join("samples.parquet"));
    dir.close().expect("removed");
    let text = samples::write(&gone, &[]).expect_err("no directory").to_string();
    assert!(text.contains(&format!("cannot write {}", path.display())), "{text}");
}

#[test]
fn another_implementation_reads_it() {
    let dir = written();
    let program = "import sys\n\
        try:\n    import pyarrow.parquet as pq\n\
        except ImportError:\n    sys.exit(77)\n\
        t = pq.read_table(sys.argv[1])\n\
        print(t.num_rows, t['sequence'][100002], t['received_ns'].null_count, t['qdisc_enqueue_ns'].null_count)";
    let run = Command::new("python3").args(["-c", program]).arg(dir.path().join("samples.parquet")).output();
    match run {
        Ok(out) if out.status.success() => {
            let expected = format!("{ROWS} {} {} {ROWS}\n", ROWS - 1, ROWS.div_ceil(10));
            assert_eq!(String::from_utf8_lossy(&out.stdout), expected);
        }
        Ok(out) if out.status.code() == Some(77) => skip!("python3 has no pyarrow"),
        Ok(out) => panic!("pyarrow refuses: {}", String::from_utf8_lossy(&out.stderr)),
        Err(e) => skip!("no python3: {e}"),
    }
}

#[test]
fn a_file_with_a_byte_changed_is_read_or_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    samples::write(&Directory::open(dir.path()).unwrap(), &(0..300).map(sample).collect::<Vec<_>>())
        .expect("written");
    let path = dir.path().join("samples.parquet");
    let whole = std::fs::read(&path).expect("the file");
    let mut refused = 0;
    for (place, byte) in whole.iter().enumerate().step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] = byte ^ 0x5a;
        std::fs::write(&path, damaged).expect("written");
        refused += usize::from(samples::read(&path).is_err());
    }
    assert!(refused > 0 && refused < whole.len() / 7, "{refused} of {}", whole.len());
}
