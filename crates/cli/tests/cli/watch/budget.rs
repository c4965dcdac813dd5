//! Runs that follow messages for a part of the time.

use super::*;

/// A run while a client asks all the time.
fn within(budget: &str) -> Record {
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                echo(&listener, 50, 1);
            }
        });
        let args = format!("watch --port {port} --budget {budget} --time 4s --json");
        let child = start(netfathom(&args).arg("--out").arg(dir.path()));
        until("the first sample", || (attached(child.id()) >= HOOKS).then_some(()));
        // Between samples the hook for new threads alone has its program.
        until("the end of a sample", || (attached(child.id()) <= 1).then_some(()));
        let ended = end(child);
        stop.store(true, Relaxed);
        record(&ended)
    })
}

#[test]
fn a_budget_is_kept_by_samples() {
    needs_root!();
    let record = within("0.1%");
    let result = result(&record);
    let (sampling, seen) = (result.sampling.unwrap(), result.account.seen);
    // Its own process alone takes more than that.
    assert!(sampling.samples >= 1 && seen > 0, "{sampling:?} {seen}");
    assert!(sampling.followed_ns < sampling.attached_ns, "{sampling:?}");
    assert!(sampling.attached_ns < result.watched_ns / 2, "{sampling:?}");
    // One request after the other, each with a pause of 1 ms: rates are those of the time in which they were followed.
    assert!(seen <= sampling.attached_ns / 1_000_000, "{sampling:?} {seen}");
}

#[test]
fn a_budget_that_is_never_reached_lets_the_programs_stay() {
    needs_root!();
    let (dir, listener) = (out(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let args = format!("watch --port {port} --budget 100% --time 3s --json");
    let child = start(netfathom(&args).arg("--out").arg(dir.path()));
    until("the first sample", || (attached(child.id()) >= HOOKS).then_some(()));
    echo(&listener, 500, 1);
    let record = record(&end(child));
    let result = result(&record);
    let sampling = result.sampling.unwrap();
    assert!(sampling.followed_ns > result.watched_ns / 2, "{sampling:?}");
    assert!(result.account.timed > 100, "{:?}", result.account);
}

#[test]
fn a_budget_has_bounds() {
    for (args, why) in [
        ("--budget 0%", "from 0.1% to 100%"),
        ("--budget 101%", "from 0.1% to 100%"),
        ("--budget x", "write 1%"),
        ("--budget 1% --time 100ms", "time with --budget"),
    ] {
        let ended = run(&mut netfathom(&format!("watch --port 1 {args}")));
        assert_eq!(ended.status, 2, "{args}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(why), "{args}: {}", ended.err);
    }
}
