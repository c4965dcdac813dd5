//! What differs from the original.

use netfathom_model::plan::ReproducePlan;
use netfathom_model::print::listed;

use super::originals::{Original, TCPDUMP};
use super::ours::Ours;
use crate::beside::short;

const ALWAYS: [&str; 3] = [
    "The paper's system is Red Hat Linux 9 with kernel 2.4.31; it does not name its hardware. Here the tar and the program \
     are kept to one CPU, so that one takes from the other, and the tree is generated and read from the page cache, \
     so that no disk's chance is in the figures.",
    "Tables 2 and 4 are in whole seconds; of how many runs they and table 3 are, the paper does not say. Tables 1 and 3 agree with table 2 to within a second or so. Ours \
     are several, in blocks there and back, with intervals.",
    "The paper's marks were taken by a module in the kernel that intercepted system calls; ours by programs at \
     tracepoints where that may be, otherwise by seccomp notification.",
];

fn projects(plan: &ReproducePlan) -> String {
    let Some(real) = &plan.projects else {
        return "The projects are generated: plain C files of the same size, in four numbers, of 5 MB at most; --projects DIR \
                takes real ones."
            .into();
    };
    let each = real.iter().map(|project| {
        let name = project.directory.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} of {:.1} MB", project.size_bytes as f64 / 1e6)
    });
    format!("The projects are {}.", listed(each))
}

pub fn of(plan: &ReproducePlan, original: &Original, ours: Option<&Ours<'_>>) -> Vec<String> {
    let mut list: Vec<String> = ALWAYS.map(Into::into).into();
    if original.who == TCPDUMP.who {
        list.push(
            "The load goes from one network namespace to another, and tcpdump runs in the second one, with -n, for \
             there is no name server; its output is thrown away. The sender runs on the same machine and takes its part: \
             that is the load alone. The tar compresses with gzip: the paper's was in user mode for 61 of its 154 s (table \
             1), which points to that, but it does not give the command."
                .into(),
        );
    } else {
        list.push(format!(
            "{} The paper's were hbench-OS, httperf 0.8, ltp-full and a kernel, of 350 kB to 187 MB. make starts together \
             with the tar, and ends when it is done; the tar compresses with gzip, so that it needs a processor as the \
             paper's did.",
            projects(plan)
        ));
    }
    list.extend(short(plan, "a smaller tree and fewer trials"));
    if let Some(ours) = ours {
        list.push(format!("The benchmark here: {}.", ours.tar.about.trim_end_matches('.')));
    }
    list
}
