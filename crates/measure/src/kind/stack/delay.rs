//! A known delay on the path, to prove the stages.

use netfathom_bpf::delay::{Delay, DelayError};
use netfathom_model::path::Direction;
use netfathom_model::plan::InsertedDelay;

use crate::ground::error::{Failure, GroundError, RunError};
use crate::ground::lab::{Lab, LabError, Role};

impl Failure for DelayError {}

/// Puts the delay on the device that its direction passes.
pub fn insert(lab: &Lab, delay: InsertedDelay) -> Result<Delay, RunError> {
    let (namespace, role) = match delay.direction {
        Direction::Tx => (&lab.sender, Role::Sender),
        Direction::Rx => (&lab.reader, Role::Reader),
    };
    let index = lab.link(role).index;
    let attached = namespace.run(|| Delay::attach(index, delay.direction, delay.delay_ns));
    Ok(attached.map_err(LabError::from).map_err(GroundError::from)??)
}
