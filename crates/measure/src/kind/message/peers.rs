//! Other projects' libraries: which of them take part.

use std::sync::Arc;

use netfathom_model::layer::{Layer, Peer};
use netfathom_model::plan::{MessagePlan, Placement};
use netfathom_model::record::AbsentCell;
use netfathom_sys::peer::{Library, Nng, PeerError, Zmq};

/// The libraries that a run needs, loaded.
#[derive(Default)]
pub struct Peers(Vec<(Peer, Arc<dyn Library>)>);

impl Peers {
    /// Loads those that are asked for by name. Where the plan has all of them take part, those that
    /// are here become layers of it, and those that are not are told.
    pub fn load(plan: &mut MessagePlan) -> Result<(Self, Vec<AbsentCell>), PeerError> {
        let (mut here, mut absent) = (Self::default(), Vec::new());
        for &name in Peer::ALL {
            let layer = Layer::Peer { name };
            let by_name = plan.layers.contains(&layer);
            if !by_name && !plan.peers {
                continue;
            }
            match load(name) {
                Ok(library) => here.0.push((name, library)),
                Err(error) if by_name => return Err(error),
                Err(error) => {
                    absent.push(missing(layer, &error));
                    continue;
                }
            }
            if !by_name {
                plan.layers.push(layer);
            }
        }
        Ok((here, absent))
    }

    pub fn get(&self, name: Peer) -> Option<Arc<dyn Library>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, library)| Arc::clone(library))
    }
}

fn load(name: Peer) -> Result<Arc<dyn Library>, PeerError> {
    Ok(match name {
        Peer::Zmq => Arc::new(Zmq::load()?),
        Peer::Nng => Arc::new(Nng::load()?),
    })
}

/// Nothing is nearest to it but the library itself, whose package the error names.
fn missing(layer: Layer, error: &PeerError) -> AbsentCell {
    AbsentCell {
        placement: Placement::UU,
        layer: Some(layer),
        why: error.to_string(),
        nearest: String::new(),
    }
}
