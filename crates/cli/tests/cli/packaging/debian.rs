//! The Debian package.

use std::time::Duration;

use super::completions::OFFERED_BY_BASH;
use super::*;
use crate::child::{end_within, start};

/// It takes its time, on a busy machine more than programs of ours may.
const LINTIAN: Duration = Duration::from_secs(200);

/// Makes the package of the binary under test, without pressing it, which takes longer than all else.
fn package(dir: &Path) -> PathBuf {
    let mut deb = script("bash", r#"exec scripts/deb "$1" "$2""#);
    deb.arg(BINARY).arg(dir).env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    PathBuf::from(well(&mut deb).out.trim())
}

fn debian(test: &str) -> bool {
    here(test, "dpkg-deb", "dpkg") && here(test, "dpkg-shlibdeps", "dpkg-dev")
}

#[test]
fn the_same_sources_make_the_same_package() {
    if !debian("cli::packaging::debian::the_same_sources_make_the_same_package") {
        return;
    }
    let dirs = [out(), out()];
    let packages = dirs.each_ref().map(|dir| package(dir.path()));
    let version = env!("CARGO_PKG_VERSION");
    let name = packages[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("netfathom_{version}_")) && name.ends_with(".deb"), "{name}");
    let [one, other] = packages.map(|package| fs::read(package).unwrap());
    assert!(one == other, "two packages of the same binary differ");
}

#[test]
fn the_package_works_where_it_is_unpacked() {
    let test = "cli::packaging::debian::the_package_works_where_it_is_unpacked";
    if !debian(test) {
        return;
    }
    let (dir, root) = (out(), out());
    well(Command::new("dpkg-deb").arg("-x").arg(package(dir.path())).arg(root.path()));
    let share = root.path().join("usr/share");
    let installed = well(Command::new(root.path().join("usr/bin/netfathom")).arg("--version"));
    assert_eq!(installed.out, run(&mut netfathom("--version")).out);
    let bash = share.join("bash-completion/completions/netfathom");
    let offered = well(script("bash", OFFERED_BY_BASH).arg(bash).args(["netfathom", "st"])).out;
    assert!(offered.lines().any(|line| line == "stack"), "{offered}");
    assert!(share.join("zsh/vendor-completions/_netfathom").is_file());
    assert!(share.join("fish/vendor_completions.d/netfathom.fish").is_file());
    for file in ["copyright", "changelog.gz", "README.md", "docs/stack.md", "docs/decisions/README.md"] {
        assert!(share.join("doc/netfathom").join(file).is_file(), "{file}");
    }
    if here(test, "man", "man-db") {
        let mut man = Command::new("man");
        man.arg("-M").arg(share.join("man")).arg("netfathom-ttcp-sweep").env("LC_ALL", "C.UTF-8");
        let page = well(man.env("MANPAGER", "cat")).out;
        assert!(page.contains("NETFATHOM-TTCP-SWEEP(1)") && page.contains("EXAMPLES"), "{page}");
    }
}

#[test]
fn the_package_comes_and_goes() {
    let test = "cli::packaging::debian::the_package_comes_and_goes";
    if !debian(test) {
        return;
    }
    if !is_root() {
        return skipped(test, "dpkg installs as root only");
    }
    let (dir, root) = (out(), out());
    let package = package(dir.path());
    let dpkg = |args: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--root").arg(root.path()).args(["--force-depends", "--log=/dev/null"]).args(args);
        well(&mut dpkg).out
    };
    fs::create_dir_all(root.path().join("var/lib/dpkg/info")).unwrap();
    fs::create_dir_all(root.path().join("var/lib/dpkg/updates")).unwrap();
    fs::write(root.path().join("var/lib/dpkg/status"), "").unwrap();
    dpkg(&["--install", package.to_str().unwrap()]);
    assert!(root.path().join("usr/bin/netfathom").is_file());
    assert_eq!(dpkg(&["--verify", "netfathom"]), "", "a file is not as the package says");
    dpkg(&["--purge", "netfathom"]);
    assert!(!root.path().join("usr").exists(), "something stays");
}

#[test]
fn lintian_finds_nothing_wrong() {
    let test = "cli::packaging::debian::lintian_finds_nothing_wrong";
    if !debian(test) || !here(test, "lintian", "lintian") {
        return;
    }
    let dir = out();
    let mut lintian = Command::new("lintian");
    lintian.args(["--display-info", "--fail-on", "error,warning,info", "--allow-root"]);
    // Only the tests leave it unpressed. Literals of Rust have no end, so that two of them read as one word.
    lintian.args([
        "--suppress-tags",
        "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball,spelling-error-in-binary",
    ]);
    let shown = end_within(start(lintian.arg(package(dir.path()))), LINTIAN);
    assert_eq!((shown.status, shown.out.as_str()), (0, ""), "{}", shown.err);
}
