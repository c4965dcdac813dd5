//! The binary as its users meet it: what it prints, what it keeps, how it ends.

mod child;
mod files;
mod help;
mod killed;
mod load;
mod load_sink;
mod outputs;
mod refusals;
mod report;
mod signals;
mod surroundings;
mod terminal;
