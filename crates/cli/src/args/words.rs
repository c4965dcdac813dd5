//! Values of a plan as words of the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, what it stands for, and a line of help.
pub type Word<T> = (&'static str, T, &'static str);

/// Takes one of these words. One without help is another form of that before it, and is not shown.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [Word<T>],
) -> impl TypedValueParser<Value = T> {
    let value = |&(word, _, help): &Word<T>| PossibleValue::new(word).help(help).hide(help.is_empty());
    PossibleValuesParser::new(words.iter().map(value)).try_map(|typed: String| {
        let found = words.iter().find(|(word, ..)| word.eq_ignore_ascii_case(&typed));
        found.map(|&(_, value, _)| value).ok_or("no such word")
    })
}

/// Names and what they mean, under a heading.
pub fn meanings<'a>(heading: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows = rows.map(|(name, meaning)| format!("\n  {name:<11}{meaning}"));
    format!("{heading}:{}", rows.collect::<String>())
}
