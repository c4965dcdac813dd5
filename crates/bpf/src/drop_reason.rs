//! Why the kernel drops packets: the names of its reasons. They differ from kernel to kernel, so they are read from BTF.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Enum;

/// By number, without the prefix that they share; none before Linux 5.17.
pub(crate) fn names() -> &'static BTreeMap<u32, String> {
    static NAMES: OnceLock<BTreeMap<u32, String>> = OnceLock::new();
    NAMES.get_or_init(|| read().unwrap_or_default())
}

fn read() -> Option<BTreeMap<u32, String>> {
    let btf = Btf::from_vmlinux().ok()?;
    let reasons = btf.type_by_name::<Enum<'_>>("skb_drop_reason")?;
    let named = reasons.iter().filter_map(|of| {
        let name = of.name?.to_str()?.trim_start_matches("SKB_DROP_REASON_");
        Some((u32::try_from(of.value).ok()?, name.to_owned()))
    });
    Some(named.collect())
}
