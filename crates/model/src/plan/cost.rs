//! The plan of `netfathom cost`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, S, conflict, range, span};

mod benchmark;
mod subject;
#[cfg(test)]
mod tests;

pub use benchmark::{Benchmark, BenchmarkKind, MarkMeans, MarkSource};
pub use subject::{Interception, Subject, WhenEnded};

/// What stands for a level in a command.
pub const LEVEL_WORD: &str = "{level}";
/// The level of a load that has but one.
pub const ONE_LOAD: &str = "load";
/// The paper's packets: bytes of a frame (Qian & Wang 2006).
pub const PAPER_FRAME_BYTES: u32 = 1064;
/// The smallest frame that carries a message of ours, and the largest of the lab.
const FRAME_BYTES: (u64, u64) = (90, 1514);
/// Each is a run of the benchmark in every block.
const MOST_LEVELS: u64 = 32;

/// The plan of `netfathom cost`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostPlan {
    /// What is under test.
    pub subject: Subject,
    /// From whom it takes.
    pub benchmarks: Vec<Benchmark>,
    /// What the program under test has to do, besides being there.
    pub load: Option<CostLoad>,
    /// How much of it, a condition each; none if there is but one.
    pub levels: Vec<CostLevel>,
    /// How marks are taken; `None` for the best way that works.
    pub means: Option<MarkMeans>,
    /// Whether the benchmark's own system calls are timed and ranked as well.
    pub own: bool,
    /// Half the width of the slowdown's 99 % interval that the number of blocks aims at; 0.01 is 1 %.
    pub precision: f64,
    /// Blocks that there are at least,
    pub least_blocks: u32,
    /// and at most.
    pub most_blocks: u32,
    /// No block begins after this time, except the least.
    pub most_ns: u64,
    /// What the program gets to start up before a trial.
    pub settle_ns: u64,
    /// What the program gets to end by itself after SIGTERM.
    pub grace_ns: u64,
    /// CPUs of the benchmarks; all if empty.
    pub cpu: Vec<usize>,
    /// CPUs of the program under test; all if empty.
    pub program_cpu: Vec<usize>,
    /// Whether the program gets a terminal.
    pub terminal: bool,
    /// What it means if the program ends by itself.
    pub when_ended: WhenEnded,
    /// Whether trials without observation points are made too, to tell what these cost.
    #[serde(rename = "controls")]
    pub baselines: bool,
    /// Decides the order of trials and where files are planted.
    pub seed: u64,
}

/// What the program under test has to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "load")]
pub enum CostLoad {
    /// UDP from the lab's one host to the other, where the program runs.
    Udp {
        /// Bytes of a frame.
        frame_bytes: u32,
    },
    /// A shell command, in which `{level}` stands for the level.
    Command {
        /// The command.
        command: String,
    },
}

/// How much of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostLevel {
    /// As it was typed.
    pub text: String,
    /// Bits a second, where it is a rate.
    pub bits_per_s: Option<f64>,
}

impl CostPlan {
    /// A short plan: one benchmark with nothing beside it. Others are made from it by changing what is to be different.
    pub fn alone(name: &str, kind: BenchmarkKind) -> Self {
        Self {
            subject: Subject::Nothing,
            benchmarks: vec![Benchmark { name: name.into(), kind }],
            load: None,
            levels: Vec::new(),
            means: None,
            own: false,
            precision: 0.01,
            least_blocks: 3,
            most_blocks: 20,
            most_ns: 30 * S,
            settle_ns: 0,
            grace_ns: S / 10,
            cpu: Vec::new(),
            program_cpu: Vec::new(),
            terminal: false,
            when_ended: WhenEnded::Trouble,
            baselines: false,
            seed: 1,
        }
    }

    /// Whether nothing is beside the benchmarks: what they take themselves is then the answer.
    pub fn is_alone(&self) -> bool {
        self.subject == Subject::Nothing && self.load.is_none() && !self.own
    }

    /// The command that is the only benchmark, with nothing beside it, as a shell takes it.
    pub fn timed(&self) -> Option<String> {
        let [Benchmark { kind: BenchmarkKind::Command { command, .. }, .. }] = &self.benchmarks[..] else {
            return None;
        };
        let text = match &command[..] {
            [shell, flag, text] if shell == "sh" && flag == "-c" => text.clone(),
            words => words.join(" "),
        };
        self.is_alone().then_some(text)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        self.levels_go_together()?;
        if !(0.0001..=1.0).contains(&self.precision) {
            return conflict("--precision: choose from 0.01% to 100%");
        }
        range("max-blocks", self.most_blocks.into(), 2, 10_000)?;
        range("min-blocks", self.least_blocks.into(), 2, self.most_blocks.into())?;
        span("time", self.most_ns, (S, 86_400 * S))?;
        span("settle", self.settle_ns, (0, 600 * S))?;
        span("grace", self.grace_ns, (0, 600 * S))?;
        if let Subject::Command { argv } = &self.subject
            && argv.first().is_none_or(String::is_empty)
        {
            return conflict("there is no COMMAND: name the program under test after --");
        }
        if let (Some(pin), false) = (self.subject.pinned_to(&self.program_cpu), self.program_cpu.is_empty()) {
            return conflict(format!("--program-cpu: netfathom pins only a COMMAND that it starts; {pin}"));
        }
        for (index, benchmark) in self.benchmarks.iter().enumerate() {
            if self.benchmarks[..index].iter().any(|b| b.name == benchmark.name) {
                return conflict(format!("--benchmark: {} is there twice: leave one out", benchmark.name));
            }
            benchmark.kind.check()?;
            if let (BenchmarkKind::Marking { pid, .. }, Subject::Process { pid: stopped }) =
                (&benchmark.kind, &self.subject)
                && pid == stopped
            {
                return conflict(
                    "--pid and --marks-from are the same process: it cannot be watched while it is stopped",
                );
            }
        }
        Ok(self)
    }

    fn levels_go_together(&self) -> Result<(), PlanError> {
        range("levels: their number", self.levels.len() as u64, 0, MOST_LEVELS)?;
        for (index, level) in self.levels.iter().enumerate() {
            if level.text.is_empty() {
                return conflict("--levels: one is empty; name each, such as --levels 1,2,4");
            }
            if self.levels[..index].iter().any(|l| l.text == level.text) {
                return conflict(format!("--levels: {} is there twice: leave one out", level.text));
            }
        }
        let names_level = |text: &String| text.contains(LEVEL_WORD);
        let argv_has = matches!(&self.subject, Subject::Command { argv } if argv.iter().any(names_level));
        match &self.load {
            Some(CostLoad::Udp { frame_bytes }) => {
                range("frame", u64::from(*frame_bytes), FRAME_BYTES.0, FRAME_BYTES.1)?;
                // A frame a second; less is nothing that anybody could count.
                let least = 8.0 * f64::from(*frame_bytes);
                let may_be = |bits: f64| bits == 0.0 || (least..=100e9).contains(&bits);
                if !self.levels.iter().all(|l| l.bits_per_s.is_some_and(may_be)) {
                    return conflict(format!(
                        "--load udp: levels are bits a second, such as udp:0,800k,8M: 0, or {least:.0} (a frame a second) \
                         to 100G"
                    ));
                }
            }
            Some(CostLoad::Command { command })
                if !names_level(command) && self.levels.iter().any(|level| level.text != ONE_LOAD) =>
            {
                return conflict("--load: the command has no {level} in it; put it where the level goes");
            }
            Some(CostLoad::Command { .. }) if self.levels.is_empty() => {
                return conflict("--load: {level} stands for nothing; add --levels, such as --levels 1,2,4");
            }
            Some(CostLoad::Command { .. }) => {}
            None if argv_has && self.levels.is_empty() => {
                return conflict("COMMAND: {level} stands for nothing; add --levels, such as --levels 1,2,4");
            }
            None if !argv_has && !self.levels.is_empty() => {
                return conflict("--levels: neither COMMAND nor --load has {level} in it");
            }
            None => {}
        }
        Ok(())
    }
}
