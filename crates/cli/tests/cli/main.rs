//! The binary as its users meet it: what it prints, what it keeps, how it ends.

mod burn;
mod capture_attacks;
mod captures;
mod child;
mod cost;
mod export;
mod files;
mod help;
mod join;
mod join_attacks;
mod killed;
mod light;
mod load;
mod load_sink;
mod marks;
mod message;
mod outputs;
mod refusals;
mod report;
mod reproduce;
mod signals;
mod surroundings;
mod terminal;
mod ttcp;
