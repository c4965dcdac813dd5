//! The browser of this test process, and whom its messages are for.
//!
//! The browser talks on its descriptors 3 and 4; a shell puts them there, so that neither a
//! port, nor a websocket, nor unsafe code is needed. It ends when its end of the pipe is closed,
//! so also with a test process that was killed; the shell then removes its profile.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Where Debian has it.
pub const PROGRAM: &str = "/usr/bin/chromium";
/// How long a browser on a busy machine may take for one thing.
pub const PATIENCE: Duration = Duration::from_secs(60);
const FLAGS: [&str; 13] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-startup-window",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--password-store=basic",
    "--remote-debugging-pipe",
];
/// The shell lets go of the pipe as soon as the browser has it, and outlives it.
const SHELL: &str = r#"profile=$(mktemp -d) || exit
exec 3<&0 4>&1 0</dev/null 1>&2
"$0" "$@" "--user-data-dir=$profile" &
exec 3<&- 4>&-
wait
rm -rf "$profile""#;

/// What a message is for: an answer to a call outside of pages, or a page.
#[derive(PartialEq, Eq, Hash)]
enum Reader {
    Call(u64),
    Session(String),
}

type Readers = Arc<Mutex<HashMap<Reader, Sender<Value>>>>;

pub struct Browser {
    to: Mutex<ChildStdin>,
    last_id: AtomicU64,
    readers: Readers,
    shell: Mutex<Child>,
}

/// That of this process, which a test that panics leaves as good as it was.
static BROWSER: Mutex<Option<Arc<Browser>>> = Mutex::new(None);

/// The browser of this process; another where the last one has ended.
pub fn browser() -> Arc<Browser> {
    let mut browser = held(&BROWSER);
    if let Some(running) = browser.as_ref().filter(|browser| browser.runs()) {
        return Arc::clone(running);
    }
    Arc::clone(browser.insert(Arc::new(Browser::launch())))
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Browser {
    fn launch() -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", SHELL, PROGRAM])
            .args(FLAGS)
            // What is typed at a terminal reaches the tests alone, so that the shell can clean up after them.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let to = shell.stdin.take().expect("a pipe");
        let from = shell.stdout.take().expect("a pipe");
        let readers = Readers::default();
        let theirs = Arc::clone(&readers);
        std::thread::spawn(move || pass_on(from, &theirs));
        Self { to: Mutex::new(to), last_id: AtomicU64::new(0), readers, shell: Mutex::new(shell) }
    }

    fn runs(&self) -> bool {
        matches!(held(&self.shell).try_wait(), Ok(None))
    }

    /// Writes a call down the pipe; its number.
    pub fn send(&self, session: &str, method: &str, params: &Value) -> u64 {
        let id = self.next_id();
        self.write(&json!({"id": id, "method": method, "params": params, "sessionId": session}))
            .expect("the browser listens");
        id
    }

    /// Ends a context with its pages, unless the browser has ended.
    pub fn close(&self, context: &str) {
        let params = json!({"browserContextId": context});
        let message =
            json!({"id": self.next_id(), "method": "Target.disposeBrowserContext", "params": params});
        // While a test panics nothing else may.
        let _ = self.write(&message);
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn write(&self, message: &Value) -> std::io::Result<()> {
        let mut to = held(&self.to);
        write!(to, "{message}\0").and_then(|()| to.flush())
    }

    /// Calls a method that is not of a page, and waits for its result.
    pub fn call(&self, method: &str, params: &Value) -> Value {
        let id = self.next_id();
        let answers = self.read(Reader::Call(id));
        self.write(&json!({"id": id, "method": method, "params": params})).expect("the browser listens");
        let answer = answers.recv_timeout(PATIENCE);
        held(&self.readers).remove(&Reader::Call(id));
        result(method, answer.unwrap_or_else(|e| panic!("no answer to {method}: {e}")))
    }

    /// The messages of a session from now on: answers and events, in their order.
    pub fn listen(&self, session: &str) -> Receiver<Value> {
        self.read(Reader::Session(session.into()))
    }

    pub fn forget(&self, session: &str) {
        held(&self.readers).remove(&Reader::Session(session.into()));
    }

    fn read(&self, reader: Reader) -> Receiver<Value> {
        let (sender, receiver) = channel();
        held(&self.readers).insert(reader, sender);
        receiver
    }
}

pub fn result(method: &str, mut answer: Value) -> Value {
    assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
    answer["result"].take()
}

/// Gives each message to whom it is for, until the browser ends.
fn pass_on(from: impl Read, readers: &Readers) {
    for message in BufReader::new(from).split(0).map_while(Result::ok) {
        let Ok(message) = serde_json::from_slice::<Value>(&message) else { break };
        let reader = match (message["sessionId"].as_str(), message["id"].as_u64()) {
            (Some(session), _) => Reader::Session(session.into()),
            (None, Some(id)) => Reader::Call(id),
            // An event of the browser, without a reader.
            (None, None) => continue,
        };
        if let Some(tell) = held(readers).get(&reader) {
            // Its reader may have gone with a test that failed.
            let _ = tell.send(message);
        }
    }
    // Who still waits hears at once that nothing comes any more.
    held(readers).clear();
}
