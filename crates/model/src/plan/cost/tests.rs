use super::*;

fn plan() -> CostPlan {
    let kind = BenchmarkKind::Light { phases: Vec::new(), phase_ns: 200_000_000 };
    let subject = Subject::Command { argv: vec!["true".into()] };
    CostPlan { subject, ..CostPlan::alone("light", kind) }
}

fn level(text: &str, bits_per_s: Option<f64>) -> CostLevel {
    CostLevel { text: text.into(), bits_per_s }
}

fn refusal(plan: CostPlan) -> String {
    plan.validated().unwrap_err().to_string()
}

#[test]
fn what_goes_together_is_accepted() {
    assert!(plan().validated().is_ok());
    let load = Some(CostLoad::Udp { frame_bytes: PAPER_FRAME_BYTES });
    let levels = vec![level("0", Some(0.0)), level("8M", Some(8e6))];
    assert!(CostPlan { load, levels, ..plan() }.validated().is_ok());
    let subject = Subject::Command { argv: vec!["make".into(), "-C".into(), "{level}".into()] };
    assert!(CostPlan { subject, levels: vec![level("small", None)], ..plan() }.validated().is_ok());
}

#[test]
fn a_level_goes_somewhere_and_each_has_its_place() {
    let levels = vec![level("1", None)];
    assert!(refusal(CostPlan { levels: levels.clone(), ..plan() }).contains("neither COMMAND nor --load"));
    let command = |text: &str| Some(CostLoad::Command { command: text.into() });
    assert!(refusal(CostPlan { load: command("sleep 1"), levels, ..plan() }).contains("no {level} in it"));
    let one = vec![level(ONE_LOAD, None)];
    assert!(CostPlan { load: command("sleep 1"), levels: one, ..plan() }.validated().is_ok());
    assert!(refusal(CostPlan { load: command("sleep {level}"), ..plan() }).contains("add --levels"));
    let twice = vec![level("1", None), level("1", None)];
    assert!(refusal(CostPlan { load: command("sleep {level}"), levels: twice, ..plan() }).contains("twice"));
    let load = Some(CostLoad::Udp { frame_bytes: PAPER_FRAME_BYTES });
    assert!(refusal(CostPlan { load, levels: vec![level("x", None)], ..plan() }).contains("bits a second"));
}

#[test]
fn what_cannot_be_is_refused() {
    let subject = Subject::Command { argv: Vec::new() };
    assert!(refusal(CostPlan { subject, ..plan() }).contains("no COMMAND"));
    assert!(refusal(CostPlan { precision: 0.0, ..plan() }).contains("--precision"));
    assert!(refusal(CostPlan { least_blocks: 60, ..plan() }).contains("--min-blocks 60"));
    // It would run elsewhere, and the answer be of that.
    let subject = Subject::Process { pid: 4242 };
    let pinned = CostPlan { subject, program_cpu: vec![0, 2], ..plan() };
    assert!(refusal(pinned).ends_with("only a COMMAND that it starts; first taskset -acp 0,2 4242"));
    for (files, why) in [
        (vec!["/".into()], "names no file"),
        (vec!["a/..".into()], "names no file"),
        (Vec::new(), "marks: their number 0"),
        (vec!["a".into(); 65], "marks: their number 65"),
    ] {
        let kind = BenchmarkKind::Command { command: vec!["ls".into()], marks: MarkSource::Files(files) };
        let benchmarks = vec![Benchmark { name: "ls".into(), kind }];
        let refused = refusal(CostPlan { benchmarks, ..plan() });
        assert!(refused.contains(why), "{refused}");
    }
}
