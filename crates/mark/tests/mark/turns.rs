//! Programs that make marks: halves of tests, run in processes of their own so that each has its own ring.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use netfathom_mark::listen::{Listener, Mark};
use netfathom_mark::mark;

/// Far beyond what any test takes: whoever needs it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A half of a test, as a program.
pub fn half(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", "--quiet", "--test-threads=1", name]);
    command.env_remove("NETFATHOM_MARK_FD").env("RUST_BACKTRACE", "0");
    command
}

/// A program that waits for a line before each step.
pub struct Program {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it; it is ended with this value.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    /// Starts a half that is [`ready`], and lets it go on once somebody listens.
    pub fn heard(name: &str) -> (Self, Listener) {
        let mut program = Self::start(&mut half(name));
        program.until("ready");
        let listener = Listener::of_process(program.pid()).unwrap();
        program.go();
        (program, listener)
    }

    /// Waits until it says a line that begins with a word, and gives the rest of the line.
    pub fn until(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended before it printed {word}");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Lets it go on.
    pub fn go(&mut self) {
        self.tell("go");
    }

    /// Writes a line to its input.
    pub fn tell(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a half: says a word, past the harness.
pub fn say(word: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{word}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// In a half: waits for a line; ends with the test.
pub fn wait() {
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).unwrap() == 0 {
        std::process::exit(0);
    }
}

/// In a half: makes a ring, says so, and waits.
pub fn ready() {
    mark("ready");
    say("ready");
    wait();
}

/// Reads marks until `count` of them have come or are lost.
pub fn collect(listener: &mut Listener, count: u64) -> Vec<Mark> {
    let deadline = Instant::now() + HANGS;
    let mut marks = Vec::new();
    while (marks.len() as u64) + listener.lost() < count {
        assert!(Instant::now() < deadline, "{} marks, {} lost, and no more", marks.len(), listener.lost());
        listener.drain(&mut marks);
        thread::sleep(Duration::from_millis(1));
    }
    marks
}

/// Names in the order in which they came.
pub fn names(marks: &[Mark]) -> Vec<&str> {
    marks.iter().map(|mark| mark.name.as_str()).collect()
}
