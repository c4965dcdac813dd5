//! C projects of rising size: copies of real ones, or generated ones that compile without anything else.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use netfathom_model::plan::Project;
use netfathom_sys::directory::Directory;

use super::originals::Original;
use netfathom_measure::kind::cost::workplace::{self, Workplace};

/// Source files of the four, in full and in the short form; the paper's projects are far larger.
const FILES: [u32; 4] = [8, 30, 300, 900];
const SHORT_FILES: [u32; 4] = [2, 6, 40, 80];
/// Functions of a file: it then takes the compiler some hundredths of a second.
const FUNCTIONS: u32 = 20;

/// Generates them below a directory, each under the name of its level; they are removed with the result.
pub fn generate(parent: &Path, original: &Original, short: bool) -> Result<Workplace, String> {
    let place =
        Workplace::create(parent, workplace::PROJECTS).map_err(|e| format!("cannot make C projects: {e}"))?;
    let files = if short { SHORT_FILES } else { FILES };
    for (level, files) in original.levels.iter().zip(files) {
        let made = place.directory().make(level.ours).and_then(|directory| project(&directory, files));
        let path = place.path().join(level.ours);
        made.map_err(|e| format!("cannot make a C project in {}: {e}", path.display()))?;
    }
    Ok(place)
}

/// Copies real ones below a directory, each under the name of its level; they are removed with the result.
pub fn copy(parent: &Path, original: &Original, projects: &[Project]) -> Result<Workplace, String> {
    let place =
        Workplace::create(parent, workplace::PROJECTS).map_err(|e| format!("cannot make C projects: {e}"))?;
    for (level, project) in original.levels.iter().zip(projects) {
        let (from, to) = (&project.directory, place.path().join(level.ours));
        let failed = |why: String| format!("cannot copy {} to {}: {why}", from.display(), to.display());
        let copied = Command::new("cp").arg("-a").arg("--").arg(from).arg(&to).output();
        let copied = copied.map_err(|e| failed(format!("cp: {e}")))?;
        if !copied.status.success() {
            return Err(failed(String::from_utf8_lossy(&copied.stderr).trim().to_owned()));
        }
    }
    Ok(place)
}

fn project(directory: &Directory, files: u32) -> io::Result<()> {
    let write = |name: &str, text: &str| directory.create_new(name)?.write_all(text.as_bytes());
    for file in 0..files {
        write(&format!("part{file}.c"), &source(file))?;
    }
    let calls: String = (0..files).map(|file| format!("int part{file}_0(int);\n")).collect();
    let sum: String = (0..files).map(|file| format!(" + part{file}_0(argc)")).collect();
    let main =
        format!("{calls}int main(int argc, char **argv)\n{{\n\t(void)argv;\n\treturn (0{sum}) & 1;\n}}\n");
    write("main.c", &main)?;
    let makefile = "OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\n\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $^\n\n\
                    %.o: %.c\n\t$(CC) -O1 -c -o $@ $<\n";
    write("Makefile", makefile)
}

fn source(file: u32) -> String {
    let mut text = String::from("#include <stddef.h>\n\n");
    for function in (0..FUNCTIONS).rev() {
        let next =
            if function + 1 < FUNCTIONS { format!("part{file}_{}(y)", function + 1) } else { "y".into() };
        let _ = write!(
            text,
            "int part{file}_{function}(int x)\n{{\n\tint y = x ^ {}, table[16];\n\tfor (size_t i = 0; i < 16; i++)\n\
             \t\ttable[i] = (y * {} + (int)i) % 7919;\n\tfor (size_t i = 1; i < 16; i++)\n\t\ty += table[i - 1] > table[i] ? \
             table[i] : {};\n\treturn {next};\n}}\n\n",
            file + function,
            2 * function + 3,
            file % 13 + 1
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::originals::MAKE;
    use super::*;

    #[test]
    fn real_projects_are_copied_under_the_names_of_the_levels() {
        let (from, parent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let projects: Vec<Project> = (1..=MAKE.levels.len() as u64)
            .map(|size_bytes| {
                let directory = from.path().join(format!("project {size_bytes}"));
                fs::create_dir_all(directory.join("src")).unwrap();
                fs::write(directory.join("src/Makefile"), vec![b'#'; size_bytes as usize]).unwrap();
                Project { directory, size_bytes }
            })
            .collect();
        let place = copy(parent.path(), &MAKE, &projects).unwrap();
        for (level, project) in MAKE.levels.iter().zip(&projects) {
            let copied = fs::read(place.path().join(level.ours).join("src/Makefile")).unwrap();
            assert_eq!(copied.len() as u64, project.size_bytes);
        }
        drop(place);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        let gone = Project { directory: from.path().join("gone"), size_bytes: 1 };
        let error = copy(parent.path(), &MAKE, &[gone]).unwrap_err();
        assert!(error.contains("gone") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn the_projects_compile_and_rise_in_size() {
        let parent = tempfile::tempdir().unwrap();
        let place = generate(parent.path(), &MAKE, true).unwrap();
        let directory = place.path().join(MAKE.levels[1].ours);
        let made = Command::new("make").arg("-s").arg("-C").arg(&directory).status();
        match made {
            Ok(status) => assert!(status.success() && directory.join("program").exists()),
            Err(e) => netfathom_testkit::skipped("make of generated projects", &format!("make: {e}")),
        }
        let files = |level: usize| fs::read_dir(place.path().join(MAKE.levels[level].ours)).unwrap().count();
        assert!(files(0) < files(2) && files(2) < files(3));
        drop(place);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
