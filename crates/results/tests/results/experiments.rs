//! Joins of files, experiments beside their originals, and taps beside each other, on a
//! terminal: what is missing, what is hostile, and what is too wide.

use crate::contract::{flat, sane};
use crate::fixtures::fixture;
use crate::pictures::{bars, charts};
use netfathom_model::plan::ClockChoice;
use netfathom_model::record::{
    BesideRow, Cell, Estimate, JoinResult, Measurement, Record, ReproduceResult, ReproducedRun, StackResult,
};
use netfathom_results::story;

const HOSTILE: &str =
    "\x1b[2Ja/very/long/name/of/a/capture/that/no/table/has/room/for/\r\nand/an/escape.pcap";

fn join(change: impl FnOnce(&mut JoinResult)) -> Record {
    let mut record = fixture("join");
    let Measurement::Join(join) = &mut record.measurement else { panic!("another measurement") };
    change(join);
    record
}

fn reproduce(change: impl FnOnce(&mut ReproduceResult)) -> Record {
    let mut record = fixture("reproduce");
    let Measurement::Reproduce(reproduce) = &mut record.measurement else { panic!("another measurement") };
    change(reproduce);
    record
}

fn taps(change: impl FnOnce(&mut StackResult)) -> Record {
    let mut record = fixture("taps");
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    change(stack);
    record
}

#[test]
fn hostile_names_of_files_are_wrapped_and_steer_nothing() {
    let text = sane(&join(|j| {
        j.captures[1].name = HOSTILE.into();
        j.captures[1].links = vec![HOSTILE.into()];
        j.logs[0].name = HOSTILE.into();
        j.spans[1].to = HOSTILE.into();
        j.clocks[0].how = HOSTILE.repeat(3);
    }));
    assert!(text.contains("very/long/name"), "{text}");
}

#[test]
fn a_join_of_nothing_says_so() {
    let text = sane(&join(|j| {
        j.spans.clear();
        j.captures.clear();
        j.clocks[0].log = 9;
    }));
    assert!(text.contains("there is no answer yet"), "{text}");
    assert!(text.contains("n/a: no message was seen at two places"), "{text}");
    assert!(text.contains("n/a: none was read"), "{text}");
}

#[test]
fn the_answer_of_a_join_is_one_sentence() {
    let text = sane(&join(|j| {
        for (i, n) in [(0, 99_000), (2, 99_000)] {
            j.spans[i].times.n = n;
        }
        j.logs.iter_mut().for_each(|l| l.messages = 99_004);
    }));
    let answer = flat(&text);
    let wanted = "4.27 µs to send and 12.5 µs to receive - the capture";
    assert!(answer.contains(wanted), "{answer}");
}

#[test]
fn fitted_clocks_tell_only_what_lies_above_the_shortest() {
    let answer = flat(&sane(&join(|j| j.plan.clock = ClockChoice::Fitted)));
    let wanted = "4.27 µs (above the shortest) to send and 12.5 µs (above the shortest) to receive";
    assert!(answer.contains(wanted), "{answer}");
}

#[test]
fn packets_that_do_not_add_up_are_not_called_so() {
    let text = sane(&join(|j| j.captures[0].packets += 1));
    assert!(text.contains("100,015 ≠ joined 100,000"), "{text}");
}

#[test]
fn a_table_of_many_columns_is_drawn_in_parts() {
    let text = sane(&reproduce(|r| {
        let table = &mut r.tables[0];
        for i in 0..9 {
            table.columns.push(format!("column {i}, microseconds"));
        }
        for row in &mut table.rows {
            row.cells
                .extend((0..9).map(|i| {
                    Some(Cell { value: 1e6 + f64::from(i), half_width: Some(12.0), printed: None })
                }));
        }
    }));
    assert!(text.contains("1,000,008 ± 12"), "{text}");
    assert!(text.matches("Borodin, platform 3").count() > 1, "{text}");
}

#[test]
fn hostile_and_ragged_rows_keep_to_the_page() {
    let text = sane(&reproduce(|r| {
        r.title = HOSTILE.into();
        r.claims[0].says = HOSTILE.into();
        r.claims[1].here = HOSTILE.repeat(2);
        let table = &mut r.tables[0];
        table.columns[1] = HOSTILE.into();
        let cell = Some(Cell { value: 0.0, half_width: None, printed: Some(HOSTILE.into()) });
        table.rows.push(BesideRow { who: HOSTILE.into(), here: false, cells: vec![cell] });
        r.runs[0].name = HOSTILE.into();
    }));
    assert!(text.contains("very/long/name"), "{text}");
}

#[test]
fn an_experiment_without_anything_says_so() {
    let text = sane(&reproduce(|r| {
        r.claims.clear();
        r.tables.truncate(1);
        r.tables[0].rows.clear();
        r.runs.clear();
    }));
    assert!(text.contains("there is no answer yet") && text.contains("n/a: it has no rows"), "{text}");
    assert!(text.contains("n/a: none is finished"), "{text}");
}

#[test]
fn an_experiment_within_itself_is_a_line() {
    let text = sane(&reproduce(|r| {
        let itself = Measurement::Reproduce(Box::new(r.clone()));
        r.runs.push(ReproducedRun { name: "itself".into(), measurement: itself });
    }));
    assert!(text.contains("itself: netfathom reproduce: borodin-tx: 1 of 1 claim of the source"), "{text}");
}

#[test]
fn our_rows_are_the_last_to_be_folded() {
    let text = sane(&reproduce(|_| {}));
    assert_eq!(text.lines().filter(|l| l.trim_start().starts_with("here, trial")).count(), 12);
    assert!(text.contains("… and 2 more rows in the record"), "{text}");
}

#[test]
fn a_tap_without_costs_or_a_way_has_none() {
    let text = sane(&taps(|s| {
        for tap in &mut s.taps {
            (tap.cost, tap.rx_ns, tap.rx_bias_ns) = (None, None, None);
        }
    }));
    assert!(!text.contains("! over 10 %"), "{text}");
    assert!(!text.lines().any(|l| l.trim_start().starts_with("mean rx")), "{text}");
}

#[test]
fn a_distortion_stands_before_the_table() {
    let with = |half_width| {
        let text = sane(&taps(|s| {
            let cost = s.self_cost.as_mut().unwrap();
            cost.send_call_share = Some(Estimate { value: 0.3, half_width });
        }));
        flat(&text)
    };
    let remark = "to a send call: times and verdict are of the slower program, not of one without the tap";
    assert!(with(0.1).contains(&format!("the bpf tap adds +30 % ± 10 {remark}")), "{}", with(0.1));
    assert!(!with(0.4).contains(remark), "{}", with(0.4));
}

#[test]
fn a_distortion_needs_an_interval_without_zero() {
    let text = sane(&taps(|s| {
        for cost in s.taps.iter_mut().filter_map(|t| t.cost.as_mut()) {
            for share in [&mut cost.send_call_share, &mut cost.rate_lost].into_iter().flatten() {
                share.half_width = share.value.abs() + 0.01;
            }
        }
    }));
    assert!(!text.contains("! over 10 %"), "{text}");
}

#[test]
fn one_tap_alone_is_beside_nothing() {
    let text = sane(&taps(|s| s.taps.clear()));
    assert!(!text.contains("beside each other"), "{text}");
}

#[test]
fn figures_have_the_points_of_the_record() {
    let record = fixture("reproduce");
    let Measurement::Reproduce(reproduce) = &record.measurement else { panic!("another measurement") };
    let page = story::of(&record);
    let (lines, columns) = (&reproduce.figures[0], &reproduce.figures[1]);
    let (_, chart) = charts(&page).into_iter().find(|(id, _)| id == "figure-0").expect("the lines");
    for (series, drawn) in lines.series.iter().zip(&chart.series) {
        let drawn: Vec<(f64, f64)> =
            chart.xs.iter().zip(&drawn.values).filter_map(|(x, y)| Some((*x, (*y)?))).collect();
        assert_eq!(drawn, series.points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), "{}", series.name);
    }
    let drawn: Vec<Option<f64>> =
        bars(&page)[0].groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).collect();
    let wanted =
        (0..2).flat_map(|place| columns.series.iter().map(move |series| Some(series.points[place].y)));
    assert_eq!(drawn, wanted.collect::<Vec<_>>());
}
