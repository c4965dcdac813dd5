use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};

use netfathom_testkit::needs;

use super::*;

/// A directory in another, which has a victim beside it.
struct Ground {
    above: tempfile::TempDir,
    directory: Directory,
}

impl Ground {
    fn new() -> Self {
        let above = tempfile::tempdir().unwrap();
        fs::create_dir(above.path().join("victim")).unwrap();
        fs::write(above.path().join("victim/precious"), "theirs").unwrap();
        let directory = Directory::open(above.path()).unwrap().make("run").unwrap();
        Self { above, directory }
    }

    /// Puts a link to the victim in the place of the directory, which keeps another name.
    fn swap(&self) {
        fs::rename(self.above.path().join("run"), self.above.path().join("moved")).unwrap();
        symlink("victim", self.above.path().join("run")).unwrap();
    }

    fn names(&self, of: &str) -> Vec<String> {
        let entries = fs::read_dir(self.above.path().join(of)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_is_done_in_it_is_done_there_whatever_has_its_name() {
    let ground = Ground::new();
    let at = &ground.directory;
    ground.swap();
    at.create_new("made").unwrap().write_all(b"1").unwrap();
    let mut nameless = at.nameless().expect("a file system with nameless files");
    nameless.write_all(b"2").unwrap();
    at.link(&nameless, "linked").unwrap();
    at.link_again("made", "twice").unwrap();
    at.rename("twice", "renamed").unwrap();
    at.make("deep").unwrap().create_new("file").unwrap();
    assert_eq!(ground.names("moved"), ["deep", "linked", "made", "renamed"]);
    let mut text = String::new();
    at.file("linked").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "2");
    at.remove("made").unwrap();
    assert!(at.holds("deep") && !at.holds("made") && at.is_directory("deep"));
    // A link is removed itself.
    symlink(ground.above.path().join("victim"), ground.above.path().join("moved/link")).unwrap();
    at.clear().unwrap();
    assert!(ground.names("moved").is_empty());
    assert_eq!(ground.names("victim"), ["precious"]);
}

#[test]
fn a_link_is_not_followed() {
    let ground = Ground::new();
    let above = Directory::open(ground.above.path()).unwrap();
    symlink("victim", ground.above.path().join("trap")).unwrap();
    symlink("../victim/precious", ground.above.path().join("run/file")).unwrap();
    assert!(above.within("trap").is_err() && above.make("trap").is_err());
    assert!(ground.directory.file("file").is_err() && ground.directory.create_new("file").is_err());
    assert_eq!(ground.directory.plain_file("file").unwrap_err().to_string(), "it is no regular file");
    assert!(!ground.directory.is_file("file") && ground.directory.holds("file"));
}

#[test]
fn a_name_never_leads_elsewhere() {
    let ground = Ground::new();
    for name in ["", ".", "..", "../victim", "/etc", "a/b"] {
        assert!(ground.directory.within(name).is_err(), "{name}");
        assert!(ground.directory.create_new(name).is_err(), "{name}");
        assert!(ground.directory.remove(name).is_err(), "{name}");
    }
}

#[test]
fn a_link_of_another_user_is_no_place_to_write_to() {
    let ground = Ground::new();
    let path = ground.above.path().join("trap");
    symlink("victim", &path).unwrap();
    let victim = fs::metadata(ground.above.path().join("victim")).unwrap().ino();
    let ours = Directory::open_to_write(&path).unwrap();
    assert_eq!(fs::metadata(ours.through()).unwrap().ino(), victim);
    needs!(effective_user() == ROOT, "needs root");
    lchown(&path, Some(65_534), None).unwrap();
    for typed in [path.clone(), path.join(""), path.join(".")] {
        let refused = Directory::open_to_write(&typed).unwrap_err().to_string();
        assert_eq!(refused, "it is a symbolic link that belongs to user 65534, and is not followed");
    }
}

#[test]
fn one_may_write_where_one_may_not_read() {
    let ground = Ground::new();
    let path = ground.above.path().join("run");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o300)).unwrap();
    let again = Directory::open(&path).unwrap();
    again.create_new("file").unwrap();
    again.sync().unwrap();
    assert!(again.is_file("file"));
}
