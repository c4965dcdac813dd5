//! On which processors the threads of a run are.

use netfathom_model::environment::ThreadPlace;
use netfathom_sys::cpu;

use crate::ground::error::GroundError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    pub senders: Vec<usize>,
    pub reader: usize,
}

/// Each of the senders and the reader on a processor of its own, as far as there are any:
/// then the senders share those that the reader does not have.
pub fn spread(workers: usize) -> Result<Cpus, GroundError> {
    let mut down = cpu::allowed()?;
    down.reverse();
    let first = down.first().copied().unwrap_or(0);
    // The reader comes after the senders, or takes the last.
    let reader = down.get(workers).or(down.last()).copied().unwrap_or(first);
    let others: Vec<usize> = down.into_iter().filter(|&cpu| cpu != reader).collect();
    let of = |n: usize| if others.is_empty() { first } else { others[n % others.len()] };
    Ok(Cpus { senders: (0..workers).map(of).collect(), reader })
}

/// Those that the user named, the senders' first and then the reader's; the first and the last also stand in for what
/// is missing. `None` if there are none.
pub fn named(cpus: &[usize], workers: usize) -> Option<Cpus> {
    let (&first, &last) = (cpus.first()?, cpus.last()?);
    let of = |n: usize| cpus.get(n).copied();
    let senders = (0..workers).map(|n| of(n).unwrap_or(first)).collect();
    Some(Cpus { senders, reader: of(workers).unwrap_or(last) })
}

/// As [`spread`], with the reader on another host: the senders have all processors.
pub fn spread_senders(workers: usize) -> Result<Cpus, GroundError> {
    let mut down = cpu::allowed()?;
    down.reverse();
    let of = |n: usize| down.get(n % down.len().max(1)).copied().unwrap_or(0);
    Ok(Cpus { senders: (0..workers).map(of).collect(), reader: of(0) })
}

/// The same, as records have it.
pub fn thread_places(cpus: &Cpus) -> Vec<ThreadPlace> {
    let place = |role: &str, cpu| ThreadPlace { role: role.into(), cpu };
    let senders = cpus.senders.iter().map(|&cpu| place("sender", cpu));
    senders.chain([place("reader", cpus.reader)]).collect()
}
