//! What is in a tree: names, sizes and where the planted files stand, all drawn from the seed.

use std::path::{Path, PathBuf};

use netfathom_model::random::SplitMix64;

use super::{MARKS, Shape};

/// As in a source tree.
const ENTRIES_PER_DIRECTORY: u32 = 17;
/// Directories are not nested deeper.
const DEEPEST: usize = 7;
/// Of the logarithms of the files' sizes: the mean is then 3.1 times the median.
const SIGMA: f64 = 1.5;
pub const MARK_BYTES: u64 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Below the root of the tree.
    pub path: PathBuf,
    /// `None` of a directory.
    pub bytes: Option<u64>,
}

/// The entries in the order in which `tar --sort=name` reads them: depth first, by the bytes of the
/// names. The root is not among them.
pub fn entries(shape: &Shape) -> Vec<Entry> {
    let mut random = SplitMix64::new(shape.seed);
    // A planted file has a directory of its own.
    let planted = 2 * MARKS as u32;
    let directories = shape.entries / ENTRIES_PER_DIRECTORY;
    let files = shape.entries - planted - directories;
    let (mut paths, homes) = directories_of(directories, &mut random);
    let mut entries: Vec<Entry> = paths.drain(..).map(|path| Entry { path, bytes: None }).collect();
    let bytes = sizes(files, shape.bytes - MARKS as u64 * MARK_BYTES, &mut random);
    entries.extend(bytes.into_iter().enumerate().map(|(number, bytes)| {
        let home = &homes[below(&mut random, homes.len())];
        Entry { path: home.join(format!("{}{number}.c", word(&mut random))), bytes: Some(bytes) }
    }));
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    plant(&mut entries, &mut random, shape.early);
    entries
}

/// Directories, and the places where files go: those and the root.
fn directories_of(count: u32, random: &mut SplitMix64) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut homes = vec![PathBuf::new()];
    for number in 0..count {
        let mut parent = homes[below(random, homes.len())].clone();
        if parent.components().count() >= DEEPEST {
            parent.pop();
        }
        homes.push(parent.join(format!("{}{number}", word(random))));
    }
    (homes[1..].to_vec(), homes)
}

/// Plants a file at a place of its own in each of as many parts of the order, equal ones or such as grow from one to the
/// next: in a directory that is named after the file before it, and so comes next.
fn plant(entries: &mut Vec<Entry>, random: &mut SplitMix64, early: bool) {
    let whole = entries.len();
    let power = if early { 2 } else { 1 };
    let edge = |mark: usize| whole * mark.pow(power) / MARKS.pow(power);
    for mark in (0..MARKS).rev() {
        let (from, to) = (edge(mark), edge(mark + 1));
        let drawn = from + below(random, to - from);
        let is_file = |at: &usize| entries[*at].bytes.is_some();
        // There are more places than directories in each part.
        let at = (drawn..to).chain(from..drawn).find(is_file).unwrap_or(drawn);
        let mut name = entries[at].path.clone().into_os_string();
        name.push(".d");
        let home = PathBuf::from(name);
        let file = Entry { path: home.join(mark_name(mark)), bytes: Some(MARK_BYTES) };
        entries.splice(at + 1..at + 1, [Entry { path: home, bytes: None }, file]);
    }
}

/// The name of a planted file, from 0.
pub fn mark_name(mark: usize) -> String {
    format!("netfathom-mark-{}", mark + 1)
}

pub fn is_mark(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"netfathom-mark-"))
}

/// Sizes that are log-normal and have this sum.
fn sizes(files: u32, bytes: u64, random: &mut SplitMix64) -> Vec<u64> {
    let weights: Vec<f64> = (0..files).map(|_| (SIGMA * normal(random)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut sizes: Vec<u64> = weights.iter().map(|w| (w / sum * bytes as f64) as u64).collect();
    // Less than a byte a file is missing.
    let missing = bytes - sizes.iter().sum::<u64>();
    sizes.iter_mut().take(missing as usize).for_each(|size| *size += 1);
    sizes
}

/// Box and Muller 1958.
fn normal(random: &mut SplitMix64) -> f64 {
    let (radius, angle) = ((-2.0 * random.next_unit().ln()).sqrt(), random.next_unit());
    radius * (std::f64::consts::TAU * angle).cos()
}

/// A number below another; its bias is below 2^-40 for the sizes here.
pub fn below(random: &mut SplitMix64, end: usize) -> usize {
    ((u128::from(random.next_u64()) * end as u128) >> 64) as usize
}

/// 3 to 8 letters.
pub fn word(random: &mut SplitMix64) -> String {
    let letters = 3 + below(random, 6);
    (0..letters).map(|_| char::from(b'a' + below(random, 26) as u8)).collect()
}
