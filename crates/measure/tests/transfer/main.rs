//! Transfers against a peer that does what the classic ttcp does, by plain sockets of the
//! standard library.

mod here;
mod pace;
mod parallel;
mod pipes;
mod serve;
mod tcp;
mod udp;
mod zero_copy;
