//! One page of the browser, as a test uses it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use serde_json::{Value, json};

use super::process::{Browser, PATIENCE, PROGRAM, browser, result};
use crate::skipped;

/// A page in a browser context of its own, which goes with it.
pub struct Page {
    browser: Arc<Browser>,
    context: String,
    session: String,
    messages: Receiver<Value>,
    /// What the page did unasked: console, log, requests, issues.
    events: Vec<Value>,
}

impl Page {
    /// An empty page; `None`, with the reason on standard error, where there is no browser.
    pub fn start(test: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            skipped(test, &format!("{PROGRAM} is not installed; install Debian's package chromium"));
            return None;
        }
        let browser = browser();
        let text = |answer: Value, name: &str| answer[name].as_str().expect("an answer has it").to_owned();
        let context = text(browser.call("Target.createBrowserContext", &json!({})), "browserContextId");
        let wanted = json!({"url": "about:blank", "browserContextId": context});
        let target = text(browser.call("Target.createTarget", &wanted), "targetId");
        let wanted = json!({"targetId": target, "flatten": true});
        let session = text(browser.call("Target.attachToTarget", &wanted), "sessionId");
        let messages = browser.listen(&session);
        let mut page = Self { browser, context, session, messages, events: Vec::new() };
        for domain in ["Runtime", "Log", "Network", "Page", "Audits"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        Some(page)
    }

    /// Calls a method of the protocol and waits for its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, &params);
        result(method, answer)
    }

    /// What the browser answers, a refusal too.
    fn answer(&mut self, method: &str, params: &Value) -> Value {
        let id = self.browser.send(&self.session, method, params);
        loop {
            let message = self.next_message(method);
            if message["id"] == json!(id) {
                return message;
            }
            self.events.push(message);
        }
    }

    fn next_message(&self, waiting_for: &str) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("no answer to {waiting_for}: {e}"))
    }

    /// Waits for an event that passes, also if it is there already.
    fn wait_for_event(&mut self, method: &str, passes: impl Fn(&Value) -> bool) {
        while !self.events.iter().any(|e| e["method"] == method && passes(&e["params"])) {
            let event = self.next_message(method);
            self.events.push(event);
        }
    }

    /// Does what makes the page save a file into a directory, and waits until it is there.
    pub fn save(&mut self, directory: &Path, act: &str) {
        let behaviour = json!({"behavior": "allow", "downloadPath": directory,
            "browserContextId": self.context, "eventsEnabled": true});
        self.call("Browser.setDownloadBehavior", behaviour);
        self.events.retain(|e| e["method"] != "Browser.downloadProgress");
        self.eval(act);
        self.wait_for_event("Browser.downloadProgress", |progress| progress["state"] == "completed");
    }

    /// Opens an address and waits until it was loaded.
    pub fn open(&mut self, address: &str) {
        self.events.retain(|e| e["method"] != "Page.loadEventFired");
        let opened = self.call("Page.navigate", json!({"url": address}));
        assert!(opened["errorText"].is_null(), "{opened}");
        self.wait_for_event("Page.loadEventFired", |_| true);
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", evaluated(expression));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression in the page is true, also where another page is still to come.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        let asked = evaluated(&format!("Boolean({expression})"));
        // A page that goes away meanwhile cannot be asked.
        while self.answer("Runtime.evaluate", &asked)["result"]["result"]["value"] != json!(true) {
            assert!(start.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(std::time::Duration::from_millis(10));
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

    /// Lets observers and redraws of the page finish. They run before a frame is painted; no script of ours has a timer.
    pub fn settle(&mut self) {
        let painted = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
        let answer = self.answer("Runtime.evaluate", &evaluated(painted));
        // A page that goes away meanwhile has nothing left to finish.
        let gone = answer["error"]["message"].as_str().is_some_and(|why| why.contains("navigated or closed"));
        assert!(gone || answer["error"].is_null(), "{answer}");
        assert!(answer["result"]["exceptionDetails"].is_null(), "{answer}");
    }

    /// The same, and lets the browser tell what it has noticed meanwhile.
    fn calm(&mut self) {
        self.settle();
        self.eval("new Promise((done) => setTimeout(done, 50))");
    }

    pub fn complaints(&mut self) -> Vec<String> {
        self.calm();
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
        self.calm();
        let sent = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.filter_map(|e| e["params"]["request"]["url"].as_str()).map(String::from).collect()
    }
}

pub fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}

impl Drop for Page {
    fn drop(&mut self) {
        // No answer is needed; a browser that has ended has no pages either.
        self.browser.close(&self.context);
        self.browser.forget(&self.session);
    }
}

fn evaluated(expression: &str) -> Value {
    json!({"expression": expression, "returnByValue": true, "awaitPromise": true})
}
