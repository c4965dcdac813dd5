//! Showing an address in the user's browser.

use std::process::{Command, Stdio};

use anyhow::{Result, anyhow};

/// Opens the address with the program that the desktop has for it, and does not wait for that.
pub fn open(address: &str) -> Result<()> {
    let shown = |why: String| anyhow!("cannot open a browser: {why}; open {address} yourself");
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|name| std::env::var_os(name).is_none_or(|v| v.is_empty())) {
        return Err(shown("there is no display here".into()));
    }
    let quiet = || Stdio::null();
    let started =
        Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    let mut child = started.map_err(|e| shown(format!("xdg-open: {e}")))?;
    // Reaped when it ends, which may be with the browser.
    std::thread::spawn(move || child.wait());
    Ok(())
}
