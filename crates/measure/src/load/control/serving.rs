//! One host after the other, each with as many trials as it asks for.

use std::fmt::Display;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::{ControlError, Greeting, Listener, Talk};
use crate::load::allow::{Allowed, Prefix};

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

/// Serves hosts of private networks and of those that are allowed until it is stopped, or `most` were served; `serve` counts
/// the trials of one.
pub fn serve_each<G: Greeting, E: Display>(
    (at, cpu): (SocketAddr, usize),
    allow: &[Prefix],
    most: Option<u32>,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(ServeEvent),
    mut serve: impl FnMut(&Arc<Listener<G>>, Talk, &mut u32) -> Result<(), E>,
) -> Result<(), ControlError> {
    // The port of UDP is bound for each trial; here it is only found free.
    let (listener, _) = Listener::<G>::bind_with(at, Some(Allowed::new(allow)), 1, UdpSocket::bind)?;
    let listener = Arc::new(listener);
    notify(ServeEvent::Listening { at: listener.local_addr(), cpu });
    let mut hosts = 0;
    while !stop.load(Relaxed) && most.is_none_or(|most| hosts < most) {
        let Some(incoming) = listener.accept(PATIENCE)? else { continue };
        let talk = incoming.talk();
        let peer = SocketAddr::new(talk.peer().ip().to_canonical(), talk.peer().port());
        notify(ServeEvent::Begins { peer });
        let mut trials = 0;
        notify(match serve(&listener, talk, &mut trials) {
            Ok(()) => ServeEvent::Ended { peer, trials },
            Err(error) => ServeEvent::Lost { peer, trials, why: error.to_string() },
        });
        hosts += 1;
    }
    Ok(())
}
