//! Two probes and nothing else: compiled and looked at by a test.

#[path = "../../src/usdt.rs"]
mod usdt;

fn main() {
    usdt::probe("one");
    let words: Vec<String> = std::env::args().collect();
    usdt::probe(&words[0]);
}
