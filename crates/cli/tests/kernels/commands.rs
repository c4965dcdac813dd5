//! What is run on each kernel.

/// Short enough for an emulator, and slow enough for one message to end before the next begins, with a delay of 1 ms
/// on its path.
const STACK: &str = "--json --profile constant:100/600ms --trials 1 --baselines 0 --cross-checks 0";
const LOAD: &str = "load send --json --lab --profile constant:1k/200ms --trials 1";
const PINGPONG: &str = "message pingpong --json --sizes 64 --cpus same --least 20ms --trials 1 --no-remedies";
const COST: &str = "cost --json --least-blocks 2 --blocks 2 --time 1s";

/// A command, and the name of what it leaves.
pub struct Run {
    pub name: String,
    pub command: String,
}

/// What is run. A receiver of ttcp runs beside its sender.
pub fn runs() -> Vec<Run> {
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
        ("reverse", "reverse --json --time 500ms --trials 1 --inbound 1k..2k --variant ignored".to_owned()),
    ];
    let engines = ["send", "sendmmsg", "gso", "af_xdp", "xdp"];
    let loads = engines.map(|engine| (format!("load-{engine}"), format!("{LOAD} --engine {engine}")));
    let all = own.into_iter().map(|(name, command)| (name.to_owned(), command)).chain(loads);
    all.map(|(name, command)| Run { name, command }).collect()
}

/// Runs them, and the kernel tests of a crate if its program is among those of the image.
pub fn script(tests: Option<&str>) -> String {
    let one = |Run { name, command }: Run| {
        let before =
            if name == "ttcp" { "netfathom ttcp -r -s -p 5013 >/dev/null 2>&1 & sleep 1\n" } else { "" };
        format!(
            "{before}netfathom {command} >/out/{name}.json 2>/out/{name}.err\n\
             echo $? >/out/{name}.status; echo \"{name}: $(cat /out/{name}.status), $(cut -d. -f1 /proc/uptime) s\"\n"
        )
    };
    // loom asks no kernel.
    let tests = tests.map(|program| {
        format!(
            "{program} --test-threads=1 --skip stack::order >/out/tests.txt 2>&1\n\
             echo \"tests: $?, $(cut -d. -f1 /proc/uptime) s\"\n"
        )
    });
    let all: String = runs().into_iter().map(one).collect();
    format!("cd /tmp\n{all}{}", tests.unwrap_or_default())
}
