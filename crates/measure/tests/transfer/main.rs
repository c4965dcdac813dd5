//! Transfers against a peer that does what the classic ttcp does, by plain sockets of the
//! standard library.

mod here;
mod pipes;
mod tcp;
mod udp;
