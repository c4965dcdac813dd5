//! The short view: the answer in a line, and a page of 40 lines.

use netfathom_model::path::Direction;
use netfathom_model::plan::{ClockChoice, InsertedDelay, Until, WatchTarget};
use netfathom_model::print::percent;
use netfathom_model::record::{
    Cause, Ended, Measurement, PathSummary, Precision, Series, Undisturbed, UndisturbedTimes, Value, Width,
};
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_results::page::{Page, Table};
use netfathom_results::render::html;
use netfathom_results::{draw, story};

use crate::contract::{first_line, flat};
use crate::fixtures::{ALL, fixture};

/// Fleets have a view of their own.
fn fixtures() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().filter(|name| !name.starts_with("fleet"))
}

#[test]
fn the_answer_is_one_line_and_the_rest_a_page() {
    for name in fixtures() {
        let page = story::of(&fixture(name));
        let text = draw::short(&page, 200, false);
        let first = text.lines().next().unwrap();
        assert!(first.chars().count() <= 100, "{name}: {first}");
        assert!(!first.contains('…'), "{name}: {first}");
        let text = draw::short(&page, 80, false);
        assert!(text.lines().count() <= draw::MOST_LINES, "{name}: {text}");
        assert!(!text.contains(" more line"), "{name}: {text}");
        let head = text.lines().take_while(|line| !line.is_empty());
        let remarks = head.filter(|line| line.starts_with("  - "));
        assert!(remarks.count() <= 3, "{name}: {text}");
    }
}

#[test]
fn lines_are_left_out_only_where_naming_them_takes_fewer() {
    let drawn = |lines: usize| {
        let mut page = Page::default();
        (0..lines).for_each(|_| page.text("line"));
        draw::short(&page, 80, false)
    };
    let whole = drawn(draw::MOST_LINES);
    assert!(whole.lines().count() == draw::MOST_LINES && !whole.contains(" more line"), "{whole}");
    let cut = drawn(draw::MOST_LINES + 1);
    assert!(cut.ends_with("3 more lines\n"), "{cut}");
}

/// As if a third of the messages were disturbed, and took no other time.
fn two_of_three(summary: &PathSummary) -> UndisturbedTimes {
    UndisturbedTimes {
        stages: summary.stages.clone(),
        judged: summary.total.n * 3 / 2,
        times: summary.total.clone(),
        peak: None,
        series: Series::default(),
        missed_slots: 0,
        lag_p99_of_interval: 0.0,
    }
}

/// A verdict of each way stands in the same line.
#[test]
fn the_answer_of_ways_with_different_verdicts_is_one_line() {
    for alone in [false, true] {
        let mut record = fixture("stack");
        let Measurement::Stack(result) = &mut record.measurement else { unreachable!() };
        for (summary, level) in result.summaries.iter_mut().zip([Level::Degraded, Level::Void]) {
            summary.level = level;
            let total = two_of_three(summary);
            summary.undisturbed =
                (alone && level < Level::Void).then_some(Undisturbed { overall: summary.overall, total });
        }
        let text = draw::short(&story::of(&record), 200, false);
        let first = text.lines().next().unwrap();
        assert!(first.chars().count() <= 100 && !first.contains('…'), "{first}");
        let [worse, better] = ["is VOID; ", " is DEGRADED"].map(|part| first.find(part));
        assert!(worse.is_some() && worse < better, "{first}");
        assert_eq!(first.contains(" (undisturbed) is DEGRADED"), alone, "{first}");
    }
}

#[test]
fn a_fitted_time_to_receive_has_what_the_time_to_send_lost_if_one_log_has_both() {
    let fitted = |has_both: bool| {
        let mut record = fixture("join");
        let Measurement::Join(result) = &mut record.measurement else { unreachable!() };
        result.plan.clock = ClockChoice::Fitted;
        result.logs[1].has_sent = has_both;
        draw::short(&story::of(&record), 200, false)
    };
    let (both, each) = (fitted(true), fitted(false));
    assert!(both.contains("(with the shortest time to send) to receive"), "{both}");
    assert!(both.contains("zero, except to receive, which has what that removed"), "{both}");
    assert!(each.contains("(above the shortest) to receive") && !each.contains("except"), "{each}");
}

#[test]
fn answers_that_are_faster_under_load_are_explained() {
    let text = |part: i64| {
        let mut record = fixture("load");
        let Measurement::Load(result) = &mut record.measurement else { unreachable!() };
        let summary = result.summary.as_mut().unwrap();
        let idle_ns = summary.echo_idle.as_ref().unwrap().response.p50_ns;
        summary.echo_loaded.as_mut().unwrap().response.p50_ns = idle_ns * part / 100;
        draw::short(&story::of(&record), 80, false)
    };
    assert!(text(25).contains("the loaded median is below the idle one"), "{}", text(25));
    assert!(!text(95).contains("the loaded median is below"), "{}", text(95));
}

#[test]
fn a_limit_beside_which_another_cause_took_more_has_no_share() {
    let answer = |share| {
        let mut record = fixture("ttcp");
        let Measurement::Transfer(result) = &mut record.measurement else { unreachable!() };
        result.explanation.as_mut().unwrap().others[0].1 = share;
        first_line(&record)
    };
    assert!(answer(0.07).ends_with("limited by delayed ACKs 88.0 % of the time"), "{}", answer(0.07));
    assert!(answer(0.9).ends_with("limited by delayed ACKs"), "{}", answer(0.9));
}

#[test]
fn a_transfer_without_a_fault_has_a_row_for_the_end_that_it_waited_for() {
    let mut record = fixture("ttcp");
    let Measurement::Transfer(result) = &mut record.measurement else { unreachable!() };
    let explanation = result.explanation.as_mut().unwrap();
    (explanation.cause, explanation.share) = (Cause::Nothing, 0.93);
    explanation.others = vec![(Cause::Path, 0.4)];
    let text = draw::short(&story::of(&record), 200, false);
    let row = text.lines().find(|line| line.trim_start().starts_with("other end"));
    assert!(row.is_some_and(|row| row.contains("93.0 %")), "{text}");
}

#[test]
fn the_stages_are_of_the_messages_that_the_answer_is_of() {
    let mut record = fixture("stack");
    let Measurement::Stack(result) = &mut record.measurement else { unreachable!() };
    let summary = &mut result.summaries[0];
    let mut total = two_of_three(summary);
    total.stages[0].share = Some(0.123);
    summary.undisturbed = Some(Undisturbed { overall: summary.overall, total });
    let texts =
        [draw::short(&story::of(&record), 200, false), draw::terminal(&story::of(&record), 200, false)];
    for (text, all) in texts.iter().zip([0, 1]) {
        assert_eq!(text.matches("Send (tx), undisturbed messages: ").count(), 1, "{text}");
        assert_eq!(text.matches("  12.3 %").count(), 1, "{text}");
        assert_eq!(text.matches("\n  all messages  3.02M ").count(), 1, "{text}");
        assert_eq!(text.matches("All messages, the disturbed ones too:").count(), all, "{text}");
    }
    assert!(texts[1].contains("socket, 12 % of the time to send"), "{}", texts[1]);
}

#[test]
fn an_answer_of_long_numbers_is_whole() {
    let first = |share: u64| {
        let mut record = fixture("stack");
        let Measurement::Stack(result) = &mut record.measurement else { unreachable!() };
        for summary in &mut result.summaries {
            (summary.overall.mean_ns, summary.overall.between_trials_ns) = (23_123.0, Some(4_912.0));
            let mut total = two_of_three(summary);
            total.judged = total.times.n * 100 / share;
            summary.undisturbed = Some(Undisturbed { overall: summary.overall, total });
        }
        first_line(&record)
    };
    let some = first(92);
    assert!(some.ends_with("Undisturbed (92 %): send 23.1 µs ± 4.9, receive 23.1 µs ± 4.9"), "{some}");
    assert!(first(99).contains(" to send and 23.1 µs ± 4.9 to receive"), "{}", first(99));
    let mut record = fixture("watch");
    let Measurement::Watch(result) = &mut record.measurement else { unreachable!() };
    result.processes.clear();
    result.reader = None;
    result.plan.target = WatchTarget::Container("container-".repeat(20));
    let page = story::of(&record);
    let answer = story::answer(&record.measurement, &record.verdict);
    assert!(answer.chars().count() > 200 && !answer.contains('…'), "{answer}");
    let wrapped = flat(&draw::short(&page, 80, false));
    let end = answer.rsplit(": ").next().unwrap();
    assert!(wrapped.contains(end), "{end}: {wrapped}");
}

#[test]
fn a_delay_that_was_inserted_comes_first() {
    let mut record = fixture("stack");
    let Measurement::Stack(result) = &mut record.measurement else { unreachable!() };
    result.plan.inserted_delay = Some(InsertedDelay { direction: Direction::Rx, delay_ns: 100_000 });
    let text = draw::short(&story::of(&record), 200, false);
    assert!(text.contains("each message takes 100 µs longer to receive (--insert-delay rx)"), "{text}");
    let whole = draw::terminal(&story::of(&record), 200, false);
    assert!(whole.contains(", the inserted delay included: after the link layer"), "{whole}");
}

#[test]
fn messages_that_were_faster_because_they_were_late_are_named() {
    let remark = |times: f64| {
        let mut record = fixture("stack");
        let Measurement::Stack(result) = &mut record.measurement else { unreachable!() };
        for summary in &mut result.summaries {
            let total = two_of_three(summary);
            let mut overall = summary.overall;
            overall.mean_ns *= times;
            summary.undisturbed = Some(Undisturbed { overall, total });
        }
        draw::terminal(&story::of(&record), 400, false).matches("the disturbed ones took less").count()
    };
    assert_eq!([0.9, 1.1].map(remark), [0, 1]);
}

#[test]
fn a_best_and_a_worst_that_chance_may_have_made_are_shown_as_such() {
    let mut record = fixture("sweep");
    assert!(!first_line(&record).contains("overlap"), "{}", first_line(&record));
    let Measurement::Sweep(result) = &mut record.measurement else { unreachable!() };
    for rate in result.points.iter_mut().filter_map(|point| point.rate.as_mut()) {
        rate.interval_bytes_per_s = Some((1e3, 1e9));
    }
    assert!(first_line(&record).ends_with("; trials overlap"), "{}", first_line(&record));
}

#[test]
fn every_block_of_the_short_view_is_in_the_whole() {
    for name in fixtures() {
        let page = story::of(&fixture(name));
        let [short, whole] = [draw::short(&page, 4_000, false), draw::terminal(&page, 4_000, false)];
        // A table that was cut has other widths.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let whole: std::collections::HashSet<String> = words(&whole).into_iter().collect();
        let cut =
            short.lines().filter(|line| !line.contains("more rows were left out") && !line.contains(" more"));
        let missing: Vec<String> = cut.flat_map(words).filter(|word| !whole.contains(word)).collect();
        assert_eq!(missing, Vec::<String>::new(), "{name}");
        assert!(short.len() < draw::terminal(&page, 4_000, false).len(), "{name}");
    }
}

#[test]
fn what_does_not_fit_is_left_out_whole_and_with_its_heading() {
    let paragraph = (0..40).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    for notes in 1..20 {
        let mut page = Page::default();
        page.note("the answer");
        for _ in 0..notes {
            page.main("heading");
            page.note(&paragraph);
        }
        let text = draw::short(&page, 80, false);
        let count = |what: &str| text.matches(what).count();
        assert_eq!((count("word0 "), count("word0 ")), (count("word39"), count("heading")), "{text}");
        assert_eq!(count(" more lines\n") == 1, count("word39") < notes, "{text}");
    }
}

#[test]
fn a_table_has_its_first_rows_or_is_left_out_and_its_note_makes_room() {
    let note = (0..40).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let drawn = |before: usize| {
        let (mut page, mut table) = (Page::default(), Table::of("<name|n"));
        (0..before).for_each(|_| page.text("line"));
        page.main("heading");
        ["a", "b", "c", "d", "e", "f"].iter().for_each(|name| table.row([*name, "1"]));
        page.table(table);
        page.note(&note);
        let text = draw::short(&page, 80, false);
        let rows = text.lines().filter(|line| line.ends_with("  1")).count();
        assert_eq!(text.contains("heading"), rows > 0, "{text}");
        (rows, text.contains("word39"), text.lines().next_back().unwrap().contains(" more line"))
    };
    let before_rows = draw::MOST_LINES - 13;
    let drawn: Vec<_> = [0, 1, 3, 4, 5].iter().map(|more| drawn(before_rows + more)).collect();
    let rows = [(6, true, false), (6, false, true), (5, false, true), (4, false, true), (0, false, true)];
    assert_eq!(drawn, rows);
}

#[test]
fn what_an_option_asked_for_takes_no_room_from_notes() {
    let (mut page, rows) = (Page::default(), [5, draw::MOST_LINES]);
    for rows in rows {
        let mut table = Table::of("<name|n");
        (0..rows).for_each(|_| table.row(["a", "1"]));
        page.main("heading");
        page.table(table);
        page.note("a note");
    }
    page.whole();
    let text = draw::short(&page, 80, false);
    assert_eq!(text.matches("a note").count(), 2, "{text}");
    assert_eq!(
        text.lines().filter(|line| line.ends_with("  1")).count(),
        rows.iter().sum::<usize>(),
        "{text}"
    );
}

#[test]
fn a_row_with_a_long_text_is_left_out_whole() {
    let paragraph = (0..40).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let has_words = |notes: usize| {
        let (mut page, mut table) = (Page::default(), Table::of("<name|n"));
        (0..notes).for_each(|_| page.note("a"));
        table.row(["a", "1"]);
        table.row_across("b", &paragraph);
        page.table(table);
        let text = draw::short(&page, 80, false);
        ["word0 ", "word39"].map(|word| text.contains(word))
    };
    let all: Vec<[bool; 2]> = (20..40).map(has_words).collect();
    assert!(all.iter().all(|[first, last]| first == last), "{all:?}");
    assert!(all.contains(&[true; 2]) && all.contains(&[false; 2]), "{all:?}");
}

#[test]
fn a_void_answer_has_no_value() {
    let first = |half: f64, level| {
        let mut record = fixture("load");
        let Measurement::Load(result) = &mut record.measurement else { panic!("a load") };
        let summary = result.summary.as_mut().expect("a summary");
        summary.between_trials_per_s = Some(half * summary.reached_per_s);
        record.verdict = Verdict::default();
        record.verdict.lower(level, "late");
        draw::short(&story::of(&record), 200, false).lines().take(2).collect::<Vec<_>>().join("\n")
    };
    for none in [first(1.5, Level::Void), first(0.5, Level::Void)] {
        assert!(none.starts_with("VOID  no usable answer; the values below are not to be used\n"), "{none}");
        assert!(none.contains("- late"), "{none}");
    }
    let text = first(1.5, Level::Degraded);
    assert!(!text.contains("no usable answer") && text.contains("- late"), "{text}");
}

/// With every rate as long as it gets, from two searches or more.
#[test]
fn the_answer_of_a_capacity_is_never_cut() {
    let mut record = fixture("capacity");
    let Measurement::Capacity(result) = &mut record.measurement else { panic!("a capacity") };
    result.rows.retain(|row| row.engine == netfathom_model::engine::Engine::Sendmmsg);
    result.rows.truncate(1);
    let row = &mut result.rows[0];
    row.workers = 16;
    let wide = |of: &mut Option<netfathom_model::record::Bounded>| {
        let of = of.as_mut().expect("a rate");
        (of.mean_per_s, of.half_width_per_s) = (1_114_000.0, Some(32_100.0));
    };
    wide(&mut row.sustained_per_s);
    wide(&mut row.blocking_per_s);
    let mut first = |searches: usize| {
        let Measurement::Capacity(result) = &mut record.measurement else { unreachable!() };
        let row = &mut result.rows[0];
        row.searches.truncate(searches);
        row.searches
            .iter_mut()
            .zip([102_000.0, 225_000.0])
            .for_each(|(s, rate)| s.sustained_per_s = Some(rate));
        first_line(&record)
    };
    for searches in [3, 2] {
        let first = first(searches);
        assert!(first.chars().count() <= 100 && !first.contains('…'), "{first}");
        assert_eq!(first.contains("102k to 225k messages/s"), searches == 2, "{first}");
    }
}

#[test]
fn a_rate_with_too_wide_an_interval_is_inconclusive() {
    let mut record = fixture("capacity");
    assert!(!first_line(&record).contains("inconclusive"));
    let Measurement::Capacity(result) = &mut record.measurement else { panic!("a capacity") };
    for rate in result.rows.iter_mut().filter_map(|row| row.sustained_per_s.as_mut()) {
        rate.half_width_per_s = Some(1.2 * rate.mean_per_s);
    }
    let first = first_line(&record);
    assert!(first.contains("  inconclusive: 2 threads sustain "), "{first}");
}

#[test]
fn more_workers_that_sustain_less_are_named() {
    let mut record = fixture("capacity");
    let Measurement::Capacity(result) = &mut record.measurement else { panic!("a capacity") };
    result.rows.retain(|row| row.engine == netfathom_model::engine::Engine::Sendmmsg);
    result.rows.truncate(1);
    let mut more = result.rows[0].clone();
    more.workers = 16;
    more.sustained_per_s.as_mut().expect("a rate").mean_per_s /= 2.0;
    result.rows.push(more);
    let text = draw::terminal(&story::of(&record), 300, false);
    assert!(text.contains("- sendmmsg ×16 sustains less, "), "{text}");
    let Measurement::Capacity(result) = &mut record.measurement else { unreachable!() };
    result.rows[1].sustained_per_s = result.rows[0].sustained_per_s;
    let text = draw::terminal(&story::of(&record), 300, false);
    assert!(!text.contains("×16 sustains less"), "{text}");
}

/// Looked at by whoever changes a story.
#[test]
fn short_views_are_as_they_were() {
    for name in fixtures() {
        insta::assert_snapshot!(format!("short_{name}"), draw::short(&story::of(&fixture(name)), 80, false));
    }
}

/// Why a run without a number of trials ended stands in the short view.
#[test]
fn a_run_that_ends_by_itself_says_why() {
    let mut record = fixture("stack");
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    let width = |of, half: f64| Width { direction: Some(Direction::Rx), of, half: Some(half) };
    stack.plan.until = Some(Until { precision: 0.05, time_limit_ns: 30_000_000_000 });
    let mut reply = |halves: [f64; 2], ended| {
        let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
        let widths = vec![width(Value::Mean, halves[0]), width(Value::P99, halves[1])];
        stack.precision = Some(Precision { after_ns: 28_300_000_000, widths, ended: Some(ended) });
        let text = draw::terminal(&story::of(&record), 300, false);
        text.lines().find(|line| line.contains("ended ")).unwrap().to_owned()
    };
    insta::assert_snapshot!(
        [
            reply([0.031, 0.046], Ended::Narrow),
            reply([0.031, 0.21], Ended::TimeLimit),
            reply([0.031, 0.046], Ended::TimeLimit),
        ]
        .join("\n")
    );
}

/// A figure that is known less well than asked is named where it stands.
#[test]
fn a_wide_p99_is_named_below_its_table() {
    let mut record = fixture("stack");
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    let width = |of, half| Width { direction: Some(Direction::Rx), of, half: Some(half) };
    stack.plan.until = Some(Until { precision: 0.05, time_limit_ns: 30_000_000_000 });
    let widths = vec![width(Value::Mean, 0.07), width(Value::P99, 0.6)];
    stack.precision = Some(Precision { after_ns: 1, widths, ended: None });
    let page = story::of(&record);
    let doubt = format!("rx p99 ± {} is DEGRADED (target ± {})", percent(0.6), percent(0.05));
    let media = [draw::short(&page, 80, false), draw::markdown(&page), html::render(&record).unwrap()];
    assert!(media.iter().all(|shown| shown.contains(&doubt) && !shown.contains("rx mean ±")), "{media:?}");
}

#[test]
fn a_reason_that_is_no_part_of_the_answer_stands_behind_the_remarks() {
    let bullets = |level: Level| {
        let mut record = fixture("watch");
        let mut verdict = Verdict::default();
        verdict.lower_only(&[Part::Load], Level::Void, "late");
        if level == Level::Degraded {
            verdict.lower_only(&[Part::Rx], level, "late");
        }
        record.verdict = verdict.answered_by(&[Part::Rx]);
        assert_eq!(record.verdict.level, level);
        let text = draw::terminal(&story::of(&record), 200, false);
        let places = ["- rx: late", "- load VOID, not part of the answer: late", "- 77.0 %"];
        places.map(|bullet| text.find(bullet))
    };
    let [deciding, other, remark] = bullets(Level::Valid);
    assert!(deciding.is_none() && remark < other && remark.is_some(), "{deciding:?} {other:?} {remark:?}");
    let [deciding, other, remark] = bullets(Level::Degraded);
    assert!(deciding.is_some() && deciding < remark && remark < other, "{deciding:?} {other:?} {remark:?}");
}

#[test]
fn a_late_load_is_answered_by_what_holds_of_it() {
    let first = |about: &[Part]| {
        let mut record = fixture("load");
        record.verdict.lower_only(about, Level::Void, "late");
        first_line(&record)
    };
    let others = "late by 149 ns (p99); the other values below are not to be used";
    let late = first(&[Part::Load]);
    assert!(late.ends_with(others) && late.contains("% lost, ") && late.chars().count() <= 100, "{late}");
    let lost = first(&[Part::Load, Part::Loss]);
    assert!(lost.ends_with(others) && !lost.contains("lost"), "{lost}");
    let none = first(&[]);
    assert!(none.ends_with("no usable answer; the values below are not to be used"), "{none}");
}

#[test]
fn a_late_load_comes_before_what_its_bursts_may_have_lost() {
    let mut record = fixture("load");
    record.verdict.lower_only(&[Part::Load], Level::Degraded, "late");
    record.verdict.lower_only(&[Part::Loss], Level::Degraded, "in bursts");
    let text = draw::short(&story::of(&record), 200, false);
    let at = |reason: &str| text.find(reason).unwrap_or(usize::MAX);
    assert!(at("load: late") < at("loss: in bursts"), "{text}");
}
