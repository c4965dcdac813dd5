//! Text from elsewhere on a terminal.

use std::io::{self, IsTerminal, Write};

use netfathom_results::page::steers;

/// Without the characters that a terminal would obey, or that deceive its reader: a name, or what another program
/// wrote, may hold them. Lines and columns stay.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if steers(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// What text is written to: as it is, or [`harmless`] where that is a terminal.
pub fn spared<'a>(out: impl Write + IsTerminal + Send + 'a) -> Box<dyn Write + Send + 'a> {
    if out.is_terminal() { Box::new(Harmless { out, begun: Vec::new() }) } else { Box::new(out) }
}

struct Harmless<W> {
    out: W,
    /// A line without its end so far: a character may be cut in two there.
    begun: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    fn put(&mut self, most: usize) -> io::Result<()> {
        let text: Vec<u8> = self.begun.drain(..most).collect();
        self.out.write_all(harmless(&String::from_utf8_lossy(&text)).as_bytes())
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.put(whole)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put(self.begun.len())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_harmless_wherever_it_is_cut() {
        let text = "a\u{1b}[2J µ\u{202e}\r\nb\u{9b}31m\u{7f}\tend";
        let mut whole = Vec::new();
        for at in 0..text.len() {
            let mut out = Harmless { out: Vec::new(), begun: Vec::new() };
            let (before, after) = text.as_bytes().split_at(at);
            out.write_all(before).and_then(|()| out.write_all(after)).and_then(|()| out.flush()).unwrap();
            whole.push(String::from_utf8(out.out).unwrap());
        }
        let expected = "a\u{fffd}[2J µ\u{fffd}\u{fffd}\nb\u{fffd}31m\u{fffd}\tend";
        assert!(whole.iter().all(|shown| shown == expected), "{whole:?}");
    }
}
