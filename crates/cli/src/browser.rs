//! Showing a file or an address in the user's browser.

use std::env;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a browser may take to say that it cannot.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows it in $BROWSER, or else in what the desktop has for it, and leaves that open; an error says why not.
pub fn show(what: &OsStr) -> Result<(), String> {
    let words = program(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))?;
    let shown = words[0].clone();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(what).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C at our terminal is not meant for the browser.
    command.process_group(0);
    let mut child = command.spawn().map_err(|why| format!("cannot start {shown}: {why}"))?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{shown} could not: {status}")),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(why) => return Err(format!("{shown} is gone: {why}")),
        }
    }
    // It is still there, so it shows something; it stays when we go.
    Ok(())
}

/// The program that opens files, and its first arguments. Of several in $BROWSER, with colons between, the first.
fn program(var: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, String> {
    if let Some(browsers) = var("BROWSER") {
        let first = browsers.split(':').next().unwrap_or_default();
        let words: Vec<String> =
            first.split_whitespace().filter(|word| *word != "%s").map(Into::into).collect();
        return if words.is_empty() {
            Err(format!("$BROWSER names no program: {browsers}"))
        } else {
            Ok(words)
        };
    }
    if var("DISPLAY").is_none() && var("WAYLAND_DISPLAY").is_none() {
        return Err("there is no display here, and no $BROWSER".into());
    }
    Ok(vec!["xdg-open".into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(set: &[(&str, &str)]) -> Result<Vec<String>, String> {
        program(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).into()))
    }

    #[test]
    fn a_browser_that_is_named_goes_first() {
        let words = |all: &[&str]| Ok(all.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(chosen(&[("BROWSER", "w3m -T %s:lynx"), ("DISPLAY", ":0")]), words(&["w3m", "-T"]));
        assert_eq!(chosen(&[("WAYLAND_DISPLAY", "wayland-0")]), words(&["xdg-open"]));
        assert!(chosen(&[("BROWSER", ":")]).unwrap_err().contains("names no program"));
        assert!(chosen(&[]).unwrap_err().contains("no display"));
    }
}
