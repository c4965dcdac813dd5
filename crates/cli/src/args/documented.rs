//! What the documentation shows must be what the command line takes.

use std::path::Path;

use clap::Parser;
use netfathom_testkit::docs;

use super::{Args, as_called};

/// Words that stand for others: such a call is not looked at.
const PLACEHOLDERS: [&str; 2] = ["...", "…"];

#[test]
fn every_command_of_the_documentation_is_understood() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in docs::pages(&sources) {
        let blocks = docs::blocks(&sources, &page).into_iter().map(|block| (block.line, block.text));
        for (line, text) in blocks.chain(docs::tabled(&sources, &page)) {
            let calls = ["netfathom", "ttcp"].iter().flat_map(|program| docs::calls(&text, program));
            for words in calls.filter(|words| !words.iter().any(|word| PLACEHOLDERS.contains(&word.as_str())))
            {
                seen += 1;
                // B is the other host, as the README has it; for that an address is to be written.
                let typed = words.iter().map(|word| word.replace("B:9000", "10.0.0.2:9000").into());
                let typed = as_called(typed);
                match Args::try_parse_from(typed) {
                    Err(e) if e.use_stderr() => {
                        wrong.push(format!("{}:{}: {}\n{e}", page.display(), line, words.join(" ")));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} calls were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
