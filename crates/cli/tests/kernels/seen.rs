//! What the commands left on one kernel.

use std::fs;

use netfathom_testkit::emulator::Wanted;
use serde_json::Value;
use tempfile::TempDir;

use super::commands::{Extent, runs};

pub struct Seen {
    pub wanted: Wanted,
    pub release: String,
    pub extent: Extent,
    /// Of each machine that ran a part.
    folders: Vec<TempDir>,
}

impl Seen {
    /// Of the release and the folder of each machine.
    pub fn new(wanted: Wanted, extent: Extent, parts: Vec<(String, TempDir)>) -> Self {
        let release = parts[0].0.clone();
        Self { wanted, release, extent, folders: parts.into_iter().map(|(_, folder)| folder).collect() }
    }

    pub fn was_run(&self, name: &str) -> bool {
        runs(self.extent).iter().any(|run| run.name == name)
    }

    pub fn version(&self) -> (u32, u32) {
        version(&self.release)
    }

    /// A file of a command, in each folder that has it.
    pub fn texts(&self, name: &str, what: &str) -> Vec<String> {
        let file = format!("out/{name}.{what}");
        self.folders.iter().filter_map(|folder| fs::read_to_string(folder.path().join(&file)).ok()).collect()
    }

    /// A file of a command, which one machine has run.
    pub fn text(&self, name: &str, what: &str) -> String {
        self.texts(name, what).into_iter().next().unwrap_or_default()
    }

    pub fn status(&self, name: &str) -> String {
        self.text(name, "status").trim().to_owned()
    }

    /// What a command wrote to its standard output; null where that is no JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name, "json")).unwrap_or_default()
    }

    pub fn result(&self, name: &str) -> Value {
        self.json(name)["measurement"].clone()
    }

    /// A row of `netfathom host`.
    pub fn row(&self, name: &str) -> Value {
        Self::row_of(&self.json("host"), name)
    }

    pub fn row_of(host: &Value, name: &str) -> Value {
        let groups = host["groups"].as_array().cloned().unwrap_or_default();
        let rows = groups.iter().flat_map(|group| group["rows"].as_array().into_iter().flatten());
        rows.into_iter().find(|row| row["name"] == name).cloned().unwrap_or_default()
    }

    /// How many tests of a crate failed; `None` if some did not run to their end.
    pub fn failed_tests(&self) -> Option<u64> {
        let failed = |text: String| {
            let result = text.lines().rfind(|line| line.starts_with("test result: "))?;
            let (before, _) = result.split_once(" failed")?;
            before.rsplit(' ').next()?.parse::<u64>().ok()
        };
        self.texts("tests", "txt").into_iter().map(failed).sum()
    }

    /// Median of a stage, ns.
    pub fn median_ns(&self, name: &str, stage: &str) -> Option<f64> {
        self.stage(name, stage)?["times"]["measured"]["p50_ns"].as_f64()
    }

    pub fn stage(&self, name: &str, stage: &str) -> Option<Value> {
        let result = self.result(name);
        let ways = result["summaries"].as_array().into_iter().flatten();
        let mut stages = ways.flat_map(|way| way["stages"].as_array().into_iter().flatten());
        stages.find(|row| row["stage"] == stage).cloned()
    }
}

pub fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|digits| digits.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
