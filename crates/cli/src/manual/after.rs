//! What stands below the options of a help page, taken apart: examples, exit status, notes.

/// The parts of a help page's end, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct After<'a> {
    pub examples: Vec<(&'a str, String)>,
    pub statuses: Vec<(&'a str, &'a str)>,
    pub notes: Vec<String>,
}

impl<'a> After<'a> {
    /// Takes it apart: parts are divided by empty lines, and begin with what they are.
    pub fn of(text: &'a str) -> Self {
        let mut after = Self::default();
        for part in text.split("\n\n").map(|part| part.trim_matches('\n')).filter(|part| !part.is_empty()) {
            if let Some(examples) = part.strip_prefix("Examples:\n") {
                after.examples.extend(taken_as_examples(examples));
            } else if let Some(statuses) = part.strip_prefix("Exit status:\n") {
                after.statuses.extend(statuses.lines().flat_map(taken_as_statuses));
            } else {
                after.notes.push(flowing(part));
            }
        }
        after
    }
}

/// A command is indented by two, what it does by more.
fn taken_as_examples(text: &str) -> Vec<(&str, String)> {
    let mut examples: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let shown = line.trim();
        match examples.last_mut() {
            Some((_, what)) if line.starts_with("   ") => {
                if !what.is_empty() {
                    what.push(' ');
                }
                what.push_str(shown);
            }
            _ => examples.push((shown, String::new())),
        }
    }
    examples
}

/// Several stand in a line: a number and its meaning, apart by two blanks at least.
fn taken_as_statuses(line: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Lines that were broken for a terminal, as a paragraph.
fn flowing(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_help_page_is_taken_apart() {
        let text = "Examples:\n  one --two\n      does it\n      well\n  three\n      ends\n\nA note,\nin two lines.\n\n\
                    Exit status:\n  0  done        1  failed\n  3  VOID";
        let after = After::of(text);
        assert_eq!(after.examples, [("one --two", "does it well".into()), ("three", "ends".into())]);
        assert_eq!(after.statuses, [("0", "done"), ("1", "failed"), ("3", "VOID")]);
        assert_eq!(after.notes, ["A note, in two lines."]);
        assert_eq!(After::of(""), After::default());
    }
}
