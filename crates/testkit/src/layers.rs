//! What the modules of a crate import of each other, held against its layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub type Module = Vec<String>;

/// What breaks the layers of the crate with these sources: an import of a layer above, or modules of one layer that
/// import each other in a circle. `layers` are the folders of the sources, from the lowest up. Tests may import anything.
pub fn broken(src: &Path, layers: &[&str]) -> Vec<String> {
    let sources = sources(src, layers);
    let modules: BTreeSet<&Module> = sources.iter().map(|(module, _)| module).collect();
    let rank = |module: &[String]| layers.iter().position(|layer| *layer == module[0]);
    let mut broken = Vec::new();
    let mut within: BTreeMap<&[String], BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in &sources {
        for mut to in imports(module, text) {
            while !to.is_empty() && !modules.contains(&to) {
                to.pop();
            }
            let Some(above) = to.first().and_then(|_| rank(&to)) else { continue };
            if Some(above) > rank(module) {
                broken.push(format!("{} imports {}, which is above it", module.join("::"), to.join("::")));
            }
            to.truncate(2);
            let from = &module[..module.len().min(2)];
            if Some(above) == rank(module) && from.len() == 2 && to.len() == 2 && *from != to[..] {
                within.entry(from).or_default().insert(to);
            }
        }
    }
    // What imports nothing of what is left is in no circle.
    loop {
        let left: BTreeSet<Module> = within.keys().map(|from| from.to_vec()).collect();
        within.values_mut().for_each(|to| to.retain(|to| left.contains(to)));
        within.retain(|_, to| !to.is_empty());
        if within.len() == left.len() {
            break;
        }
    }
    let arrows = within.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    broken.extend(
        arrows.map(|(from, to)| format!("in or before a circle: {} -> {}", from.join("::"), to.join("::"))),
    );
    broken
}

/// The modules of these folders with their text, but for their tests.
pub fn sources(src: &Path, layers: &[&str]) -> Vec<(Module, String)> {
    let mut sources = Vec::new();
    for layer in layers {
        read(&src.join(layer), &mut vec![(*layer).to_owned()], &mut sources);
    }
    assert!(sources.len() > layers.len(), "no sources in {}", src.display());
    sources
}

fn read(folder: &Path, module: &mut Module, sources: &mut Vec<(Module, String)>) {
    for entry in fs::read_dir(folder).expect("a layer is a folder") {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_stem().expect("an entry has a name").to_string_lossy().into_owned();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            module.push(name);
            read(&path, module, sources);
            module.pop();
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is text");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        let own = if name == "mod" { None } else { Some(name) };
        sources.push((module.iter().cloned().chain(own).collect(), text));
    }
}

/// What a module names of its crate, from the crate's root.
fn imports(module: &Module, text: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in text.match_indices(root) {
            if !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_') {
                tree(&text[at..], &mut Vec::new(), &mut paths);
            }
        }
    }
    let from_root = |path: Module| {
        let up = path.iter().take_while(|part| *part == "super").count();
        let base = if up == 0 { &[] } else { &module[..module.len().saturating_sub(up)] };
        base.iter().cloned().chain(path.into_iter().skip(up.max(1))).collect()
    };
    paths.into_iter().map(from_root).collect()
}

/// Every path of a `use` tree at the beginning of the text; returns what comes after it.
fn tree<'a>(text: &'a str, prefix: &mut Module, paths: &mut Vec<Module>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            rest = tree(rest, prefix, paths);
            // What it is called here.
            rest = rest.trim_start_matches(|c: char| !matches!(c, ',' | '}'));
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    prefix.push(part.to_owned());
    let rest = match rest.strip_prefix("::") {
        Some(rest) => tree(rest, prefix, paths),
        None => {
            paths.push(prefix.clone());
            rest
        }
    };
    prefix.pop();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(sources: &[(&str, &str)]) -> tempfile::TempDir {
        let src = tempfile::tempdir().unwrap();
        for (path, text) in sources {
            let path = src.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        src
    }

    #[test]
    fn an_import_of_a_layer_above_is_found_however_it_is_written() {
        for import in [
            "use crate::kind::stack::run;",
            "use crate::{a, kind::{cost as c,\n stack}};",
            "use super::super::kind::stack;",
            "fn f() { crate::kind::stack::run() }",
        ] {
            let low = ("low/rig.rs", import);
            let src = crate_of(&[low, ("low/mod.rs", ""), ("kind/stack/mod.rs", "use crate::low::rig;")]);
            let found = broken(src.path(), &["low", "kind"]);
            assert_eq!(found, ["low::rig imports kind::stack, which is above it"], "{import}");
        }
    }

    #[test]
    fn a_circle_within_a_layer_is_found() {
        let sources = [
            ("low/mod.rs", ""),
            ("low/a.rs", "use super::b::{self, B};"),
            ("low/b.rs", "use crate::low::c::C;"),
            ("low/c/mod.rs", ""),
            ("low/c/part.rs", "use super::super::a;"),
            ("low/d.rs", ""),
        ];
        let src = crate_of(&sources);
        assert_eq!(broken(src.path(), &["low"]).len(), 3);
        fs::write(
            src.path().join("low/c/part.rs"),
            "#[cfg(test)]\nuse super::super::a;\nuse super::super::d;",
        )
        .unwrap();
        assert_eq!(broken(src.path(), &["low"]), [""; 0]);
    }
}
