//! How far log and capture have come with each flow.

/// Flows that are known at a time; a log of more trials than these forgets the oldest.
const MOST: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    id: u32,
    /// The highest number that the log has listed.
    pub listed: Option<u64>,
    /// The highest number that the capture has shown.
    pub sighted: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Flows {
    known: Vec<Flow>,
    /// The one that was asked for last: mostly it is the next one too.
    last: usize,
    /// The one to be forgotten next.
    oldest: usize,
}

impl Flows {
    /// A flow, unknown ones from now on.
    #[inline]
    pub fn of(&mut self, id: u32) -> &mut Flow {
        if self.known.get(self.last).is_none_or(|flow| flow.id != id) {
            self.look(id);
        }
        &mut self.known[self.last]
    }

    #[cold]
    fn look(&mut self, id: u32) {
        self.last = match self.known.iter().position(|flow| flow.id == id) {
            Some(at) => at,
            None if self.known.len() < MOST => {
                self.known.push(Flow { id, ..Flow::default() });
                self.known.len() - 1
            }
            None => {
                let at = self.oldest;
                self.known[at] = Flow { id, ..Flow::default() };
                self.oldest = (at + 1) % MOST;
                at
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut flows = Flows::default();
        let most = MOST as u32;
        (0..=most).for_each(|id| flows.of(id).listed = Some(id.into()));
        assert_eq!(flows.of(1).listed, Some(1));
        assert_eq!(flows.of(most).listed, Some(most.into()));
        assert_eq!(flows.of(0).listed, None);
        // It was unknown again, and took the place of the oldest by now.
        assert_eq!(flows.of(2).listed, Some(2));
        assert_eq!(flows.of(1).listed, None);
    }
}
