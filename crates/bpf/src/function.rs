//! Functions of the running kernel: programs can be attached to their entry and exit (fentry, fexit).

use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;

use crate::libbpf_log;
use crate::probe::{self, Tracing};

/// Whether this kernel has the function and lets programs attach to functions. That is found out once, by
/// attaching one: some architectures came to it late, and some kernels forbid it.
pub(crate) fn has_hooks(name: &str) -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| probe::tracing(Tracing::Fentry).is_ok()) && is_known(name)
}

pub(crate) fn is_known(name: &str) -> bool {
    libbpf_log::take_over();
    Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name::<Func<'_>>(name).is_some())
}
