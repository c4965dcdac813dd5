//! Transfers that are held up on purpose, each explained by both ends; and what each explanation
//! proposes makes the same transfer faster.

mod both;
mod healthy;
mod network;
mod programs;
mod small;
