//! Values of a plan as words of the command line.

use std::borrow::Cow;

use clap::Arg;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use netfathom_model::path::Direction;

/// A word, what it stands for, and a line of help.
pub type Word<T> = (&'static str, T, &'static str);

/// Takes one of these words. One without help is another form of that before it, and is not shown.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    words: impl Into<Cow<'static, [Word<T>]>>,
) -> impl TypedValueParser<Value = T> {
    let words = words.into();
    let value = |&(word, _, help): &Word<T>| PossibleValue::new(word).help(help).hide(help.is_empty());
    PossibleValuesParser::new(words.iter().map(value)).try_map(move |typed: String| {
        let found = words.iter().find(|(word, ..)| word.eq_ignore_ascii_case(&typed));
        found.map(|&(_, value, _)| value).ok_or("no such word")
    })
}

/// The stages of each direction and what they mean, for help.
pub fn stages<I: Iterator<Item = (&'static str, &'static str)>>(of: impl Fn(Direction) -> I) -> String {
    let rows = |direction| {
        of(direction).map(|(name, meaning)| format!("\n  {name:<11}{meaning}")).collect::<String>()
    };
    format!("Stages, sending:{}\n\nStages, receiving:{}", rows(Direction::Tx), rows(Direction::Rx))
}

/// An option that this command has, and has no use for.
pub fn hidden(arg: Arg) -> Arg {
    arg.hide(true)
}
