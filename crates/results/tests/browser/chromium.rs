//! A headless Chromium, driven by the DevTools protocol over a pipe.
//!
//! The browser talks on its descriptors 3 and 4; a shell puts them there, so that neither a
//! port, nor a websocket, nor unsafe code is needed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use netfathom_testkit::skipped;
use serde_json::{Value, json};

const PROGRAM: &str = "/usr/bin/chromium";
const PATIENCE: Duration = Duration::from_secs(60);
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// One browser with one page.
pub struct Page {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// What the page did unasked: console, log, requests, issues.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Starts a browser; `None`, with the reason on standard error, where there is none.
    pub fn start(test: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            skipped(test, &format!("{PROGRAM} is not installed; install Debian's package chromium"));
            return None;
        }
        let mut page = Self::launch();
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Runtime", "Log", "Network", "Page", "Audits"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        Some(page)
    }

    fn launch() -> Self {
        let profile = tempfile::tempdir().expect("a directory for the browser");
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#, PROGRAM])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let to = child.stdin.take().expect("a pipe");
        let answers = child.stdout.take().expect("a pipe");
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser writes JSON");
                if tell.send(message).is_err() {
                    break;
                }
            }
        });
        Self { child, to, from, last_id: 0, session: None, events: Vec::new(), _profile: profile }
    }

    /// Calls a method of the protocol and waits for its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").expect("the browser listens");
        self.to.flush().expect("the browser listens");
        loop {
            let answer = self.next_message(method);
            if answer["id"] == json!(self.last_id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next_message(&self, waiting_for: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("no answer to {waiting_for}: {e}"))
    }

    /// Opens a file and waits until it was loaded.
    pub fn open(&mut self, file: &Path) {
        let opened = self.call("Page.navigate", json!({"url": address(file)}));
        assert!(opened["errorText"].is_null(), "{opened}");
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.next_message("Page.loadEventFired");
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression in the page is true.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.eval(&format!("Boolean({expression})")) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Presses a key where the focus is.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.len() == 1 && kind == "keyDown" { key } else { "" };
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "text": text}));
        }
    }

    /// Moves the mouse to the middle of an element and then on by steps; `held` with the button.
    pub fn drag(&mut self, element: &str, steps: &[f64], held: bool) {
        let corner = format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        );
        let middle = self.eval(&corner);
        let (x, y) = (middle[0].as_f64().expect("x"), middle[1].as_f64().expect("y"));
        let mut mouse = |kind: &str, dx: f64| {
            let button = if held { "left" } else { "none" };
            let params =
                json!({"type": kind, "x": x + dx, "y": y, "button": button, "clickCount": u8::from(held)});
            self.call("Input.dispatchMouseEvent", params);
        };
        mouse("mouseMoved", 0.0);
        if held {
            mouse("mousePressed", 0.0);
        }
        steps.iter().for_each(|&dx| mouse("mouseMoved", dx));
        if held {
            mouse("mouseReleased", steps.last().copied().unwrap_or(0.0));
        }
        self.settle();
    }

    /// Gives the page a window of that size.
    pub fn resize(&mut self, width: u32, height: u32, mobile: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.settle();
    }

    /// Makes the page believe that its reader prefers the dark or the light.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
        self.settle();
    }

    /// Lets observers and redraws of the page finish.
    pub fn settle(&mut self) {
        self.eval("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 50))");
    }

    /// Everything that the page complained about.
    pub fn complaints(&mut self) -> Vec<String> {
        self.settle();
        let loud = ["error", "warning", "assert"].map(Value::from);
        let complaint = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Audits.issueAdded") => true,
            Some("Log.entryAdded") => e["params"]["entry"]["level"] != "verbose",
            Some("Runtime.consoleAPICalled") => loud.contains(&e["params"]["type"]),
            _ => false,
        };
        self.events.iter().filter(complaint).map(ToString::to_string).collect()
    }

    /// The address of every request that was made.
    pub fn requests(&mut self) -> Vec<String> {
        self.settle();
        let sent = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.filter_map(|e| e["params"]["request"]["url"].as_str()).map(String::from).collect()
    }
}

/// The address of a file.
pub fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}

impl Drop for Page {
    fn drop(&mut self) {
        let close = json!({"id": self.last_id + 1, "method": "Browser.close"});
        let asked = write!(self.to, "{close}\0").and_then(|()| self.to.flush()).is_ok();
        let start = Instant::now();
        while asked && start.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // It did not go by itself; both may fail only if it is gone by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
