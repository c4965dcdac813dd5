//! What is run on each kernel.

/// Short enough for an emulator, and slow enough for one message to end before the next begins, with a delay of 1 ms
/// on its path.
const STACK: &str = "--json --profile constant:100/600ms --trials 1 --baselines 0 --cross-checks 0";
const LOAD: &str = "load send --json --lab --profile constant:1k/200ms --trials 1";
const PINGPONG: &str =
    "message pingpong --json --sizes 64 --cpu-pairs same --min-time 20ms --trials 1 --no-remedies";
const COST: &str = "cost --json --min-blocks 2 --max-blocks 2 --time 1s";

/// Each message is slow, so that all are kept. It is ended once all were sent.
const WATCH: &str = "--json --port 9311 --time 30s --slow 1ns --sockets";

/// What a client sends to the server that is watched, in as many calls.
pub const LINES: u64 = 10;
pub const LINE: &str = "hello";

/// Commands that run once more, without BTF, and what they come to.
pub const WITHOUT_BTF: [(&str, &str); 4] = [
    ("host", "host --json"),
    ("stack", "stack --tap bpf"),
    ("watch", "watch --port 9311 --time 1s"),
    ("load", "load send --lab --engine xdp --trials 1"),
];

/// A command, and the name of what it leaves.
pub struct Run {
    pub name: String,
    pub command: String,
}

/// How much is run on a kernel, each with all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// One command for each set of kernel programs.
    Short,
    Every,
    /// With what users begin with, which runs for its own time.
    Whole,
}

pub const FIRST: &str = "stack-quick";

/// What each set of kernel programs does where hooks, verifier or ways to attach differ between kernels.
const SHORT: &str = "\
    host stack-both stack-delayed-rx stack-slow-reader stack-fentry stack-fentry-delayed-rx message-udp \
    cost-self watch-rx watch-unix load-af_xdp load-xdp";

pub fn runs(extent: Extent) -> Vec<Run> {
    let own = [
        ("host", "host --json".to_owned()),
        ("stack-both", format!("stack {STACK}")),
        ("stack-ipv6", format!("stack --ipv6 {STACK}")),
        ("stack-loopback", format!("stack --loopback {STACK}")),
        ("stack-delayed-tx", format!("stack {STACK} --insert-delay tx:1ms")),
        ("stack-delayed-rx", format!("stack {STACK} --insert-delay rx:1ms")),
        ("stack-slow-reader", format!("stack {STACK} --reader-delay 20ms")),
        ("stack-fentry", format!("stack --tap fentry {STACK}")),
        ("stack-fentry-delayed-tx", format!("stack --tap fentry {STACK} --insert-delay tx:1ms")),
        ("stack-fentry-delayed-rx", format!("stack --tap fentry {STACK} --insert-delay rx:1ms")),
        ("stack-fentry-slow-reader", format!("stack --tap fentry {STACK} --reader-delay 20ms")),
        ("stack-timestamping", format!("stack --tap timestamping {STACK}")),
        ("stack-pcap", format!("stack --tap pcap {STACK}")),
        ("message-tcp", format!("{PINGPONG} --layers write --placement UU,KK")),
        ("message-udp", format!("{PINGPONG} --over udp --placement UU,KK")),
        ("ttcp", "ttcp -t --json -s -n 64 -p 5013 127.0.0.1".to_owned()),
        ("cost-self", format!("{COST} --self -- ls /")),
        ("cost-sequence", format!("{COST} --benchmark x=ls --sequence auto --nothing --no-baselines")),
        ("capacity", "capacity --json --hold 50ms --trials 1 --engine send --workers 1".to_owned()),
        ("watch-rx", format!("watch rx {WATCH}")),
        ("watch-tx", format!("watch tx {WATCH}")),
        ("watch-both", format!("watch both {WATCH}")),
        // Its programs load; what comes is held against servers by other tests.
        ("watch-unix", "watch rx --unix --json --pid 1 --time 500ms".to_owned()),
        ("reverse", "reverse --json --time 500ms --trials 1 --inbound 1k..2k --variant ignored".to_owned()),
        (FIRST, "stack --quick --json".to_owned()),
    ];
    let engines = ["send", "sendmmsg", "gso", "af_xdp", "xdp"];
    let loads = engines.map(|engine| (format!("load-{engine}"), format!("{LOAD} --engine {engine}")));
    let all = own.map(|(name, command)| (name.to_owned(), command)).into_iter().chain(loads);
    let from = |name: &str| match name {
        FIRST => Extent::Whole,
        name if SHORT.split(' ').any(|short| short == name) => Extent::Short,
        _ => Extent::Every,
    };
    let wanted = all.filter(|(name, _)| from(name) <= extent);
    wanted.map(|(name, command)| Run { name, command }).collect()
}

/// A receiver of ttcp runs beside its sender; what is watched is an echo of netcat's, to which a client speaks once the
/// programs are attached, or the command has ended. After its first line it waits until a reader has started.
fn around(name: &str) -> (&'static str, String) {
    match name {
        "ttcp" => ("netfathom ttcp -r -s -p 5013 >/dev/null 2>&1 & sleep 1", String::new()),
        "watch-rx" | "watch-tx" | "watch-both" => (
            "busybox nc -ll -p 9311 -e busybox cat & server=$!",
            format!(
                "& watch=$!\n\
                 while kill -0 $watch 2>/dev/null && ! grep -q ^watching /out/{name}.err; do busybox sleep 0.2; done\n\
                 (for line in $(seq {LINES}); do echo {LINE}; busybox sleep ${{pause:-1}}; pause=0.05; done; busybox sleep 1) |\n\
                     busybox nc 127.0.0.1 9311 >/dev/null\n\
                 kill $server; kill -TERM $watch 2>/dev/null; wait $watch"
            ),
        ),
        _ => ("", String::new()),
    }
}

/// Runs them, and some without BTF too.
pub fn script(runs: &[Run], without_btf: bool) -> String {
    let one = |Run { name, command }: &Run| {
        let (before, after) = around(name);
        format!(
            "{before}\nnetfathom {command} >/out/{name}.json 2>/out/{name}.err {after}\n\
             echo $? >/out/{name}.status; echo \"{name}: $(cat /out/{name}.status), $(cut -d. -f1 /proc/uptime) s\"\n"
        )
    };
    let hidden = WITHOUT_BTF.iter().filter(|_| without_btf).map(|(name, command)| {
        let name = format!("without-btf-{name}");
        format!("netfathom {command} >/out/{name}.json 2>/out/{name}.err; echo $? >/out/{name}.status\n")
    });
    let hidden: String = hidden.collect();
    let all: String = runs.iter().map(one).collect();
    format!("cd /tmp\n{all}mount -t tmpfs none /sys/kernel/btf\n{hidden}umount /sys/kernel/btf\n")
}

/// Runs the kernel tests of a crate that the arguments choose. loom asks no kernel.
pub fn script_of_tests(program: &str, which: &str) -> String {
    format!(
        "cd /tmp\nNETFATHOM_EMULATED=1 {program} --test-threads=1 --skip stack::order {which} >/out/tests.txt 2>&1\n\
         echo \"tests {which}: $?, $(cut -d. -f1 /proc/uptime) s\"\n"
    )
}
