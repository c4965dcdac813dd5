//! `fleet up` and `fleet down` by launchers that are real: sshd and Slurm on hosts of a star, from nothing to a mesh and
//! to nothing.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netfathom_testkit::{Star, alone, needs_programs, needs_root};
use tempfile::TempDir;

use super::{name, result};
use crate::child::{Ended, end, kill, netfathom, out, shell, start_on, until, until_holds};

/// Hosts with what starts programs on them. All of it is gone with this value.
struct Site {
    star: Star,
    dir: TempDir,
    servers: Vec<Child>,
    /// Of a program that looks for its configuration there.
    variable: (&'static str, PathBuf),
}

impl Site {
    fn new(hosts: u8, variable: &'static str) -> Self {
        let (star, dir) = (Star::create(hosts), out());
        let variable = (variable, dir.path().join("slurm.conf"));
        Self { star, dir, servers: Vec::new(), variable }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.dir.path().join(name), text).unwrap();
        self.path(name)
    }

    /// A server of the switch, or of a host.
    fn serve(&mut self, place: Option<u8>, program: &str, args: &str) {
        let mut command = Command::new(program);
        let log = fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        command.args(args.split_whitespace()).env(self.variable.0, &self.variable.1).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let on = place.map_or(&self.star.hub, |place| &self.star.hosts[usize::from(place)]);
        self.servers.push(Star::spawn(on, &mut command));
    }

    /// At the switch.
    fn start(&self, command: &mut Command) -> Child {
        command.env(self.variable.0, &self.variable.1).env("XDG_RUNTIME_DIR", self.dir.path());
        start_on(&self.star.hub, command)
    }

    fn run(&self, command: &mut Command) -> Ended {
        end(self.start(command))
    }

    fn fleet(&self, args: &str) -> Ended {
        self.run(&mut netfathom(&format!("fleet {args}")))
    }

    /// The server's port and, of each agent, its directory and process.
    fn state(&self) -> (u16, Vec<(PathBuf, u64)>) {
        let text = fs::read_to_string(self.dir.path().join("netfathom/fleet-default/state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        let port = state["url"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        let agent = |agent: &serde_json::Value| {
            (PathBuf::from(agent["directory"].as_str().unwrap()), agent["pid"].as_u64().unwrap())
        };
        (port, state["agents"].as_array().unwrap().iter().map(agent).collect())
    }

    /// A mesh over the agents that run; then `fleet down`, which leaves nothing.
    fn measured_and_down(&self, runs: &str, hosts: u32, status: i32) {
        let (port, agents) = self.state();
        let runs_in = |(directory, pid): &(PathBuf, u64)| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == *directory)
        };
        assert!(agents.len() == hosts as usize && agents.iter().all(runs_in), "{agents:?}");
        let answer = format!("{hosts} of ");
        until_holds("the agents", || self.fleet("hosts").out.trim_start().starts_with(&answer));
        let runs = self.dir.path().join(runs);
        self.fleet(&format!("mesh throughput --time 200ms --out {}", runs.display())).exited(status);
        assert_eq!(result(&runs).measured().count() as u32, hosts * (hosts - 1));
        let ended = self.fleet("down").quietly();
        assert_eq!(ended.out.trim(), format!("ended {hosts} agents and the server"));
        for agent in &agents {
            assert!(!agent.0.exists() && !runs_in(agent), "{agent:?}");
        }
        assert_eq!(fs::read_dir(self.dir.path().join("netfathom")).unwrap().count(), 0);
        let connected = self.star.hub.run(|| TcpStream::connect((Star::hub_address(), port))).unwrap();
        assert!(connected.is_err(), "the server goes on");
        self.fleet("down").exited(1).explains(&["is not up"]);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Where a test has failed in between.
        if self.dir.path().join("netfathom/fleet-default").exists() {
            self.fleet("down");
        }
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(self.path("log")).unwrap_or_default());
        }
        for child in self.servers.iter_mut().rev() {
            // Its own children, such as those of a connection, end with it.
            let _ = shell(&format!("kill {}", child.id())).status();
            let _ = child.wait();
        }
    }
}

/// The directory that sshd changes into; made if there is none, and then removed.
struct Jail(bool);

const JAIL: &str = "/run/sshd";

impl Jail {
    fn make() -> Self {
        Self(fs::create_dir(JAIL).is_ok())
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        if self.0 {
            let _ = fs::remove_dir(JAIL);
        }
    }
}

#[test]
fn ssh_brings_a_fleet_up_and_nothing_is_left_when_it_is_down() {
    needs_root!();
    needs_programs!(
        ["nats-server", "sshd", "ssh", "ssh-keygen"],
        "nats-server openssh-server openssh-client"
    );
    let _alone = alone();
    let _jail = Jail::make();
    let mut site = Site::new(4, "NONE");
    for key in ["host", "user"] {
        let args = format!("-q -t ed25519 -N  -f {}", site.path(key));
        assert!(Command::new("ssh-keygen").args(args.split(' ')).status().unwrap().success());
    }
    let server = site.write(
        "sshd.conf",
        &format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n\
             PermitRootLogin yes\n",
            site.path("host"),
            site.path("user.pub")
        ),
    );
    let mut client = format!(
        "UserKnownHostsFile {}\nStrictHostKeyChecking accept-new\nIdentityFile {}\nBatchMode yes\n",
        site.path("known"),
        site.path("user")
    );
    for place in 0..4 {
        client += &format!("Host {}\nHostName {}\n", name(place), Star::address(place));
    }
    let client = site.write("ssh.conf", &client);
    // The last host has none.
    for place in 0..3 {
        site.serve(Some(place), "/usr/sbin/sshd", &format!("-D -e -f {server}"));
    }
    for place in 0..3 {
        let there = || TcpStream::connect((Star::address(place), 22)).ok();
        until("sshd", || site.star.hub.run(there).unwrap());
    }
    let up = |hosts: &str, more: &str| {
        let hosts = site.write("hosts.txt", hosts);
        let args = format!("up --hosts {hosts} --address {} {more} --command", Star::hub_address());
        let mut command = netfathom(&format!("fleet {args}"));
        command.arg(format!("ssh -F {client}"));
        site.start(&mut command)
    };
    end(up("root@c00\nc01\nc02\n", "")).quietly().shows(&["3 of 3 hosts answer"]);
    end(up("c00\n", "")).exited(1).explains(&["is up"]);
    site.measured_and_down("whole", 3, 0);

    // By one command, with the status of the mesh.
    let starts_at_once = |hosts: &str, time: &str| {
        let hosts = site.write("hosts.txt", hosts);
        let mut command =
            netfathom(&format!("fleet up --hosts {hosts} --address {} --command", Star::hub_address()));
        let into = site.path("at-once");
        let mesh = format!("-- mesh latency --time {time} --hosts {hosts} --out {into}");
        command.arg(format!("ssh -F {client}")).args(mesh.split(' '));
        site.start(&mut command)
    };
    let at_once = |hosts: &str| end(starts_at_once(hosts, "200ms"));
    let ended = at_once("c00\nc01\nc02\n").exited(0).shows(&["3 of 3 hosts answer", "median"]);
    assert!(!site.dir.path().join("netfathom/fleet-default").exists(), "{ended}");
    let ended = at_once("c00\nc01\nc03\n").exited(5).shows(&["PARTIAL"]);
    assert!(!site.dir.path().join("netfathom/fleet-default").exists(), "{ended}");

    // The second Ctrl-C ends the measurement at once, and what was started all the same.
    let mut interrupted = starts_at_once("c00\nc01\nc02\n", "30s");
    let measures = format!("pgrep -f -P {} 'mesh latency' >/dev/null", interrupted.id());
    until("the measurement", || shell(&measures).status().ok()?.success().then_some(()));
    until("its end", || {
        let _ = shell(&format!("kill -INT {}", interrupted.id())).status();
        std::thread::sleep(Duration::from_millis(500));
        interrupted.try_wait().unwrap()
    });
    let ended = end(interrupted);
    assert!(ended.status != 0 && ended.out.contains("ended 3 agents and the server"), "{ended}");
    assert!(!site.dir.path().join("netfathom/fleet-default").exists(), "{ended}");

    let binary = format!("--binary {}", env!("CARGO_BIN_EXE_netfathom"));
    let ended = end(up("c00\nc01\nc03\n-oProxyCommand=touch\n", &binary));
    ended.exited(5).explains(&["c03: ssh failed", "does not begin with -"]);
    site.measured_and_down("partial", 2, 5);
    end(up("c03\n", &binary)).exited(5).explains(&["netfathom fleet down --fleet default ends it"]);
    site.fleet("down").exited(0);

    // A host that takes the connection and says nothing, and a user who does not wait for it: what has started is known.
    let mute = site.star.hosts[3].run(|| TcpListener::bind((Star::address(3), 22))).unwrap().unwrap();
    let mut waiting = up("c00\nc03\nc01\n", &binary);
    let state = site.dir.path().join("netfathom/fleet-default/state.json");
    until_holds("two agents", || state.exists() && site.state().1.len() == 2);
    kill(&mut waiting);
    drop(mute);
    site.measured_and_down("left", 2, 5);
}

#[test]
fn slurm_brings_a_fleet_up_and_nothing_is_left_when_it_is_down() {
    needs_root!();
    needs_programs!(["nats-server"], "nats-server");
    needs_programs!(
        ["srun", "squeue", "sinfo", "slurmd", "slurmctld", "munged"],
        "slurm-client slurmd slurmctld munge"
    );
    let _alone = alone();
    let mut site = Site::new(3, "SLURM_CONF");
    let dir = site.dir.path().display().to_string();
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let node = |place: u8| {
        format!("NodeName={} NodeHostname={} NodeAddr={}", name(place), hostname.trim(), Star::address(place))
    };
    let conf = format!(
        "ClusterName=netfathom\nSlurmctldHost={host}({hub})\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={dir}/munge.socket\nCredType=cred/munge\n\
         StateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool-%n\n\
         SlurmctldPidFile={dir}/ctld.pid\nSlurmdPidFile={dir}/slurmd-%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
         ReturnToService=2\nSlurmdParameters=config_overrides\n{nodes}\nPartitionName=all Nodes=ALL Default=YES State=UP\n",
        host = hostname.trim(),
        hub = Star::hub_address(),
        nodes = (0..3).map(node).collect::<Vec<_>>().join("\n"),
    );
    let conf = site.write("slurm.conf", &conf);
    shell(&format!("umask 077; mkdir {dir}/state && head -c 128 /dev/urandom > {dir}/munge.key"))
        .status()
        .unwrap();
    let munge = format!(
        "-F -f --key-file={dir}/munge.key --socket={dir}/munge.socket --pid-file={dir}/munge.pid \
         --log-file={dir}/munge.log --seed-file={dir}/munge.seed"
    );
    site.serve(None, "/usr/sbin/munged", &munge);
    until_holds("munged", || Path::new(&format!("{dir}/munge.socket")).exists());
    site.serve(None, "/usr/sbin/slurmctld", &format!("-D -f {conf}"));
    for place in 0..3 {
        site.serve(Some(place), "/usr/sbin/slurmd", &format!("-D -N {} -f {conf}", name(place)));
    }
    let slurm = |command: &str| site.run(&mut shell(command)).out.trim().to_owned();
    until_holds("idle nodes", || slurm("sinfo -h -N -t idle -o %N | wc -l") == "3");

    let up = |hosts: &str, more: &str| {
        let hosts = site.write("nodes.txt", hosts);
        site.fleet(&format!("up --via srun --hosts {hosts} --address {} {more}", Star::hub_address()))
    };
    up("c00\nc01\nc02\n", "").quietly();
    assert_eq!(slurm("squeue -h -t running -o %N | sort | xargs"), "c00 c01 c02");
    site.measured_and_down("whole", 3, 0);
    assert_eq!(slurm("squeue -h"), "");

    // A list of Slurm's is no host; a node that there is not is named; a job that is cancelled leaves nothing.
    let binary = format!("--wait 1s --binary {}", env!("CARGO_BIN_EXE_netfathom"));
    let ended = up("c00\nc[01-02]\nc09\n", &binary);
    ended.exited(5).explains(&["c[01-02]: a host is named by", "c09: srun failed"]);
    let (_, agents) = site.state();
    assert!(agents.len() == 1 && agents[0].0.exists(), "{agents:?}");
    slurm("scancel -u root");
    until_holds("an empty directory", || !agents[0].0.exists());
    site.fleet("down").exited(1).explains(&["srun had ended before"]);
}
