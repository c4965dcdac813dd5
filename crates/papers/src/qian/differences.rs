//! What differs from the original.

use netfathom_model::plan::ReproducePlan;

use super::originals::{Original, TCPDUMP};
use super::ours::Ours;

const ALWAYS: [&str; 3] = [
    "The paper's machine had one processor and a disk. Ours has what the environment says: the tar and the program are \
     kept to one processor of it, and the tree is read from the page cache, so that the disk's own chance is not in the \
     figures.",
    "Each condition of the paper is one run, in whole seconds. Ours are several, in blocks there and back, with intervals.",
    "The paper's marks were taken by a module in the kernel that intercepted system calls; ours by programs at \
     tracepoints where that may be, otherwise by seccomp notification.",
];

pub fn of(plan: &ReproducePlan, original: &Original, ours: Option<&Ours<'_>>) -> Vec<String> {
    let mut told: Vec<String> = ALWAYS.map(Into::into).into();
    if original.who == TCPDUMP.who {
        told.push(
            "The load goes from one network namespace to another, and tcpdump runs in the second one, with -n, for \
             there is no name server; its output is thrown away. The sender runs on the same machine and takes its part: \
             that is the load alone. The tar is GNU tar without compression."
                .into(),
        );
    } else {
        told.push(
            "The projects are generated: plain C files of the same size, in four numbers. The paper's were real ones. make \
             starts together with the tar, and ends when it is done; the tar compresses with gzip, so that it needs a \
             processor as the paper's did."
                .into(),
        );
    }
    if plan.quick {
        told.push("The short form: a smaller tree and fewer trials.".into());
    }
    if let Some(ours) = ours {
        told.push(format!("The benchmark here: {}.", ours.tar.about.trim_end_matches('.')));
    }
    told
}
