//! What `-h` leaves out: `--help`, the manual pages and the completions have it.

use clap::Command;

/// Examples on a short page.
const EXAMPLES: usize = 3;

/// The command and those below it: their `-h` has no option under a heading, the first examples, and no notes.
pub fn brief(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let rare = arg.get_help_heading().is_some();
        arg.hide_short_help(rare)
    });
    let command = command.mut_subcommands(brief);
    let Some(whole) = command.get_after_help().map(ToString::to_string) else { return command };
    match first_examples(&whole) {
        short if short == whole => command,
        short => command.after_help(short).after_long_help(whole),
    }
}

/// Of paragraphs: the first examples and the exit status.
fn first_examples(whole: &str) -> String {
    let paragraphs = whole.split("\n\n").filter_map(|paragraph| match paragraph.split_once('\n') {
        Some(("Examples:", examples)) => {
            let mut begun = 0;
            let first = examples.lines().take_while(|line| {
                begun += usize::from(!line.starts_with("   "));
                begun <= EXAMPLES
            });
            Some(std::iter::once("Examples:").chain(first).collect::<Vec<_>>().join("\n"))
        }
        Some(("Exit status:", _)) => Some(paragraph.to_owned()),
        _ => None,
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
