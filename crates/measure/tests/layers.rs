//! What the modules may import of each other.

use std::path::Path;

use netfathom_testkit::layers::broken;

/// From the lowest up: none knows those after it.
const LAYERS: [&str; 5] = ["ground", "load", "tap", "kind", "reproduce"];

#[test]
fn no_module_imports_a_layer_above_it_or_itself_in_a_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // The parts of one command, which has no layers.
    let of_one = |found: &String| found.contains(": reproduce::");
    let found: Vec<String> = broken(&src, &LAYERS).into_iter().filter(|found| !of_one(found)).collect();
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}
