//! Which process is meant.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use netfathom_sys::process;

/// Processes that are listed where a name fits several.
const SHOWN: usize = 10;
/// Characters of a command line that are shown.
const SHOWN_CHARS: usize = 50;

/// The number of a process from what the user wrote: a number, or a name that one process has,
/// as the kernel knows it or as it was called.
pub fn process(whom: &str) -> Result<u32> {
    if let Ok(pid) = whom.parse() {
        return Ok(pid);
    }
    let mut found = process::all()?;
    found.retain(|&pid| pid != std::process::id() && is_called(pid, whom));
    found.sort_unstable();
    match found[..] {
        [pid] => Ok(pid),
        [] => bail!(
            "cannot listen to `{whom}`: no process has this name, neither in /proc/PID/comm nor as the program \
             that it was started as; look it up with ps, and write its number"
        ),
        _ => {
            let shown: Vec<String> =
                found.iter().take(SHOWN).map(|&pid| format!("  {pid} {}", called(pid))).collect();
            let more = found.len() - shown.len();
            let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
            bail!(
                "cannot listen to `{whom}`: {} processes have this name; write the number of one:\n{}{more}",
                found.len(),
                shown.join("\n")
            )
        }
    }
}

fn is_called(pid: u32, name: &str) -> bool {
    let comm = process::name(pid).unwrap_or_default();
    let arguments = arguments(pid);
    let first = arguments.first().and_then(|first| Path::new(first).file_name()?.to_str());
    comm == name || first == Some(name)
}

fn arguments(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Its command line, or a part of that.
fn called(pid: u32) -> String {
    arguments(pid).join(" ").trim_end().chars().take(SHOWN_CHARS).collect()
}
