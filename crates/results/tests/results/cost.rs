//! Costs on a terminal: each kind of answer, what is missing, and what is hostile.

use netfathom_model::plan::{Benchmark, BenchmarkKind, CostLevel, MarkSource, Subject};
use netfathom_model::record::{
    CostBenchmark, CostResult, CostWaits, CpuWaits, Effect, Estimate, Held, Holder, Measurement, Outcome,
    OwnCall, ProgramUse, Record, Resource, State, Taken,
};
use netfathom_results::story;

use crate::contract::{self, render, sane};
use crate::curves::{curve, same};
use crate::fixtures::fixture;
use crate::pictures::bars;

const ALL: [&str; 5] = ["cost", "cost-chance", "cost-offline", "cost-own", "cost-observers"];

fn with(name: &str, change: impl FnOnce(&mut CostResult)) -> Record {
    let mut record = fixture(name);
    let Measurement::Cost(cost) = &mut record.measurement else { panic!("another measurement") };
    change(cost);
    record
}

/// As one line, so that it may be looked into wherever it was wrapped.
fn flat(record: &Record) -> String {
    contract::flat(&sane(record))
}

/// The rows of a table, by the words with which its heading begins.
fn under(text: &str, heading: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn eighty_columns_of_each() {
    for name in ALL {
        insta::assert_snapshot!(format!("eighty_columns_of_{name}"), render(&fixture(name), 80, false));
    }
}

#[test]
fn the_slowdown_with_its_interval_comes_first() {
    let message = |record: &Record| flat(record);
    let text = message(&fixture("cost"));
    assert!(text.contains("VALID tcpdump -eX -s0 slows tar by 15.7 % (15.3 to 16.0 %) at 80.0 Mb/s - tcpdump -eX -s0 slows the benchmark by"), "{text}");
    let text = message(&fixture("cost-chance"));
    assert!(
        text.contains(
            "A/A: no significant difference for tar: 0.12 % (-0.23 to 0.47 %) - minimum detectable slowdown: 0.449 % (80 % power)"
        ),
        "{text}"
    );
    let one_part = with("cost-chance", |c| {
        let whole = &mut c.benchmarks[0].comparisons[0];
        let part = &mut whole.spans[1];
        (part.outcome, part.ratio.as_mut().unwrap().value) = (Outcome::Cost, 1.25);
    });
    let text = message(&one_part);
    let answer = "VALID nothing (A/A) slows the span plant-1 → plant-2 of tar: 25.0 % (24.0 to 26.0 %) - slowed most: \
                  plant-1 → plant-2; the interval is corrected for 7 spans; tar as a whole: 0.12 % (-0.23 to 0.47 %), not significant";
    assert!(text.contains(answer), "{text}");
    let mut one_by_chance = with("cost-chance", |c| {
        let part = &mut c.benchmarks[0].comparisons[0].spans[1];
        let ratio = part.ratio.as_mut().unwrap();
        // Beyond the 99 % interval of one span (t = 3.11 instead of 2.20), not beyond that of seven.
        (part.outcome, ratio.value) = (Outcome::Cost, 1.0 + 1.6 * ratio.half_width);
    });
    assert!(
        message(&one_by_chance).contains("VALID A/A: no significant difference for tar"),
        "{}",
        message(&one_by_chance)
    );
    // A phase that is slower by itself has a line; a span of thousands would be by chance.
    assert!(!message(&one_by_chance).contains("by itself the"), "{}", message(&one_by_chance));
    let Measurement::Cost(cost) = &mut one_by_chance.measurement else { panic!("another measurement") };
    cost.benchmarks[0].resources = vec!["CPU".into(); 7];
    let text = message(&one_by_chance);
    let alone = "- by itself the phase plant-1 → plant-2 of tar is significantly slower, not corrected for the 7 phases: ";
    assert!(
        text.contains("VALID A/A: no significant difference for the benchmark") && text.contains(alone),
        "{text}"
    );
    let Measurement::Cost(cost) = &mut one_by_chance.measurement else { panic!("another measurement") };
    let part = &mut cost.benchmarks[0].comparisons[0].spans[1];
    (part.outcome, part.ratio.as_mut().unwrap().value) = (Outcome::Faster, 0.7);
    let text = message(&one_by_chance);
    let faster = "- by itself the phase plant-1 → plant-2 of tar is significantly faster, not corrected for the 7 phases, which \
                  may hide slower ones: -30.0 %";
    assert!(text.contains("VALID A/A: no significant difference") && text.contains(faster), "{text}");
    let Measurement::Cost(other) = fixture("cost").measurement else { panic!("another measurement") };
    let beside_a_free_cpu = with("cost-chance", |c| {
        let plan = c.plan.as_mut().unwrap();
        (plan.subject, plan.program_cpu) = (Subject::Process { pid: 4711 }, Vec::new());
        let condition = c.benchmarks[0].comparisons[0].condition;
        c.program = vec![ProgramUse { condition, processors: Some(0.97), ..other.program[0] }];
    });
    let text = message(&beside_a_free_cpu);
    assert!(
        text.contains(
            "VALID no significant slowdown of tar by nothing with a free CPU: 0.12 % (-0.23 to 0.47 %) -"
        ),
        "{text}"
    );
    let text = message(&fixture("cost-observers"));
    assert!(text.contains("“netfathom, tracepoints” slows opens by 0.77 % (0.51 to 1.03 %)"), "{text}");
    let outcome = |outcome| with("cost-own", |c| c.benchmarks[0].comparisons[0].outcome = outcome);
    let text = message(&outcome(Outcome::CannotTell));
    assert!(text.contains("inconclusive whether process 4711 slows tar: 8."), "{text}");
    let faster = with("cost-own", |c| {
        let tar = &mut c.benchmarks[0].comparisons[0];
        (tar.outcome, tar.ratio.value) = (Outcome::Faster, 0.931);
    });
    let text = message(&faster);
    assert!(text.contains("tar takes 6.90 % (6.52 to 7.28 %) less time"), "{text}");
}

#[test]
fn a_target_that_was_missed_stands_beside_what_was_reached() {
    let asked = |precision| flat(&with("cost-chance", |c| c.plan.as_mut().unwrap().precision = precision));
    assert!(asked(0.002).contains("back); the widest is ± 0.350 %, target ± 0.200 %"), "{}", asked(0.002));
    assert!(!asked(0.004).contains("target"), "{}", asked(0.004));
}

#[test]
fn run_queue_delay_that_is_most_of_what_was_added_is_the_cause() {
    let waited_on = |ns: f64, cpu: &[usize]| {
        flat(&with("cost", |c| {
            let plan = c.plan.as_mut().unwrap();
            (plan.cpu, plan.program_cpu) = (cpu.to_vec(), Vec::new());
            for comparison in c.benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.comparisons) {
                let added: f64 = comparison.spans.iter().map(|span| span.after_ns - span.before_ns).sum();
                comparison.taken = vec![Taken {
                    resource: Resource::RunQueue,
                    before: 0.0,
                    after: ns * added,
                    difference: Estimate { value: ns * added, half_width: 0.01 * added },
                }];
            }
        }))
    };
    let waited = |ns: f64| waited_on(ns, &[]);
    assert!(waited(0.9).contains("waits for a CPU: run-queue delay"), "{}", waited(0.9));
    assert!(waited(0.9).contains("give each a CPU: --cpu 0 --program-cpu 1"), "{}", waited(0.9));
    assert!(!waited_on(0.9, &[1]).contains("give each a CPU"), "{}", waited_on(0.9, &[1]));
    assert!(!waited(0.4).contains("waits for a CPU"), "{}", waited(0.4));
}

#[test]
fn who_had_the_cpu_is_named_with_its_part_of_the_wait() {
    let held = |name: &str, ns| Held { by: Holder::Process { name: name.into(), pid: 7, cgroup: None }, ns };
    let waits = |of_first| {
        let holders = vec![held("tcpdump", of_first), Held { by: Holder::Unknown, ns: 100 - of_first }];
        flat(&with("cost", |cost| {
            let benchmark = &mut cost.benchmarks[0];
            let waits = CpuWaits { waited_ns: 100, holders: holders.clone() };
            benchmark.waits = Some(CostWaits { condition: 1, waits });
            let comparison =
                benchmark.comparisons.iter_mut().max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
            let comparison = comparison.unwrap();
            comparison.effect = Effect::Program;
            let added: f64 = comparison.spans.iter().map(|span| span.after_ns - span.before_ns).sum();
            let difference = Estimate { value: added, half_width: 0.01 * added };
            comparison.taken =
                vec![Taken { resource: Resource::RunQueue, before: 0.0, after: added, difference }];
        }))
    };
    let text = waits(83);
    assert!(text.contains("; tcpdump (pid 7) had it for 83.0 % of the wait"), "{text}");
    assert!(text.contains("Who had the CPU while tar waited for one: "), "{text}");
    // What has a small part of it is left to the table.
    assert!(!waits(15).contains("had it for"), "{}", waits(15));
}

#[test]
fn at_the_highest_load_that_has_a_cost() {
    let outcomes = |highest| {
        with("cost", move |c| {
            let tar = c.benchmarks[0].comparisons.iter_mut().filter(|o| o.effect == Effect::Program);
            tar.last().expect("four levels").outcome = highest;
        })
    };
    assert!(flat(&outcomes(Outcome::Cost)).contains("slows tar by 15.7 % (15.3 to 16.0 %) at 80.0 Mb/s"));
    assert!(
        flat(&outcomes(Outcome::CannotTell)).contains("slows tar by 2.84 % (2.22 to 3.45 %) at 8.00 Mb/s")
    );
    // Loads that are no rates stand in their order.
    let words = with("cost", |c| {
        c.conditions.iter_mut().filter_map(|o| o.level.as_mut()).for_each(|l| l.bits_per_s = None);
    });
    assert!(flat(&words).contains("at 80M - tcpdump"), "{}", flat(&words));
}

#[test]
fn single_runs_have_no_intervals() {
    let text = sane(&fixture("cost-offline"));
    assert!(!text.contains('±'), "{text}");
    let flat = flat(&fixture("cost-offline"));
    for message in [
        "times: 11.2 % longer with “loaded”, one run each: inconclusive",
        "plan: none",
        "chance cannot be excluded",
    ] {
        assert!(flat.contains(message), "{message}: {flat}");
    }
}

#[test]
fn what_is_beyond_chance_is_marked() {
    let record = fixture("cost-own");
    let rows = under(&sane(&record), "What was taken, by resource");
    let Measurement::Cost(cost) = &record.measurement else { panic!("another measurement") };
    for taken in &cost.benchmarks[0].comparisons[0].taken {
        let row = rows.iter().find(|r| r.starts_with(taken.resource.name())).expect("a row");
        assert_eq!(row.ends_with('*'), !taken.difference.holds(0.0), "{row}");
    }
    // Without an interval nothing is.
    let single = with("cost-own", |c| {
        let tar = &mut c.benchmarks[0].comparisons[0];
        tar.smallest = None;
        tar.taken.iter_mut().for_each(|t| t.difference.half_width = 0.0);
    });
    assert!(!under(&sane(&single), "What was taken").iter().any(|row| row.ends_with('*')));
}

#[test]
fn a_program_without_work_is_called_idle() {
    let Measurement::Cost(other) = fixture("cost").measurement else { panic!("another measurement") };
    let used_by = |subject: Subject, processors| {
        flat(&with("cost-chance", |c| {
            let plan = c.plan.as_mut().unwrap();
            plan.benchmarks.clear();
            plan.subject = subject.clone();
            let condition = c.benchmarks[0].comparisons[0].condition;
            c.program = vec![ProgramUse { condition, processors: Some(processors), ..other.program[0] }];
        }))
    };
    let used = |processors| used_by(Subject::Process { pid: 4242 }, processors);
    let idle = "the program's own processes used 0.020 % of a CPU: if it had no work, give it some: --load COMMAND, or \
                --phases loopback";
    assert!(used(0.0002).contains(idle), "{}", used(0.0002));
    assert!(!used(0.002).contains("own processes used"), "{}", used(0.002));
    assert!(
        !used_by(Subject::Nothing, 0.0).contains("own processes used"),
        "{}",
        used_by(Subject::Nothing, 0.0)
    );
}

#[test]
fn what_is_excluded_stands_in_one_line_however_long_the_names_are() {
    let first = |name: &str, load: bool| {
        let record = with("cost-chance", |c| {
            let plan = c.plan.as_mut().unwrap();
            plan.subject = Subject::Command { argv: vec![name.into()] };
            c.subject = name.into();
            c.benchmarks[0].name = "build of everything".into();
            let comparison = &mut c.benchmarks[0].comparisons[0];
            comparison.ratio = Estimate { value: 0.998, half_width: 0.033 };
            let level = CostLevel { text: "80M".into(), bits_per_s: Some(8e7) };
            c.conditions[comparison.condition].level = load.then_some(level);
        });
        contract::first_line(&record)
    };
    let plain = first("tcpdump", false);
    assert!(plain.ends_with(" by tcpdump, at most 4.5 %: -0.2 % (-4.7 to 4.5 %)"), "{plain}");
    for long in [first("tcpdump -i lo -w /dev/null", false), first("tcpdump -i lo -w /dev/null", true)] {
        assert!(long.chars().count() <= 100 && long.ends_with(": -0.2 % (-4.7 to 4.5 %)"), "{long}");
    }
}

#[test]
fn a_command_that_is_timed_alone_is_answered_by_its_time() {
    let of = |own: bool, subject: Subject| {
        with("cost-chance", |c| {
            let command = ["sh", "-c", "gzip -1 -c F"].map(Into::into).to_vec();
            let kind = BenchmarkKind::Command { command, marks: MarkSource::Emitted };
            let plan = c.plan.as_mut().unwrap();
            plan.benchmarks = vec![Benchmark { name: "command".into(), kind }];
            (plan.own, plan.subject) = (own, subject);
            c.benchmarks[0].name = "command".into();
            let trials = c.benchmarks[0].trials.iter_mut();
            trials.for_each(|trial| trial.total_ns = if trial.index % 2 == 0 { 5.11e8 } else { 5.19e8 });
        })
    };
    let text = flat(&of(false, Subject::Nothing));
    assert!(text.contains("VALID gzip -1 -c F takes 515 ms ± 2 -"), "{text}");
    assert!(text.contains("- A/A: no significant difference for command: "), "{text}");
    let program = flat(&of(false, Subject::Process { pid: 7 }));
    assert!(!program.contains(" takes 515 ms"), "{program}");
    let own = flat(&of(true, Subject::Nothing));
    assert!(!own.contains("A/A"), "{own}");
}

#[test]
fn the_table_of_the_program_says_what_the_answer_says() {
    let Measurement::Cost(other) = fixture("cost").measurement else { panic!("another measurement") };
    let row = |outcome| {
        let record = with("cost-chance", |c| {
            let comparison = &mut c.benchmarks[0].comparisons[0];
            comparison.outcome = outcome;
            c.program = vec![ProgramUse { condition: comparison.condition, ..other.program[0] }];
        });
        let rows = under(&sane(&record), "What the program uses");
        rows.into_iter().find(|row| row.ends_with(" with")).unwrap()
    };
    assert!(row(Outcome::NoCost).contains("not significant"), "{}", row(Outcome::NoCost));
    assert!(row(Outcome::Cost).contains("0.118 %"), "{}", row(Outcome::Cost));
}

#[test]
fn a_single_span_is_no_part_of_the_whole() {
    let spans = |some: usize| {
        flat(&with("cost-chance", |c| {
            let whole = &mut c.benchmarks[0].comparisons[0];
            whole.spans.truncate(some);
            let part = whole.spans.last_mut().unwrap();
            (part.outcome, part.ratio.as_mut().unwrap().value) = (Outcome::Cost, 1.25);
        }))
    };
    assert!(spans(2).contains("slows the span"), "{}", spans(2));
    assert!(spans(1).contains("no significant difference for tar"), "{}", spans(1));
}

#[test]
fn nothing_measured_is_stated() {
    let mut none = with("cost", |c| c.benchmarks.clear());
    none.state = State::Interrupted;
    let text = flat(&none);
    assert!(text.contains("so there is no answer yet"), "{text}");
    assert!(text.contains("0 trials of 0 benchmarks in 9 conditions are finished"), "{text}");
    let text = flat(&with("cost-own", |c| c.benchmarks[0].trials.clear()));
    assert!(text.contains("n/a: none is finished"), "{text}");
}

#[test]
fn failed_trials_say_why() {
    let twice = with("cost-chance", |c| {
        for trial in &mut c.benchmarks[0].trials[4..7] {
            trial.failed = Some("it took too long".into());
        }
        c.benchmarks[0].trials[9].failed = Some("it ended with status 2".into());
    });
    let text = flat(&twice);
    for message in ["3 trials failed: it took too long", "trial 10 (with) failed: it ended with status 2"] {
        assert!(text.contains(message), "{message}: {text}");
    }
}

#[test]
fn long_tables_are_cut() {
    let many = with("cost-own", |c| {
        let tar = &mut c.benchmarks[0];
        let call = tar.calls[0].clone();
        tar.calls = (0..60).map(|n| OwnCall { name: format!("call{n}"), ..call.clone() }).collect();
        let span = tar.comparisons[0].spans[0].clone();
        tar.comparisons[0].spans = vec![span; 55];
    });
    let text = flat(&many);
    assert!(
        text.contains("… and 20 more calls in the record")
            && text.contains("… and 15 more spans in the record")
    );
    assert!(text.contains("call39") && !text.contains("call40"));
}

#[test]
fn a_part_of_an_experiment_is_a_line() {
    let mut record = fixture("reproduce");
    let cost = fixture("cost").measurement;
    let Measurement::Reproduce(reproduce) = &mut record.measurement else { panic!("another measurement") };
    reproduce.runs[0].measurement = cost;
    let text = flat(&record);
    assert!(
        text.contains("netfathom cost: tcpdump -eX -s0 slows tar by 15.7 % (15.3 to 16.0 %) at 80.0 Mb/s"),
        "{text}"
    );
}

fn benchmark(record: &Record) -> &CostBenchmark {
    let Measurement::Cost(cost) = &record.measurement else { panic!("another measurement") };
    &cost.benchmarks[0]
}

#[test]
fn curves_are_the_slowdowns_over_the_load() {
    let record = fixture("cost");
    let page = story::of(&record);
    let effects = [
        (Effect::Program, "the program", 4),
        (Effect::Load, "the load alone", 3),
        (Effect::Both, "program and load", 3),
    ];
    for (effect, name, loads) in effects {
        let wanted: Vec<f64> = benchmark(&record).of_effect(effect).map(|c| c.ratio.value - 1.0).collect();
        assert_eq!(wanted.len(), loads, "{name}");
        let drawn: Vec<Option<f64>> =
            curve(&page, "cost-0", name).iter().copied().filter(Option::is_some).collect();
        same(&drawn, &wanted);
    }
}

#[test]
fn marks_stand_at_the_means_of_the_trials_that_count() {
    let record = with("cost", |c| c.benchmarks[0].trials[5].failed = Some("it was disturbed".into()));
    let (page, tar) = (story::of(&record), benchmark(&record));
    let Measurement::Cost(cost) = &record.measurement else { panic!("another measurement") };
    assert_eq!(tar.trials.iter().filter(|t| t.failed.is_some()).count(), 2, "some are to be left out");
    let means = |condition: usize| {
        let counts = |t: &&netfathom_model::record::CostTrial| t.condition == condition && t.failed.is_none();
        let trials: Vec<_> = tar.trials.iter().filter(counts).collect();
        let mut at = vec![0.0];
        for span in 0..tar.marks.len() - 1 {
            at.push(at[span] + trials.iter().map(|t| t.spans_ns[span]).sum::<f64>() / trials.len() as f64);
        }
        at
    };
    let first = means(0);
    for (condition, named) in cost.conditions.iter().enumerate() {
        let at = means(condition);
        same(curve(&page, "cost-marks-0", &named.name), &at);
        if condition > 0 {
            let behind: Vec<f64> = at.iter().zip(&first).map(|(at, first)| at - first).collect();
            same(curve(&page, "cost-behind-0", &named.name), &behind);
        }
    }
}

#[test]
fn trials_are_shares_of_the_mean_of_the_first_condition() {
    let record = fixture("cost-chance");
    let (page, tar) = (story::of(&record), benchmark(&record));
    let of_condition = |c: usize| tar.trials.iter().filter(move |t| t.condition == c);
    let first: Vec<f64> = of_condition(0).map(|t| t.total_ns).collect();
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    for (condition, name) in [(0, "without"), (1, "with")] {
        let wanted: Vec<f64> = of_condition(condition).map(|t| t.total_ns / mean - 1.0).collect();
        let drawn = curve(&page, "cost-trials-0", name);
        assert_eq!(drawn.len(), tar.trials.len(), "{name}");
        let drawn: Vec<Option<f64>> = drawn.iter().copied().filter(Option::is_some).collect();
        same(&drawn, &wanted);
    }
}

#[test]
fn what_chance_could_have_made_is_hatched_and_what_could_not_be_seen_has_a_band() {
    let record = fixture("cost-own");
    let (page, tar) = (story::of(&record), benchmark(&record));
    let all = bars(&page);
    let titled = |title: &str| {
        let found = all.iter().find(|bars| bars.title == title).expect("the bars");
        found.groups.iter().flat_map(|group| &group.bars).collect::<Vec<_>>()
    };
    let spans: Vec<Option<f64>> =
        titled("How much longer each span takes").iter().map(|bar| bar.value).collect();
    let wanted: Vec<f64> = tar.comparisons[0].spans.iter().map(|s| s.ratio.unwrap().value - 1.0).collect();
    same(&spans, &wanted);
    let taken = &tar.comparisons[0].taken;
    for bar in titled("More time, by resource") {
        let of_it = taken.iter().find(|t| t.resource.name() == bar.name).expect("a resource");
        assert_eq!(bar.is_chance, of_it.difference.holds(0.0), "{}", bar.name);
    }
    let chance = fixture("cost-chance");
    let page = story::of(&chance);
    let comparison = &benchmark(&chance).comparisons[0];
    let bar = &bars(&page)[0].groups[0].bars[0];
    assert_eq!((bar.band, bar.is_chance), (comparison.smallest, true));
}
