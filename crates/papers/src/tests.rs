//! Experiments made for real, in a small size, beside each other: none is held to a time, and any may end VOID.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;

use netfathom_measure::kind::load::sink;
use netfathom_measure::kind::{message, reverse};
use netfathom_measure::load::control::ServeEvent;
use netfathom_model::engine::Receive;
use netfathom_model::path::Direction;
use netfathom_model::plan::Place;
use netfathom_model::record::{Holds, Measurement, Origin, Trial};
use netfathom_model::verdict;
use netfathom_testkit::needs_root;

use super::*;
use netfathom_measure::ground::observer::{Live, Step};

const TINY: Size = Size { most_trials: 2, of_time: 0.02 };

/// Sees what is kept, and wants an end after so much of it.
struct Watcher<'a> {
    kept: Vec<Progressed<ReproduceResult>>,
    steps: Vec<String>,
    stop: &'a AtomicBool,
    enough: usize,
}

impl<'a> Watcher<'a> {
    fn new(stop: &'a AtomicBool, enough: usize) -> Self {
        Self { kept: Vec::new(), steps: Vec::new(), stop, enough }
    }
}

impl Observer<ReproduceResult> for Watcher<'_> {
    fn begins(&mut self, step: Step, _: &Arc<Live>) {
        self.steps.push(step.name);
    }

    fn keep(&mut self, so_far: &Progressed<ReproduceResult>) -> io::Result<()> {
        self.kept.push(so_far.clone());
        self.stop.store(self.kept.len() >= self.enough, Relaxed);
        Ok(())
    }
}

pub fn plan(name: &str, tap: TapChoice) -> ReproducePlan {
    ReproducePlan { name: name.into(), quick: true, tap, projects: None, seed: 7, to: None, allow: None }
}

/// Makes it small, and checks what holds of any experiment.
fn made(name: &str) -> Progressed<ReproduceResult> {
    let experiment = find(name).unwrap();
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher::new(&stop, usize::MAX);
    let progressed = run_sized(experiment, &plan(name, TapChoice::Auto), TINY, &mut watcher, &stop).unwrap();
    let result = &progressed.result;
    let void = progressed.verdict.level == Level::Void;
    assert!(result.claims.iter().all(|claim| claim.here.contains("VOID") == void), "{:?}", result.claims);
    assert!(watcher.kept.len() > 2, "it is kept after each trial");
    let known = ["trial", "burst", "counting calls", "remedy"];
    assert!(
        watcher.steps.iter().all(|step| known.iter().any(|what| step.contains(what))),
        "{:?}",
        watcher.steps
    );
    assert!(!result.differences.is_empty() && !result.figures.is_empty() && !result.claims.is_empty());
    for table in &result.tables {
        assert!(table.rows.iter().any(|row| row.here), "{}", table.title);
        for row in &table.rows {
            assert_eq!(row.cells.len(), table.columns.len(), "{}", table.title);
            let finite = |cell: &netfathom_model::record::Cell| {
                cell.value.is_finite() && cell.half_width.is_none_or(f64::is_finite)
            };
            assert!(row.cells.iter().flatten().all(finite), "{}: {row:?}", table.title);
        }
    }
    for figure in &result.figures {
        assert!(figure.series.iter().any(|s| s.here && !s.points.is_empty()), "{}", figure.title);
        let points = figure.series.iter().flat_map(|s| &s.points);
        assert!(points.clone().all(|p| p.x.is_finite() && p.y.is_finite()), "{}", figure.title);
    }
    progressed
}

fn trials(measurement: &Measurement) -> usize {
    match measurement {
        Measurement::Stack(result) => result.trials.len(),
        Measurement::Reverse(result) => result.variants.iter().map(|of| of.trials.len()).sum(),
        Measurement::Sweep(result) => result.points.iter().map(|of| of.trials.len()).sum(),
        Measurement::Message(result) => result.cells.iter().map(|of| of.trials.len()).sum(),
        _ => 0,
    }
}

/// Its load is VOID until it was halved so often; the time to send holds.
#[derive(Clone)]
struct Late {
    lighter: u32,
    runs: Arc<AtomicU32>,
}

impl part::Work for Late {
    fn run(&self, _: &mut PartObserver<'_>, _: &AtomicBool) -> Result<Progressed<Measurement>, RunError> {
        self.runs.fetch_add(1, Relaxed);
        let environment = netfathom_measure::ground::environment::read(Vec::new(), Vec::new(), None);
        let result = borodin::fixture::stack(&[(Direction::Tx, &[(1000, 1000)])]);
        let mut progressed = Progressed::new(environment, result.into());
        if self.lighter > 0 {
            progressed.verdict.lower_only(&[verdict::Part::Load], Level::Void, "late");
        }
        progressed.verdict = progressed.verdict.answered_by(&[verdict::Part::Tx]);
        Ok(progressed)
    }

    fn lighter(&self) -> Option<Box<dyn part::Work>> {
        Some(Box::new(Self { lighter: self.lighter.saturating_sub(1), ..self.clone() }))
    }
}

#[test]
fn the_rate_is_halved_where_only_the_load_is_void() {
    let plan = ReproducePlan { quick: false, ..plan("borodin-tx", TapChoice::Auto) };
    let stop = AtomicBool::new(false);
    let whole = Whole::new(find("borodin-tx").unwrap(), &plan, Vec::new());
    for (lighter, expected) in [(0, 1), (1, 2), (2, 3), (9, 3)] {
        let runs = Arc::new(AtomicU32::new(0));
        let part = Part::new("late", Late { lighter, runs: Arc::clone(&runs) });
        let mut watcher = Watcher::new(&stop, usize::MAX);
        let mut observer = PartObserver { whole: &whole, outer: &mut watcher, part: &part, number: 1, of: 1 };
        decided(&part, &plan, &mut observer, &stop).unwrap();
        assert_eq!(runs.load(Relaxed), expected, "{lighter}");
    }
}

#[test]
fn a_part_that_the_ones_before_make_needless_is_left_out_and_not_missed() {
    let three = |_: &mut Ground<'_>| {
        let late = |name| Part::new(name, Late { lighter: 0, runs: Arc::default() });
        Ok(vec![late("first"), late("second").unless(|runs| runs.len() == 1), late("third")])
    };
    let experiment = Experiment { parts: three, ..*find("borodin-tx").unwrap() };
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher::new(&stop, usize::MAX);
    let plan = plan("borodin-tx", TapChoice::Auto);
    let made = run_sized(&experiment, &plan, TINY, &mut watcher, &stop).unwrap();
    let names: Vec<&str> = made.result.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["first", "third"]);
    assert!(made.verdict.reasons.is_empty(), "{:?}", made.verdict);
}

#[test]
fn instances_are_added_until_the_capture_loses_half() {
    needs_root!();
    let made = made("borodin-instances");
    let names: Vec<&str> = made.result.runs.iter().map(|run| run.name.as_str()).collect();
    let numbers = [1, 2, 4, 8, 16, 32, 64];
    let last = names.len() - 1;
    for ((at, run), number) in made.result.runs.iter().enumerate().zip(numbers) {
        let Measurement::Stack(result) = &run.measurement else { panic!("another measurement") };
        assert!(result.trials.iter().all(|trial| trial.from.len() == number), "{names:?}");
        let lost = |trial: &Trial| trial.accounting.unjoined_tx as f64 / trial.load.sent as f64;
        let some: Vec<f64> = result.trials.iter().filter(|trial| trial.load.sent > 0).map(lost).collect();
        let lost = netfathom_stats::mean(&some);
        assert!(if at < last { lost < 0.5 } else { lost >= 0.5 || number == 64 }, "{number}: {lost}");
        assert!(result.trials.iter().all(|trial| trial.captured.len() == 1), "it is captured");
    }
    holds_of_borodin(&made);
    assert_eq!(made.result.tables[0].rows.len(), names.len());
    assert!(!made.verdict.reasons.iter().any(|reason| reason.text.contains(" parts were measured")));
}

fn holds_of_borodin(made: &Progressed<ReproduceResult>) {
    let (name, measurement) = (&made.result.plan.name, &made.result.runs[0].measurement);
    let variants = if name == "borodin-reverse" { 2 } else { 1 };
    assert_eq!(trials(measurement), 2 * variants, "{name}");
    if let Measurement::Stack(result) = measurement {
        assert_eq!(result.plan.directions.len(), result.summaries.len(), "{name}");
        assert!(result.trials.iter().all(|t| t.accounting.gap() == 0), "{name}");
    }
}

#[test]
fn every_other_experiment_of_borodin_can_be_made() {
    needs_root!();
    let is_other = |name: &str| name.starts_with("borodin") && name != "borodin-instances";
    catalogue().filter(|e| is_other(e.name)).for_each(|e| holds_of_borodin(&made(e.name)));
}

#[test]
fn the_book_on_ttcp_can_be_made() {
    needs_root!();
    let made = made("ttcp-sndbuf");
    let names: Vec<&str> = made.result.runs.iter().map(|run| run.name.as_str()).collect();
    let receivers = [16, 32, 64].map(|kib| format!("path, receive buffer of {kib} KiB"));
    let expected = ["lab", "loopback", "path"].into_iter().chain(receivers.iter().map(String::as_str));
    assert!(expected.eq(names.iter().copied()), "{names:?}");
    assert_eq!(
        made.result.runs.iter().map(|run| trials(&run.measurement)).sum::<usize>(),
        2 * (4 + 6 + 8 + 3 * 3)
    );
    let printed: Vec<&str> =
        made.result.tables[0].rows.iter().filter(|row| !row.here).map(|row| row.who.as_str()).collect();
    assert_eq!(printed, ["-tsv", "-tsvb 1448", "-tsvDb 1448"].map(|o| format!("Snader, ttcp {o} bsd")));
    let of_the_source = made.result.claims.iter().filter(|claim| claim.origin == Origin::Source).count();
    assert_eq!(
        (of_the_source, made.result.claims.len()),
        (4, 10),
        "three where the book asked, and its conclusion"
    );
}

#[test]
fn the_tables_of_messages_can_be_made() {
    needs_root!();
    // Those over a slow path are the same with another plan; the one with the fewest cells stands for them.
    let chosen = |name: &str| !name.ends_with("-ethernet") || name == "zccl-4-ethernet";
    for experiment in catalogue().filter(|e| e.name.starts_with("zccl") && chosen(e.name)) {
        let made = made(experiment.name);
        for run in &made.result.runs {
            let Measurement::Message(result) = &run.measurement else { panic!("another measurement") };
            let plan = &result.plan;
            assert_eq!(
                trials(&run.measurement),
                plan.trials as usize * result.cells.len(),
                "{}",
                experiment.name
            );
            let asked =
                plan.sizes_bytes.len() * plan.layers.len() * plan.placements.len() * result.pairs.len();
            let placed = experiment.name == "zccl-2";
            assert!(
                result.cells.len() == asked || placed && !result.absent.is_empty(),
                "{}",
                experiment.name
            );
        }
    }
}

/// Made by the kernel's stamps, which need no privilege, until so much of it is kept.
fn stamped(name: &str, enough: usize) -> Progressed<ReproduceResult> {
    let stop = AtomicBool::new(enough == 0);
    let mut watcher = Watcher::new(&stop, enough);
    let plan = plan(name, TapChoice::Only(Tap::Timestamping));
    run_sized(find(name).unwrap(), &plan, TINY, &mut watcher, &stop).unwrap()
}

#[test]
fn stamps_are_enough_for_the_stack() {
    let made = stamped("borodin-rx-triangle", usize::MAX);
    assert_eq!(trials(&made.result.runs[0].measurement), 2);
}

#[test]
fn what_is_finished_when_the_user_wants_an_end_is_kept() {
    // The first thing that is kept has no trial in it, the second has one.
    let made = stamped("borodin-rx-triangle", 2);
    assert_eq!(trials(&made.result.runs[0].measurement), 1);
    assert!(made.verdict.reasons.iter().any(|r| r.text.contains("1 of 2")), "{:?}", made.verdict);
    // One trial has no interval: it decides nothing.
    assert!(made.result.claims.iter().all(|claim| claim.holds == Holds::CannotTell));
}

#[test]
fn an_end_before_the_first_trial_leaves_the_source_alone() {
    let made = stamped("borodin-tx", 0);
    assert_eq!((made.result.runs.len(), made.result.claims.len()), (0, 0));
    assert_eq!(made.verdict.level, Level::Void);
    assert!(made.result.tables.iter().all(|table| table.rows.iter().all(|row| !row.here)));
}

#[test]
fn names_are_unique_and_the_short_form_is_short() {
    let names: BTreeSet<&str> = catalogue().map(|e| e.name).collect();
    assert_eq!(names.len(), catalogue().count());
    for experiment in catalogue() {
        assert!(experiment.expected(true) <= Duration::from_secs(120), "{}", experiment.name);
        assert!(experiment.expected(true) < experiment.expected(false), "{}", experiment.name);
        assert!(find(experiment.name).is_some_and(|found| found.title == experiment.title));
    }
    assert!(find("borodin").is_none());
}

/// Serves in a thread until the test is over; where.
fn serving<E: Send + 'static>(
    serve: impl FnOnce(&mut (dyn FnMut(E) + Send), &AtomicBool) + Send + 'static,
    address: fn(E) -> Option<SocketAddr>,
    over: &Arc<AtomicBool>,
) -> SocketAddr {
    let (shown, listening) = channel();
    let over = Arc::clone(over);
    std::thread::spawn(move || {
        let mut notify = |event| {
            if let Some(at) = address(event) {
                let _ = shown.send(at);
            }
        };
        serve(&mut notify, &over);
    });
    listening.recv_timeout(Duration::from_secs(10)).unwrap()
}

#[test]
fn with_another_host_experiments_have_rows_of_this_machine() {
    let over = Arc::new(AtomicBool::new(false));
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let reverse = reverse::serve::ServePlan {
        listen,
        cpu: None,
        allow: Vec::new(),
        most_per_s: 1e6,
        most_ns: 1_000_000_000,
        most_hosts: None,
    };
    let sink = sink::SinkPlan {
        listen,
        receive: Receive::Recvmmsg,
        allow: Vec::new(),
        most_ns: sink::MOST_NS,
        most_echo_per_s: 1e6,
        most_senders: 8,
        most_loads: None,
        log: None,
    };
    let message = message::serve::ServePlan { listen, cpu: None, allow: Vec::new(), most_clients: None };
    let at = |event| if let ServeEvent::Listening { at, .. } = event { Some(at) } else { None };
    let sink_at = |event| if let sink::SinkEvent::Listening { at, .. } = event { Some(at) } else { None };
    let reverse = serving(move |say, over| reverse::serve::serve(&reverse, say, over).unwrap(), at, &over);
    let sink = serving(move |say, over| sink::serve(&sink, say, over).unwrap(), sink_at, &over);
    let message = serving(move |say, over| message::serve::serve(&message, say, over).unwrap(), at, &over);
    let hosts = [("borodin-reverse", reverse), ("borodin-tx", sink), ("zccl-3", message)];
    for (name, to) in hosts {
        let experiment = find(name).unwrap();
        let plan = ReproducePlan { to: Some(vec![to]), ..plan(name, TapChoice::Auto) };
        experiment.accepts(&plan).unwrap();
        let stop = AtomicBool::new(false);
        let mut watcher = Watcher::new(&stop, usize::MAX);
        // A trial of 0.4 s is the shortest that a counterpart takes part in.
        let size = Size { of_time: 0.1, ..TINY };
        let made = run_sized(experiment, &plan, size, &mut watcher, &stop).unwrap();
        assert!(!made.result.runs.is_empty(), "{name}");
        for run in &made.result.runs {
            let to_there = match &run.measurement {
                Measurement::Reverse(result) => result.hosts.is_some(),
                Measurement::Stack(result) => result.plan.place == Place::To(to),
                Measurement::Message(result) => result.server.is_some(),
                _ => false,
            };
            assert!(to_there && trials(&run.measurement) > 0, "{name}");
        }
        let here = |table: &netfathom_model::record::BesideTable| table.rows.iter().any(|row| row.here);
        assert!(made.result.tables.iter().all(here), "{name}");
        let differences = made.result.differences.join("\n");
        assert!(
            !differences.contains("one machine") && !differences.contains("share one"),
            "{name}: {differences}"
        );
    }
    over.store(true, Relaxed);
}

#[test]
fn another_host_without_a_use_is_refused() {
    let host = "10.0.0.2:9".parse().unwrap();
    let refusal = |name: &str, hosts: usize| {
        let plan = ReproducePlan { to: Some(vec![host; hosts]), ..plan(name, TapChoice::Auto) };
        find(name).unwrap().accepts(&plan).err().map_or_else(String::new, |error| error.to_string())
    };
    assert!(refusal("borodin-rx", 1).contains("choose from borodin-tx, borodin-reverse, zccl-1"));
    assert!(refusal("borodin-tx", 2).contains("takes one other host"));
    assert_eq!(refusal("borodin-reverse", 2), "");
    assert_eq!(refusal("zccl-4", 1), "");
}

#[test]
fn a_tap_without_a_use_is_refused() {
    let reverse = find("borodin-reverse").unwrap();
    let refusal = reverse.accepts(&plan(reverse.name, TapChoice::Only(Tap::Pcap))).unwrap_err();
    assert!(refusal.to_string().contains("choose from auto, bpf"), "{refusal}");
    for tap in [TapChoice::Auto, TapChoice::Only(Tap::Bpf)] {
        assert!(reverse.accepts(&plan(reverse.name, tap)).is_ok());
    }
}
