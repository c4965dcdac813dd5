//! What docs/kernels.md shows as tried is what the tests of kernels run.

use super::*;

#[allow(dead_code)]
#[path = "../../kernels/commands.rs"]
mod commands;

#[test]
fn the_page_of_kernels_has_the_commands_that_run_there() {
    let page = fs::read_to_string(sources().join("docs/kernels.md")).unwrap();
    let (_, shown) = page.split_once("\n## Commands\n\n").unwrap();
    let runs = commands::runs(commands::Extent::Whole);
    let run: String =
        runs.iter().map(|run| format!("- {}: `netfathom {}`\n", run.name, run.command)).collect();
    assert_eq!(shown, run, "make test-kernels writes docs/kernels.md");
}
