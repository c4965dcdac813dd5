//! The line that shows how a run goes on, on a terminal that script(1) makes.

use netfathom_testkit::needs;

use crate::child::{LOOPBACK, out, run, shell};

#[test]
fn a_terminal_shows_how_the_run_goes_on() {
    let dir = out();
    let run_in = format!("\\\"$0\\\" {LOOPBACK} --trials 2 --out {}", dir.path().display());
    let script = format!("command -v script >/dev/null || exit 77; script -qec \"{run_in}\" /dev/null");
    let ended = run(shell(&script).env("TERM", "xterm"));
    needs!(ended.status != 77, "there is no script(1)");
    let shown = ended.measured().out;
    // Which of its seven trials are seen depends on how busy the machine is.
    for part in ["/7 (", "(measured)", "/s, lag ", " s left"] {
        assert!(shown.contains(part), "no {part:?} in {shown:?}");
    }
    // Its tables have colours there, and the line is gone before they come.
    let (_, tables) = shown.split_once("Send (tx)").expect("tables");
    assert!(tables.contains('\x1b') && !tables.contains("s left"), "{tables:?}");
}
