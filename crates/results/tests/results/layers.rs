//! What the modules may import of each other.

use std::path::Path;

use netfathom_testkit::layers::broken;

/// From the lowest up: none knows those after it.
const LAYERS: [&str; 8] = ["page", "quantity", "store", "compare", "draw", "story", "export", "render"];

#[test]
fn no_module_imports_a_layer_above_it_or_itself_in_a_circle() {
    let found = broken(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &LAYERS);
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}
