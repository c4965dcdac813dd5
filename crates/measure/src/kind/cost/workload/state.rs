//! A tree that was made for a benchmark: what a run finds of it.

use crate::kind::cost::benchmark::tree::Tree;
use crate::kind::cost::error::CostError;

pub struct TreeState {
    pub tree: Tree,
    /// Whether its files are dropped from the page cache, or read.
    pub cold: bool,
    /// Which share of it was in the page cache before a run, least and most.
    pub resident: Option<(f64, f64)>,
}

impl TreeState {
    /// Puts it as it was.
    pub fn prepare(&mut self) -> Result<(), CostError> {
        if self.cold { self.tree.cold() } else { self.tree.warm() }.map_err(CostError::benchmark)?;
        let now = self.tree.resident_share().map_err(CostError::benchmark)?;
        let (least, most) = self.resident.unwrap_or((now, now));
        self.resident = Some((least.min(now), most.max(now)));
        Ok(())
    }

    pub fn about(&self) -> Option<String> {
        let (least, most) = self.resident?;
        let (least, most) = (100.0 * least, 100.0 * most);
        Some(format!("; {least:.0} to {most:.0} % of it was in the page cache before a run"))
    }
}
