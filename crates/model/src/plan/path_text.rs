//! Paths in a plan as text: a name that is not UTF-8 must not keep a run from its record.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

pub(super) trait Paths {
    fn text(&self) -> impl Serialize;
}

impl Paths for PathBuf {
    fn text(&self) -> impl Serialize {
        self.to_string_lossy()
    }
}

impl<P: Paths> Paths for Option<P> {
    fn text(&self) -> impl Serialize {
        self.as_ref().map(P::text)
    }
}

impl<P: Paths> Paths for Vec<P> {
    fn text(&self) -> impl Serialize {
        self.iter().map(P::text).collect::<Vec<_>>()
    }
}

pub(super) fn as_text<S: Serializer>(paths: &impl Paths, to: S) -> Result<S::Ok, S::Error> {
    paths.text().serialize(to)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use serde_json::json;

    use crate::plan::{LoadPlan, MarkSource, Project};
    use crate::profile::Profile;

    #[test]
    fn a_path_that_is_not_utf_8_is_written_with_replacement_characters() {
        let path = || OsString::from_vec(b"x\xff.log".to_vec()).into();
        let profile: Profile = "constant:1k/200ms".parse().unwrap();
        let load = LoadPlan { log: Some(path()), ..LoadPlan::one_trial(profile) };
        let project = Project { directory: path(), size_bytes: 1 };
        let marks = MarkSource::Files(vec![path()]);
        assert_eq!(serde_json::to_value(&load).unwrap()["log"], "x\u{fffd}.log");
        assert_eq!(
            serde_json::to_value(&project).unwrap(),
            json!({"directory": "x\u{fffd}.log", "size_bytes": 1})
        );
        assert_eq!(serde_json::to_value(&marks).unwrap(), json!({"files": ["x\u{fffd}.log"]}));
    }
}
