//! What the modules may import of each other.

use std::path::Path;

use netfathom_testkit::layers::{broken, sources};

/// From the lowest up: none knows those after it.
const LAYERS: [&str; 8] = ["page", "quantity", "store", "compare", "draw", "story", "export", "render"];

#[test]
fn no_module_imports_a_layer_above_it_or_itself_in_a_circle() {
    let found = broken(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &LAYERS);
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}

/// Formats of one kind of result: what `ttcp` found.
const OF_STREAMS: [&str; 3] = ["export::intervals", "export::iperf3", "export::netperf"];

/// What a measurement found is asked of the trait `Figures`, so that the next one needs no change there.
#[test]
fn what_draws_compares_and_exports_names_no_measurement() {
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    let names = |text: &str| {
        text.contains("Measurement::")
            || text.split(word).any(|word| word.ends_with("Result") && word != "Result")
    };
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all = sources(&src, &["compare", "draw", "export", "render"]);
    let mut named: Vec<String> =
        all.into_iter().filter(|(_, text)| names(text)).map(|(module, _)| module.join("::")).collect();
    named.sort();
    assert_eq!(named, OF_STREAMS);
}
