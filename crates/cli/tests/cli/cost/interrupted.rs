//! Ctrl-C.

use netfathom_model::record::State;
use netfathom_model::verdict::Level;

use super::{CHEAP, Short, cost, lives};
use crate::child::{end, netfathom, record, runs, signal, start, until};

#[test]
fn ctrl_c_keeps_finished_trials_and_ends_the_program() {
    let short = Short::new();
    let script = format!("echo $$ >>{}; exec sleep 1000", short.file("pids"));
    let mut command = netfathom("cost --time 60s --precision 0.01% --settle 20ms --no-baselines --out");
    command.arg(short.runs()).args(["--benchmark", CHEAP, "--", "sh", "-c", &script]);
    let run = start(&mut command);
    let made = |record: &netfathom_model::record::Record| {
        cost(record).benchmarks.iter().map(|benchmark| benchmark.trials.len()).sum::<usize>()
    };
    let before = until("a block", || record(&short.runs()).map(|r| made(&r)).filter(|&trials| trials >= 4));
    signal("INT", &run);
    end(run).measured();
    let record = record(&short.runs()).unwrap();
    assert_eq!(record.state, State::Interrupted);
    assert!(made(&record) >= before, "{} of {before}", made(&record));
    assert!(runs(&short.runs())[0].join("report.html").exists());
    let pids = short.lines("pids");
    assert!(pids.len() > 2 && !pids.iter().any(|pid| lives(pid)), "{pids:?}");
}

#[test]
fn before_the_first_trial_nothing_was_measured() {
    let short = Short::new();
    let file = short.file("benchmark");
    let run = start(short.beside(&format!("b=echo $$ >{file}; sleep 1000")).arg("--nothing"));
    let pid = until("the benchmark", || short.lines("benchmark").first().cloned());
    signal("INT", &run);
    assert_eq!(end(run).status, 3);
    assert!(!lives(&pid));
    let record = record(&short.runs()).unwrap();
    assert_eq!((record.state, record.verdict.level), (State::Interrupted, Level::Void));
}
