//! XDP live frames: a kernel program writes each frame, and no packet passes the stack.

use netfathom_bpf::generator::Generator;
use netfathom_model::engine;
use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;

use super::{Engine, Handed};

/// One BPF_PROG_RUN a batch.
impl Engine for Generator {
    fn most(&self) -> usize {
        engine::Engine::Xdp.batch()
    }

    fn stamped_by_kernel(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        match Generator::send(self, batch) {
            Ok(accepted) if accepted == batch.len() => Handed::taken(accepted),
            Ok(accepted) => {
                dropped_to_the_end(batch);
                Handed { accepted, refused: batch.len() - accepted, errno: ENOBUFS }
            }
            Err(e) => {
                dropped_to_the_end(batch);
                Handed { refused: batch.len(), ..Handed::refused(&e) }
            }
        }
    }
}

/// The driver's queue was full (errno(3)).
const ENOBUFS: i32 = 105;

/// Messages that the device did not take have no time. They were tried all the same, so they
/// get that of the moment, behind those that left.
fn dropped_to_the_end(batch: &mut [Header]) {
    let now_ns = monotonic_ns();
    batch.sort_by_key(|header| header.sent_ns == 0);
    batch.iter_mut().filter(|h| h.sent_ns == 0).for_each(|h| h.sent_ns = now_ns);
}
