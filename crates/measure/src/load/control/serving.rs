//! One host after the other, each with as many trials as it asks for.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::{ControlError, Greeting, Listener, Talk};

/// How long is listened before it is looked whether to end.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub enum ServeEvent {
    Listening {
        at: SocketAddr,
        cpu: usize,
    },
    Begins {
        peer: SocketAddr,
    },
    Ended {
        peer: SocketAddr,
        trials: u32,
    },
    /// A host was lost, or a trial could not be made.
    Lost {
        peer: SocketAddr,
        trials: u32,
        why: String,
    },
}

/// Serves until it is stopped, or `most` hosts were served; `serve` counts the trials of one.
pub fn serve_each<G: Greeting, E: Display>(
    listener: &Listener<G>,
    most: Option<u32>,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(ServeEvent),
    mut serve: impl FnMut(Talk, &mut u32) -> Result<(), E>,
) -> Result<(), ControlError> {
    let mut hosts = 0;
    while !stop.load(Relaxed) && most.is_none_or(|most| hosts < most) {
        let Some(incoming) = listener.accept(PATIENCE)? else { continue };
        let talk = incoming.talk();
        let peer = SocketAddr::new(talk.peer().ip().to_canonical(), talk.peer().port());
        notify(ServeEvent::Begins { peer });
        let mut trials = 0;
        notify(match serve(talk, &mut trials) {
            Ok(()) => ServeEvent::Ended { peer, trials },
            Err(error) => ServeEvent::Lost { peer, trials, why: error.to_string() },
        });
        hosts += 1;
    }
    Ok(())
}
