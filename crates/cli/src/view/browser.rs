//! Showing an address in the user's browser.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Result, anyhow};

/// Opens the address in $BROWSER, or else with the program that the desktop has for it, and does not wait for that.
pub fn open(address: &str) -> Result<()> {
    let not_shown = |why: String| anyhow!("cannot open a browser: {why}; open {address} yourself");
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let display = set("DISPLAY").or(set("WAYLAND_DISPLAY")).map(|_| OsString::from("xdg-open"));
    let Some(program) = set("BROWSER").or(display) else {
        return Err(not_shown("there is no display here, and no $BROWSER".into()));
    };
    let mut command = Command::new(&program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C ends this server and not the browser.
    command.process_group(0);
    let started = command.spawn();
    let mut child = started.map_err(|e| not_shown(format!("{}: {e}", program.to_string_lossy())))?;
    // Reaped when it ends, which may be with the browser.
    thread::spawn(move || child.wait());
    Ok(())
}
