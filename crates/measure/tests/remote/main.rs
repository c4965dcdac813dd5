//! `stack` between two hosts that share nothing but a wire: two network namespaces that
//! netfathom did not make, with the other side of the conversation in each.

mod by_hand;
mod receive;
mod send;
mod two;
