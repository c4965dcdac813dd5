//! Enough of the shell's grammar to find a program's arguments in what people type.

use std::iter::Peekable;
use std::str::Chars;

/// The calls of a program in some lines of shell, each as its words, the program among them. What the shell would put in
/// place of `$(...)` and of variables is `1` here.
pub fn calls(script: &str, program: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let mut calls = Vec::new();
    for words in commands(&script) {
        // Words like `sudo`, and variables of its environment, stand before it.
        let Some(at) = words.iter().position(|word| word == program) else { continue };
        let before = |word: &String| word == "sudo" || word == "exec" || word == "!" || word.contains('=');
        if words[..at].iter().all(before) {
            calls.push(words[at..].to_vec());
        }
    }
    calls
}

/// Simple commands as words, without redirections.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut read = Read::default();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => read.end_word(),
            '<' | '>' => {
                read.redirect(c);
                chars.next_if(|&next| next == '>' || next == '&');
            }
            '\n' | ';' | '|' | '&' | '(' | ')' => read.end_command(),
            '{' | '}' if read.word.is_none() => read.end_command(),
            '#' if read.word.is_none() => while chars.next_if(|&next| next != '\n').is_some() {},
            '\\' => read.word().extend(chars.next()),
            '\'' => read.word().extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => quoted(&mut chars, read.word()),
            '$' => put_in_place(&mut chars, read.word()),
            c => read.word().push(c),
        }
    }
    read.end_command();
    read.commands
}

#[derive(Default)]
struct Read {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// The word is a file that something is redirected to.
    is_file: bool,
}

impl Read {
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.is_file)
        {
            self.words.push(word);
        }
    }

    fn redirect(&mut self, to: char) {
        // A number before it is that of a descriptor.
        if to == '>' && self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.is_file = true;
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

fn quoted(chars: &mut Peekable<Chars<'_>>, word: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => word.extend(chars.next()),
            '$' => put_in_place(chars, word),
            c => word.push(c),
        }
    }
}

/// `$(...)`, `$name` or `${name}`.
fn put_in_place(chars: &mut Peekable<Chars<'_>>, word: &mut String) {
    word.push('1');
    match chars.peek() {
        Some('(') => {
            let mut depth = 0;
            for c in chars.by_ref() {
                depth += i32::from(c == '(') - i32::from(c == ')');
                if depth == 0 {
                    break;
                }
            }
        }
        Some('{') => chars.by_ref().take_while(|&c| c != '}').for_each(drop),
        Some('!' | '?' | '$' | '@' | '#') => drop(chars.next()),
        _ => while chars.next_if(|c| c.is_alphanumeric() || *c == '_').is_some() {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_shell() {
        let script = "tar cf - . | netfathom ttcp -t B   # sends | it\n\
                      FOO=1 netfathom cost --benchmark build='make -C x all' -- sh -c \"a; b\" >/dev/null 2>&1 &\n\
                      netfathom cost --pid $(pidof a b) && netfathom load send \\\n  --to $HOST:9000\n\
                      echo netfathom stack; kill $!";
        let calls = calls(script, "netfathom");
        let texts: Vec<String> = calls.iter().map(|words| words.join("|")).collect();
        assert_eq!(
            texts,
            [
                "netfathom|ttcp|-t|B",
                "netfathom|cost|--benchmark|build=make -C x all|--|sh|-c|a; b",
                "netfathom|cost|--pid|1",
                "netfathom|load|send|--to|1:9000",
            ]
        );
    }
}
