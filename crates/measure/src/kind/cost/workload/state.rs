//! What a benchmark finds when it starts, and what puts that as it was.

use crate::kind::cost::benchmark::tree::Tree;
use crate::kind::cost::error::CostError;

pub enum TreeState {
    Asis,
    /// A tree that was made for it.
    Tree {
        tree: Box<Tree>,
        /// Whether its files are dropped from the page cache, or read.
        cold: bool,
        /// Which share of it was in the page cache before a run, least and most.
        resident: Option<(f64, f64)>,
    },
}

impl TreeState {
    /// Puts it as it was.
    pub fn prepare(&mut self) -> Result<(), CostError> {
        let Self::Tree { tree, cold, resident } = self else { return Ok(()) };
        let failed =
            |error: crate::kind::cost::benchmark::tree::TreeError| CostError::Benchmark(error.to_string());
        if *cold { tree.cold() } else { tree.warm() }.map_err(failed)?;
        let now = tree.resident_share().map_err(failed)?;
        let (least, most) = resident.unwrap_or((now, now));
        *resident = Some((least.min(now), most.max(now)));
        Ok(())
    }

    pub fn about(&self) -> String {
        match self {
            Self::Asis | Self::Tree { resident: None, .. } => String::new(),
            Self::Tree { resident: Some((least, most)), .. } => format!(
                "; {:.0} to {:.0} % of it was in the page cache before a run",
                100.0 * least,
                100.0 * most
            ),
        }
    }
}
