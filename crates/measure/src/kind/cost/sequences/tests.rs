use std::fs;

use netfathom_model::record::{Effect, Outcome};

use super::*;

const TCPDUMP: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../papers/src/reference/qian_tcpdump_sequences.csv");
const MAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../papers/src/reference/qian_make_sequences.csv");

fn of(text: &str) -> Result<CostResult, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.csv");
    fs::write(&path, text).unwrap();
    read(&[&path]).map_err(|e| e.to_string())
}

/// By hand from the paper's table, with spans: the sum of (d' - d) / (d' + d) over the six.
#[test]
fn the_papers_table_gives_its_results() {
    let result = read(&[Path::new(TCPDUMP)]).unwrap();
    let of_tcpdump = &result.benchmarks[0];
    assert_eq!(of_tcpdump.marks, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    let heaviest = of_tcpdump.comparisons.last().unwrap();
    let spans = [(4.0, 3.0), (16.0, 13.0), (47.0, 40.0), (6.0, 5.0), (12.0, 9.0), (98.0, 85.0)];
    let pcost: f64 = spans.iter().map(|(with, d)| (with - d) / (with + d)).sum();
    assert!((heaviest.pcost.value - pcost).abs() < 1e-12 && (pcost - 0.63157).abs() < 1e-5, "{pcost}");
    assert!((heaviest.ratio.value - 183.0 / 155.0).abs() < 1e-12);
    // With one run of each, significance is unknown.
    assert!(
        of_tcpdump
            .comparisons
            .iter()
            .all(|c| c.effect == Effect::Program && c.outcome == Outcome::CannotTell)
    );
    let levels: Vec<f64> =
        result.conditions[1..].iter().filter_map(|c| c.level.as_ref()?.bits_per_s).collect();
    assert_eq!(levels, [800e3, 8e6, 24e6, 40e6, 80e6]);
}

#[test]
fn the_papers_curves_rise() {
    for table in [TCPDUMP, MAKE] {
        let result = read(&[Path::new(table)]).unwrap();
        let comparisons = &result.benchmarks[0].comparisons;
        assert!(comparisons.last().unwrap().pcost.value > 4.0 * comparisons[0].pcost.value, "{table}");
    }
}

#[test]
fn several_tables_of_the_same_conditions_are_put_together() {
    let result = read(&[Path::new(TCPDUMP), Path::new(TCPDUMP)]).unwrap();
    assert_eq!(result.overall.len(), 5);
    assert_eq!(result.overall[4].pcost.value, result.benchmarks[0].comparisons[4].pcost.value);
    let other = read(&[Path::new(TCPDUMP), Path::new(MAKE)]).unwrap_err().to_string();
    assert!(other.contains("its conditions are not those of the first table"), "{other}");
}

#[test]
fn units_are_in_names() {
    let of_unit = |unit: &str| {
        let text = format!("c,a_{unit},b_{unit}\nbase,0,10\nwith,0,20\n");
        of(&text).unwrap().benchmarks[0].trials[0].total_ns
    };
    assert_eq!([of_unit("s"), of_unit("ms"), of_unit("us"), of_unit("ns")], [10e9, 10e6, 10e3, 10.0]);
}

#[test]
fn what_is_no_base_sequence_is_refused_with_its_line() {
    let refused = |text: &str, why: &str| {
        let error = of(text).unwrap_err();
        assert!(error.contains(why) && error.contains("table.csv") && error.contains("expected"), "{error}");
    };
    refused("", "it is empty");
    refused("c,t0\nbase,1\n", "line 1: fewer than two marks");
    refused("c,t0,t1\nbase,0,1\n", "no condition beside the baseline");
    refused("c,t0,t1\nbase,0,1\nx,0\n", "line 3: 2 fields, where the first line has 3");
    refused("c,t0,t1\n\n# half\nbase,0,1\nx,0\n", "line 5: 2 fields, where the first line has 3");
    refused("c,t0,t1\nbase,0,1\nx,0,NaN\n", "line 3: \"NaN\" is no time");
    refused("c,t0,t1\nbase,0,1\nx,5,4\n", "line 3: t1 is before t0");
    refused("c,t0,t1\nbase,0,1\nbase,0,1\n", "line 3: base is there twice");
    refused("c,t0,t1\nbase,1,1\nx,0,1\n", "line 2: it takes no time at all");
    refused("c,t0,t1\nbase,0,1e308\nx,0,1\n", "line 2: from 0 to");
    refused("c,t0,t1\nbase,0,1\nx,0,1e-320\n", "line 3: from 0 to");
    refused("c,t0_s,t1_ms\nbase,0,1\nx,0,1\n", "line 1: marks in different units");
    assert!(
        read(&[Path::new("/no/such/table")]).unwrap_err().to_string().contains("cannot read /no/such/table")
    );
}
