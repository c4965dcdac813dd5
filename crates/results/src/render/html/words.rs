//! What a reader needs before the answer: how far to trust it, and whether all of it is there.

use netfathom_model::record::State;
use netfathom_model::verdict::Level;

pub fn trust(level: Level) -> &'static str {
    match level {
        Level::Valid => "No reason was found to doubt the answer.",
        Level::Degraded => "Read these figures with the reasons in mind.",
        Level::Void => "Do not use these figures.",
    }
}

/// What is missing of a record that is not whole; `done` is how much of the plan is there.
pub fn state(state: State, done: &str) -> Option<String> {
    let what = match state {
        State::Complete => return None,
        State::Partial => "Partial: this was written while trials were still to come.",
        State::Interrupted => "Interrupted: the user ended it early; the finished trials are kept.",
    };
    Some(format!("{what} {done}."))
}
