//! What `fleet manifest` prints, read by the programs that it is for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_testkit::{needs_programs, python, test_name};
use tempfile::TempDir;

use crate::child::{Ended, netfathom, out, run, sources};

const KEY: &str = "SUAEXAMPLEOFASEED";
const CA: &str = "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n";

/// A key, a certificate and what `fleet manifest` prints of them.
fn manifest(by: &str, more: &str) -> (TempDir, Ended) {
    let dir = out();
    for (name, text) in [("agent.nk", KEY), ("ca.pem", CA)] {
        fs::write(dir.path().join(name), text).unwrap();
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let args =
        format!("fleet manifest {by} --nats tls://10.0.0.1:4222 --nats-ca ca.pem --nats-key agent.nk {more}");
    let ended = run(netfathom(&args).current_dir(dir.path()));
    (dir, ended)
}

fn written(by: &str, more: &str, name: &str) -> (TempDir, PathBuf) {
    let (dir, ended) = manifest(by, more);
    let path = dir.path().join(name);
    fs::write(&path, ended.quietly().out).unwrap();
    (dir, path)
}

/// A program that is installed beside Python's readers.
fn beside(python: &Path, program: &str) -> Command {
    Command::new(python.with_file_name(program))
}

#[test]
fn systemd_takes_the_unit() {
    needs_programs!(["systemd-analyze"], "systemd");
    let binary = format!("--binary {}", env!("CARGO_BIN_EXE_netfathom"));
    let (_dir, unit) = written("systemd", &binary, "netfathom-agent.service");
    let verify = || run(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit));
    verify().quietly();
    // It does look at what it reads.
    fs::write(&unit, fs::read_to_string(&unit).unwrap().replace("ExecStart=/", "ExecStart=-none/")).unwrap();
    assert_ne!(verify().status, 0);
}

#[test]
fn kubernetes_takes_the_secret_and_the_daemon_sets() {
    let Some(python) = python(test_name!(), env!("CARGO_TARGET_TMPDIR")) else { return };
    let (_dir, agent) =
        written("kubernetes", "--fleet 2024 --image registry.local:5000/nf@sha256:0a", "agent.yaml");
    let validate = |path: &Path| run(beside(&python, "kubernetes-validate").arg("--strict").arg(path));
    for path in [&agent, &sources().join("packaging/kubernetes/watch.yaml")] {
        validate(path).exited(0);
    }
    let read = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let all: serde_json::Value = run(Command::new(&python).args(["-c", read]).arg(&agent)).json();
    let (secret, set) = (&all[0], &all[1]["spec"]["template"]["spec"]);
    assert_eq!(secret["stringData"]["ca.pem"], CA);
    assert_eq!(secret["stringData"]["agent.nk"].as_str().unwrap().trim(), KEY);
    assert_eq!(set["volumes"][0]["secret"]["secretName"], secret["metadata"]["name"]);
    assert_eq!(set["containers"][0]["image"], "registry.local:5000/nf@sha256:0a");
    let args: Vec<&str> =
        set["containers"][0]["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    assert!(args.join(" ").ends_with("--fleet 2024"), "{args:?}");
    // What the container starts is a command of this netfathom.
    assert_eq!(run(netfathom("").args(&args).arg("--help")).status, 0);
    fs::write(&agent, fs::read_to_string(&agent).unwrap().replace("fsGroup", "fsgroup")).unwrap();
    assert_ne!(validate(&agent).status, 0, "an unknown field is no error");
}

#[test]
fn ansible_takes_the_playbook_and_names_hosts_as_the_list_does() {
    let Some(python) = python(test_name!(), env!("CARGO_TARGET_TMPDIR")) else { return };
    let (dir, playbook) = written("ansible", "--credentials /etc/netfathom-test-none", "agent.yml");
    let play = |more: &str| {
        let mut command = beside(&python, "ansible-playbook");
        let home = dir.path().join("home");
        command.env("ANSIBLE_LOCAL_TEMP", &home).env("ANSIBLE_REMOTE_TMP", &home).env("LC_ALL", "C.UTF-8");
        command.args(["-i", "root@c01.x,", "-c", "local"]).args(more.split_whitespace()).arg(&playbook);
        run(&mut command)
    };
    play("--syntax-check").exited(0);
    // Without a change to this host: what it would write. The last task fails where there is no systemd.
    let shown = play(&format!(
        "--check --diff -e ansible_become=false -e ansible_python_interpreter={}",
        python.display()
    ));
    let shown = shown.out + &shown.err;
    let unit = manifest("systemd", "--credentials /etc/netfathom-test-none").1.out;
    let exec = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    assert!(shown.contains(&format!("+{exec} --name c01_x\n")), "{shown}");
    assert!(unit.lines().all(|line| line == exec || shown.contains(&format!("+{line}\n"))), "{shown}");
    assert!(!Path::new("/etc/netfathom-test-none").exists() && !shown.contains(KEY), "{shown}");
}

#[test]
fn values_that_a_manifest_would_read_in_another_way_are_refused() {
    for more in [
        "--binary /usr/bin/$x",
        "--binary netfathom",
        "--credentials /etc/a\"b",
        "--image a'b",
        "--image -x",
        "--fleet a/b",
        "--fleet=-x",
        "--nats tls://user:password@10.0.0.1",
        "--nats nats://10.0.0.1",
    ] {
        let ended = manifest("systemd", more).1;
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{more}: {ended}");
    }
    manifest("kubernetes", "--fleet Lab").1.exited(2).explains(&["lower-case"]);
    let dir = out();
    let mut command = netfathom("fleet manifest ansible");
    run(command.env("XDG_RUNTIME_DIR", dir.path())).exited(1).explains(&["fleet up"]);
}
