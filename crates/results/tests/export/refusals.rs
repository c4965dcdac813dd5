//! What cannot be exported, and the errors.

use std::fs;
use std::io::{self, Write};

use netfathom_model::record::{Export, Measurement, TransferEnd};
use netfathom_results::export::{self, ExportError, Format, StoredRun, What};
use netfathom_results::page::steers;

use crate::fixtures::ALL;
use crate::runs::{run, sampled, transfer, written};

fn refused(run: &StoredRun, format: Format, what: What) -> String {
    let mut out = Vec::new();
    let error = export::write(&mut out, run, format, what).expect_err("a refusal");
    assert!(out.is_empty(), "something was written");
    error.to_string()
}

#[test]
fn a_measurement_with_nothing_for_a_format_is_refused_with_those_that_have() {
    let of = |name: &str, format| refused(&run(name), format, What::Trials);
    let reply = of("stack", Format::Iperf3);
    assert_eq!(reply, "a run of netfathom stack has nothing for iperf3: that comes from netfathom ttcp");
    assert!(of("sweep", Format::Netperf).contains("netfathom ttcp sweep has nothing for netperf"));
    assert!(of("cost", Format::Hdr).contains("netfathom stack, load send, join, reproduce, message"));
    for format in [Format::Perfetto, Format::Pcapng] {
        assert!(of("load", format).contains("that comes from netfathom stack with --samples"));
    }
    let reply = refused(&run("sweep"), Format::Csv, What::Series);
    assert!(reply.contains("has nothing for series: that comes from netfathom stack"), "{reply}");
}

/// The catalogue names what has histograms and series; the figures of each measurement are what has them.
#[test]
fn the_catalogue_knows_what_can_be_exported() {
    for name in ALL.into_iter().filter(|name| !name.contains('-')) {
        let run = run(name);
        for (export, what) in [(Export::Histograms, What::Histograms), (Export::Series, What::Series)] {
            let has = export::write(&mut Vec::new(), &run, Format::Csv, what).is_ok();
            let listed = run.record.measurement.entry().exports.iter().any(|(listed, _)| *listed == export);
            assert_eq!(has, listed, "{name}: {export:?}");
        }
    }
}

#[test]
fn a_run_without_samples_is_refused_with_how_to_get_them() {
    let (dir, sampled) = sampled();
    fs::remove_file(sampled.samples.as_ref().unwrap()).unwrap();
    let reply = refused(&sampled, Format::Perfetto, What::Trials);
    assert!(reply.contains("samples.parquet") && reply.contains("--samples N"), "{reply}");
    fs::write(dir.path().join("samples.parquet"), "not at all").unwrap();
    let reply = refused(&sampled, Format::Csv, What::Samples);
    assert!(reply.contains("samples.parquet") && reply.contains("no Parquet"), "{reply}");
    let reply = refused(&run("stack"), Format::Pcapng, What::Trials);
    assert!(reply.contains("name the run's directory"), "{reply}");
}

#[test]
fn a_run_without_trials_says_so() {
    let mut run = run("stack");
    let Measurement::Stack(stack) = &mut run.record.measurement else { panic!() };
    stack.trials.clear();
    assert!(refused(&run, Format::Csv, What::Trials).contains("not one trial"));
    // Its trials do not need the samples.
    let (bytes, _) = written(&run, Format::Openmetrics, What::Trials).unwrap();
    assert!(String::from_utf8(bytes).unwrap().ends_with("# EOF\n"));
}

#[test]
fn no_text_of_a_forged_record_steers_a_terminal() {
    let mut run = run("stack");
    let forged = "\u{1b}[31m\r\n\u{202e}x";
    let record = &mut run.record;
    for text in [&mut record.id, &mut record.tool, &mut record.started_utc] {
        *text = forged.into();
    }
    for format in [Format::Openmetrics, Format::Hdr] {
        let (bytes, _) = written(&run, format, What::Trials).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("[31m"), "{text}");
        assert!(!text.contains(|c: char| c != '\n' && steers(c)), "{text:?}");
        assert!(!text.contains("\n x"), "{text:?}");
    }
}

#[test]
fn a_transfer_that_broke_off_is_none_of_netperf() {
    let mut run = run("ttcp");
    transfer(&mut run).end = TransferEnd::Broken { why: "reset".into() };
    assert!(refused(&run, Format::Netperf, What::Trials).contains("broke off"));
}

/// Takes a number of bytes and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_format_reports_a_full_disk_as_one() {
    let (_dir, sampled) = sampled();
    let formats =
        [Format::Csv, Format::Parquet, Format::Openmetrics, Format::Hdr, Format::Perfetto, Format::Pcapng];
    let tries = formats.map(|format| (format, &sampled));
    let ttcp = run("ttcp");
    for (format, run) in tries.into_iter().chain([(Format::Iperf3, &ttcp), (Format::Netperf, &ttcp)]) {
        let error = export::write(&mut Full(100), run, format, What::Trials).expect_err("a refusal");
        let full = matches!(&error, ExportError::Io(why) if why.kind() == io::ErrorKind::StorageFull);
        assert!(full, "{}: {error:?}", format.name());
    }
}
