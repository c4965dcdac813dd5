//! Runs that follow messages for a part of the time.

use super::live::lengths_ns;
use super::targets::with_three_capabilities;
use super::*;
use crate::refusals::all_refused;

#[test]
fn a_small_budget_is_kept_by_few_samples() {
    needs_root!();
    let (dir, listener, port) = listening();
    let mut command = netfathom(&format!("watch --port {port} --budget 0.1% --time 4s --json"));
    let record = record(&beside(echoes(&listener), || run(command.arg("--out").arg(dir.path()))));
    let result = result(&record);
    let (sampling, seen) = (result.sampling.unwrap(), result.account.seen);
    assert!(sampling.samples >= 1 && seen > 0, "{sampling:?} {seen}");
    assert!(sampling.followed_ns < sampling.attached_ns, "{sampling:?}");
    assert!(sampling.attached_ns < result.watched_ns / 2, "{sampling:?}");
    // One request after the other, each with a pause of 1 ms: rates are those of the time in which they were followed.
    assert!(seen <= sampling.attached_ns / 1_000_000, "{sampling:?} {seen}");
}

#[test]
fn a_budget_that_is_never_reached_lets_the_programs_stay_and_lines_have_the_time_of_its_samples() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --budget 100% --time 3s --json-lines"), dir.path());
    echo(&listener, 500, 1);
    let ended = end(child).exited(0);
    let record = child::record(dir.path()).unwrap();
    let result = result(&record);
    let sampling = result.sampling.unwrap();
    assert_eq!(lengths_ns(&ended).iter().sum::<u64>(), sampling.followed_ns, "{ended}");
    assert!(sampling.followed_ns > result.watched_ns / 2 && sampling.spent_ns > 0, "{sampling:?}");
    assert!(result.watched_ns >= 3_000_000_000, "{} ns", result.watched_ns);
    assert!(result.account.timed > 100, "{:?}", result.account);
}

#[test]
fn a_process_that_ends_between_samples_ends_the_run() {
    needs_root!();
    let dir = out();
    let mut sleeper = start(Command::new("sleep").arg("1000"));
    // Attaching alone takes more than what 0.1 % have saved within seconds.
    let child = watching(&format!("--pid {} --budget 0.1% --json", sleeper.id()), dir.path());
    until_holds("its end", || attached(child.id()) < HOOKS);
    kill(&mut sleeper);
    let record: Record = end(child).exited(3).json();
    assert_eq!(result(&record).sampling.unwrap().samples, 1);
}

/// A run without a bound would be none of what was asked for.
#[test]
fn a_budget_that_the_kernel_does_not_count_is_refused() {
    needs_root!();
    let dir = out();
    let args = "--port 1 --budget 1% --time 1s --json";
    let Some(child) = with_three_capabilities(test_name!(), dir.path(), args) else { return };
    let ended = end(child).exited(1).explains(&["cannot keep to a budget", "CAP_SYS_ADMIN"]);
    assert_eq!(ended.out, "");
}

#[test]
fn a_budget_has_bounds() {
    let cases = [
        ("--budget 0%", "from 0.1% to 100%"),
        ("--budget 101%", "from 0.1% to 100%"),
        ("--budget x", "write 1%"),
        ("--budget 1% --time 100ms", "--time 100ms with --budget: choose from 1s"),
    ];
    all_refused("watch --port 1", &cases);
}
