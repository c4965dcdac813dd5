//! Showing a file in a browser.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::output;

/// How long a browser may take to say that it cannot.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows a file, or says where it is and how to open it.
pub fn show(path: &Path) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match opened(&path) {
        Ok(()) => Ok(()),
        Err(why) => output::print(&format!(
            "not opened: {}. Open it in any browser, here or on another machine: {}",
            output::harmless(&why),
            output::harmless(&format!("file://{}", path.display()))
        )),
    }
}

fn opened(path: &Path) -> Result<(), String> {
    let program = program(|name| env::var_os(name).filter(|value| !value.is_empty()))?;
    let shown = program.to_string_lossy().into_owned();
    let mut command = Command::new(&program);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
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

/// The program that opens files.
fn program(var: impl Fn(&str) -> Option<OsString>) -> Result<OsString, String> {
    if let Some(browser) = var("BROWSER") {
        return Ok(browser);
    }
    if var("DISPLAY").is_none() && var("WAYLAND_DISPLAY").is_none() {
        return Err("there is no display here, and no $BROWSER".into());
    }
    Ok("xdg-open".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(set: &[(&str, &str)]) -> Result<OsString, String> {
        program(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn a_browser_that_is_named_goes_first() {
        assert_eq!(chosen(&[("BROWSER", "w3m"), ("DISPLAY", ":0")]), Ok("w3m".into()));
        assert_eq!(chosen(&[("WAYLAND_DISPLAY", "wayland-0")]), Ok("xdg-open".into()));
        assert!(chosen(&[]).unwrap_err().contains("no display"));
    }
}
