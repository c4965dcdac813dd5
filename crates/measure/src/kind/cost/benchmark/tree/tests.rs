use std::process::{Command, Stdio};

use netfathom_sys::process::reap;
use netfathom_testkit::{needs, skip};
use sha2::{Digest, Sha256};

use super::super::archive::Archive;
use super::*;

const GO_ON: fn(u64) -> ControlFlow<()> = |_| ControlFlow::Continue(());

fn small(seed: u64) -> Shape {
    Shape { entries: 800, bytes: 4_000_000, seed, early: false }
}

/// On a disk where there is one: /tmp may lie in memory.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
}

/// Where no data can be put out of memory.
fn lies_in_memory(at: &tempfile::TempDir) -> bool {
    let kind = Command::new("stat").args(["-f", "-c", "%T"]).arg(at.path()).output().unwrap();
    matches!(kind.stdout.as_slice(), b"tmpfs\n" | b"ramfs\n")
}

fn tree(at: &tempfile::TempDir, shape: Shape) -> Tree {
    Tree::create(at.path(), &shape, &mut { GO_ON }).unwrap()
}

/// Names and contents, as they are on the disk.
fn listing(tree: &Tree) -> Vec<(PathBuf, Option<[u8; 32]>)> {
    fn walk(root: &Path, dir: &Path, found: &mut Vec<(PathBuf, Option<[u8; 32]>)>) {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(root).unwrap().to_owned();
            if entry.is_dir() {
                found.push((name, None));
                walk(root, &entry, found);
            } else {
                found.push((name, Some(Sha256::digest(fs::read(&entry).unwrap()).into())));
            }
        }
    }
    let mut found = Vec::new();
    walk(tree.root(), tree.root(), &mut found);
    found.sort();
    found
}

#[test]
fn it_has_the_shape_that_was_asked_for() {
    let (at, shape) = (disk(), small(1));
    let tree = tree(&at, shape);
    let listing = listing(&tree);
    assert_eq!(listing.len(), shape.entries as usize);
    let sizes: Vec<u64> = tree.files().map(|(path, _)| fs::metadata(path).unwrap().len()).collect();
    assert_eq!(sizes.iter().sum::<u64>(), shape.bytes);
    let directories = listing.iter().filter(|(_, content)| content.is_none()).count();
    assert!((40..80).contains(&directories), "{directories}");
    assert!(listing.iter().any(|(path, _)| path.components().count() >= 4));
    // Log-normal: the mean far above the median.
    let mut sorted = sizes.clone();
    sorted.sort_unstable();
    assert!(shape.bytes / sizes.len() as u64 > 2 * sorted[sizes.len() / 2], "{sorted:?}");
    let root = tree.root().to_owned();
    drop(tree);
    assert!(!root.exists());
}

#[test]
fn the_same_seed_makes_the_same_tree_and_another_another() {
    let at = disk();
    let [one, same, other] = [7, 7, 8].map(|seed| listing(&tree(&at, small(seed))));
    assert_eq!(one, same);
    let names = |listing: &[(PathBuf, Option<[u8; 32]>)]| -> Vec<_> {
        listing.iter().map(|(path, _)| path.clone()).collect()
    };
    assert_ne!(names(&one), names(&other));
    let contents = |listing: &[(PathBuf, Option<[u8; 32]>)]| -> std::collections::BTreeSet<_> {
        listing.iter().filter_map(|(_, content)| *content).collect()
    };
    assert!(contents(&one).is_disjoint(&contents(&other)));
}

/// The order in which the benchmark's own command reads.
fn read_by_tar(tree: &Tree, archive: Archive) -> Vec<PathBuf> {
    let mut command = archive.command(tree.root());
    let output = command.arg("--verbose").stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("./").map(|l| l.trim_end_matches('/')));
    lines.filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

#[test]
fn tar_opens_the_planted_files_in_their_order_one_in_each_part() {
    if let Err(error) = Archive::Tar.check() {
        skip!("{error}");
    }
    let at = disk();
    let fewest = Shape { entries: FEWEST_ENTRIES, bytes: 6_000, ..small(5) };
    let early = Shape { entries: 1000, early: true, ..small(6) };
    for shape in [small(3), small(4), fewest, early] {
        let tree = tree(&at, shape);
        let order = read_by_tar(&tree, Archive::Tar);
        let expected: Vec<PathBuf> = tree.entries.iter().map(|entry| entry.path.clone()).collect();
        assert_eq!(order, expected);
        let places: Vec<usize> = tree
            .marks()
            .iter()
            .map(|mark| order.iter().position(|path| tree.root().join(path) == *mark).unwrap())
            .collect();
        assert!(places.is_sorted(), "{places:?}");
        // Without the planted ones, and the directory of each, that stand before it.
        let whole = order.len() - 2 * MARKS;
        for (mark, place) in places.iter().enumerate() {
            let at = place - 2 * mark - 2;
            let power = if shape.early { 2 } else { 1 };
            let edge = |mark: usize| whole * mark.pow(power) / MARKS.pow(power);
            assert!((edge(mark)..edge(mark + 1)).contains(&at), "{places:?} of {whole}");
        }
        let marks = tree.marks();
        let names: Vec<_> = marks.iter().map(|mark| mark.file_name().unwrap()).collect();
        assert_eq!(names[..2], ["netfathom-mark-1", "netfathom-mark-2"]);
    }
}

#[test]
fn tar_really_reads_the_files() {
    if let Err(error) = Archive::TarGzip.check() {
        skip!("{error}");
    }
    let at = disk();
    needs!(!lies_in_memory(&at), "the build directory lies in memory");
    let tree = tree(&at, small(6));
    for archive in [Archive::Tar, Archive::TarGzip] {
        tree.cold().unwrap();
        let resident = tree.resident_share().unwrap();
        assert!(resident < 0.01, "{resident}");
        let ended = reap(archive.command(tree.root()).spawn().unwrap()).unwrap();
        assert!(ended.status.success());
        // By what storage had to read for it: the kernel may take what lies in memory back at any moment.
        let read = ended.usage.read_bytes as f64 / small(6).bytes as f64;
        assert!(read > 0.99, "{archive:?} read {read} of the files");
    }
}

#[test]
fn the_cache_state_is_as_reported() {
    let at = disk();
    needs!(!lies_in_memory(&at), "the build directory lies in memory");
    let tree = tree(&at, small(2));
    tree.warm().unwrap();
    assert!(tree.resident_share().unwrap() > 0.99);
    tree.cold().unwrap();
    let cold = tree.resident_share().unwrap();
    assert!(cold < 0.01, "{cold}");
    tree.warm().unwrap();
    assert!(tree.resident_share().unwrap() > 0.99);
}

#[test]
fn it_compresses_about_as_well_as_source_text() {
    if let Err(error) = Archive::TarGzip.check() {
        skip!("{error}");
    }
    let at = disk();
    let tree = tree(&at, small(9));
    let packed = Command::new("sh")
        .args(["-c", "find . -type f -print0 | xargs -0 cat | gzip | wc -c"])
        .current_dir(tree.root())
        .output()
        .unwrap();
    let packed: f64 = String::from_utf8(packed.stdout).unwrap().trim().parse().unwrap();
    let ratio = small(9).bytes as f64 / packed;
    assert!((2.5..5.0).contains(&ratio), "{ratio}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let at = disk();
    let refused = |shape| Tree::create(at.path(), &shape, &mut { GO_ON }).unwrap_err().to_string();
    assert!(refused(Shape { entries: 59, ..small(0) }).contains("60 to"));
    assert!(refused(Shape { bytes: 79_999, ..small(0) }).contains("100 bytes each"));
    let huge = refused(Shape { bytes: 1 << 60, ..small(0) });
    assert!(huge.contains("no room") && huge.contains("smaller tree"), "{huge}");
    let nowhere = Tree::create(Path::new("/is/not/there"), &small(0), &mut { GO_ON }).unwrap_err();
    assert!(nowhere.to_string().contains("may write to"), "{nowhere}");
    let mut heard = 0;
    let stop = &mut |written| {
        heard = written;
        if written > 1_000_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(Tree::create(at.path(), &small(0), stop), Err(TreeError::Stopped)));
    assert!((1_000_000..4_000_000).contains(&heard), "{heard}");
    assert_eq!(fs::read_dir(at.path()).unwrap().count(), 0);
}

/// Tells this test program, started again, that it is on a small disk, and where.
const SMALL_DISK: &str = "NETFATHOM_TEST_SMALL_DISK";

#[test]
fn a_disk_that_is_too_small_or_fills_up_is_left_empty() {
    const TEST: &str =
        "kind::cost::benchmark::tree::tests::a_disk_that_is_too_small_or_fills_up_is_left_empty";
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        return on_a_small_disk(Path::new(&disk));
    }
    needs!(netfathom_sys::probe::effective_user() == 0, "needs root to mount one");
    // The disk goes with its mount namespace.
    let script = format!(
        "mount -t tmpfs -o size=8m none /mnt || exit 77
         {SMALL_DISK}=/mnt exec \"$0\" --exact {TEST}"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "/bin/sh", "-c", &script]).arg(std::env::current_exe().unwrap());
    let output = command.output().unwrap();
    match output.status.code() {
        Some(77) => netfathom_testkit::skipped("measure::cost::tree (small disk)", "no tmpfs can be mounted"),
        code => assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stdout)),
    }
}

fn on_a_small_disk(disk: &Path) {
    let empty = || fs::read_dir(disk).unwrap().count() == 0;
    let too_big = Shape { bytes: 8_000_000, ..small(0) };
    let error = Tree::create(disk, &too_big, &mut { GO_ON }).unwrap_err();
    assert!(matches!(error, TreeError::NoRoom { .. }) && empty(), "{error}");
    // There is room at first; then somebody else takes it.
    let ballast = disk.join("ballast");
    let mut fill = |written: u64| {
        if written > 1_000_000 && !ballast.exists() {
            let mut file = File::create(&ballast).unwrap();
            while file.write_all(&[1; 65_536]).is_ok() {}
        }
        ControlFlow::Continue(())
    };
    let error = Tree::create(disk, &small(0), &mut fill).unwrap_err().to_string();
    assert!(error.contains("No space left") && error.contains("smaller tree"), "{error}");
    fs::remove_file(&ballast).unwrap();
    assert!(empty());
    // If no data can be evicted from memory, the tree reports it.
    let tree = Tree::create(disk, &small(0), &mut { GO_ON }).unwrap();
    tree.cold().unwrap();
    assert_eq!(tree.resident_share().unwrap(), 1.0);
}
