//! The Debian package.

use std::sync::LazyLock;
use std::time::Duration;

use super::completions::OFFERED_BY_BASH;
use super::*;
use crate::child::{end_within, start};

/// It takes its time, on a busy machine more than programs of ours may.
const LINTIAN: Duration = Duration::from_secs(200);

/// Of the binary under test.
static PACKAGE: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deb");
    fs::create_dir_all(&dir).unwrap();
    package(&dir)
});

/// Makes it without pressing it, which takes longer than all else.
fn package(dir: &Path) -> PathBuf {
    let mut deb = script("bash", r#"exec scripts/deb "$1" "$2""#);
    deb.arg(BINARY).arg(dir).env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    PathBuf::from(well(&mut deb).out.trim())
}

#[test]
fn the_same_sources_make_the_same_package() {
    needs_programs!(["dpkg-deb", "dpkg-shlibdeps"], "dpkg dpkg-dev");
    let dir = out();
    let version = env!("CARGO_PKG_VERSION");
    let name = PACKAGE.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("netfathom_{version}_")) && name.ends_with(".deb"), "{name}");
    let [one, other] = [&*PACKAGE, &package(dir.path())].map(|package| fs::read(package).unwrap());
    assert!(one == other, "two packages of the same binary differ");
}

#[test]
fn the_package_works_where_it_is_unpacked() {
    needs_programs!(["dpkg-deb", "dpkg-shlibdeps"], "dpkg dpkg-dev");
    let root = out();
    well(Command::new("dpkg-deb").arg("-x").arg(&*PACKAGE).arg(root.path()));
    let share = root.path().join("usr/share");
    let by_package = well(Command::new(root.path().join("usr/bin/netfathom")).arg("--version"));
    assert_eq!(by_package.out, run(&mut netfathom("--version")).out);
    let bash = share.join("bash-completion/completions/netfathom");
    let offered = well(script("bash", OFFERED_BY_BASH).arg(bash).args(["netfathom", "st"])).out;
    assert!(offered.lines().any(|line| line == "stack"), "{offered}");
    assert!(share.join("zsh/vendor-completions/_netfathom").is_file());
    assert!(share.join("fish/vendor_completions.d/netfathom.fish").is_file());
    for file in ["copyright", "changelog.gz", "README.md", "docs/stack.md", "docs/decisions/README.md"] {
        assert!(share.join("doc/netfathom").join(file).is_file(), "{file}");
    }
    if installed(test_name!(), &["man"], "man-db") {
        let mut man = Command::new("man");
        man.arg("-M").arg(share.join("man")).arg("netfathom-ttcp-sweep").env("LC_ALL", "C.UTF-8");
        let page = well(man.env("MANPAGER", "cat")).out;
        assert!(page.contains("NETFATHOM-TTCP-SWEEP(1)") && page.contains("EXAMPLES"), "{page}");
    }
}

#[test]
fn the_package_comes_and_goes() {
    needs_programs!(["dpkg-deb", "dpkg-shlibdeps"], "dpkg dpkg-dev");
    needs!(is_root(), "dpkg installs as root only");
    let root = out();
    let dpkg = |args: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--root").arg(root.path()).args(["--force-depends", "--log=/dev/null"]).args(args);
        well(&mut dpkg).out
    };
    fs::create_dir_all(root.path().join("var/lib/dpkg/info")).unwrap();
    fs::create_dir_all(root.path().join("var/lib/dpkg/updates")).unwrap();
    fs::write(root.path().join("var/lib/dpkg/status"), "").unwrap();
    dpkg(&["--install", PACKAGE.to_str().unwrap()]);
    assert!(root.path().join("usr/bin/netfathom").is_file());
    assert_eq!(dpkg(&["--verify", "netfathom"]), "", "a file is not as the package says");
    dpkg(&["--purge", "netfathom"]);
    assert!(!root.path().join("usr").exists(), "something stays");
}

#[test]
fn lintian_finds_nothing_wrong() {
    needs_programs!(["dpkg-deb", "dpkg-shlibdeps", "lintian"], "dpkg dpkg-dev lintian");
    let mut lintian = Command::new("lintian");
    lintian.args(["--display-info", "--fail-on", "error,warning,info", "--allow-root"]);
    // Only the tests leave it unpressed. Literals of Rust have no end, so that two of them read as one word.
    lintian.args([
        "--suppress-tags",
        "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball,spelling-error-in-binary",
    ]);
    let shown = end_within(start(lintian.arg(&*PACKAGE)), LINTIAN);
    assert_eq!((shown.status, shown.out.as_str()), (0, ""), "{shown}");
}
