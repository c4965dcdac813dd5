//! Keys, of the bytes that a terminal sends. crossterm's own reader never returns once the terminal is gone.

use ratatui::crossterm::event::KeyCode;

const ESCAPE: u8 = 0x1b;

/// Ctrl-C, where it is no signal.
pub const INTERRUPT: KeyCode = KeyCode::Char('\x03');

/// The keys in order, without those that are sequences of no use here.
pub fn keys(mut sent: &[u8]) -> Vec<KeyCode> {
    let mut keys = Vec::new();
    while !sent.is_empty() {
        let (key, rest) = first(sent);
        keys.extend(key);
        sent = rest;
    }
    keys
}

fn first(sent: &[u8]) -> (Option<KeyCode>, &[u8]) {
    match sent {
        [ESCAPE, b'[' | b'O', rest @ ..] => {
            let end = rest.iter().position(|byte| (b'@'..=b'~').contains(byte));
            let (sequence, rest) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            (arrow(sequence), rest)
        }
        [ESCAPE, rest @ ..] => (Some(KeyCode::Esc), rest),
        [b'\r' | b'\n', rest @ ..] => (Some(KeyCode::Enter), rest),
        [0x08 | 0x7f, rest @ ..] => (Some(KeyCode::Backspace), rest),
        [byte, rest @ ..] => (Some(KeyCode::Char(char::from(*byte))), rest),
        [] => (None, sent),
    }
}

fn arrow(sequence: &[u8]) -> Option<KeyCode> {
    match sequence.last()? {
        b'A' => Some(KeyCode::Up),
        b'B' => Some(KeyCode::Down),
        b'C' => Some(KeyCode::Right),
        b'D' => Some(KeyCode::Left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_names_an_arrow_and_other_sequences_are_no_keys() {
        use KeyCode::{Backspace, Char, Down, Enter, Esc, Left, Up};
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[1;5Dq"), [Up, Down, Left, Char('q')]);
        assert_eq!(keys(b"\x1b[15~\x1bOP\r\x7f\x1b"), [Enter, Backspace, Esc]);
        assert_eq!(keys(b"\x03\x1b[1"), [INTERRUPT]);
    }
}
