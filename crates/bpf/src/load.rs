//! Opening and loading objects, for all sets of programs: what the kernel refuses comes back with
//! the reason. A version of Linux only explains a refusal; nothing is left out because of it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use libbpf_rs::{
    ErrorKind, MapCore, MapFlags, MapType, Object, ObjectBuilder, OpenObject, num_possible_cpus,
};

use crate::{libbpf_log, tracepoint};

/// Why programs do not run in this kernel. Errors of all commands have one in them, so it is small.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Refusal(Box<Cause>);

#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error(
        "this kernel has no BTF ({BTF} is missing), by which programs are fitted to it: they need CONFIG_DEBUG_INFO_BTF, which distributions' kernels have"
    )]
    NoTypes,
    #[error("this kernel has no tracepoint {}", tracepoint::list(.0))]
    NoTracepoint(Vec<String>),
    #[error("{feature} needs Linux {}.{}, and this is Linux {running}", .since.0, .since.1)]
    TooOld { feature: &'static str, since: (u32, u32), running: String },
    #[error(
        "this process is in a time namespace that shifts CLOCK_MONOTONIC by {0}, and kernel programs read that clock without the shift: run netfathom outside of that namespace"
    )]
    TimeNamespace(String),
    #[error("{source:#}{}", .reason.as_ref().map_or(String::new(), |reason| format!(": {reason}")))]
    Failed { source: libbpf_rs::Error, reason: Option<String> },
}

impl Refusal {
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// The kind of the kernel's error; `None` where the kernel was not asked.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self.cause() {
            Cause::Failed { source, .. } => Some(source.kind()),
            Cause::NoTypes | Cause::NoTracepoint(_) | Cause::TooOld { .. } | Cause::TimeNamespace(_) => None,
        }
    }

    /// Whether the kernel refused it for want of privilege, or since it forbids it to all. The verifier refuses
    /// with the same error number, but says why: `!root` is what it calls a process without CAP_PERFMON.
    pub fn is_denied(&self) -> bool {
        let verified = matches!(self.cause(), Cause::Failed { reason: Some(reason), .. }
            if reason.starts_with("verifier") && !reason.contains("!root"));
        self.kind() == Some(ErrorKind::PermissionDenied) && !verified
    }
}

impl From<Cause> for Refusal {
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

impl From<libbpf_rs::Error> for Refusal {
    fn from(source: libbpf_rs::Error) -> Self {
        Cause::Failed { source, reason: None }.into()
    }
}

/// Where a kernel shows its own types.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// What programs use that not every kernel with BTF has, by the program's name.
const FEATURES: [(&str, &str, (u32, u32)); 21] = [
    ("count_and_drop", ATOMICS, (5, 12)),
    ("pass", "XDP of frames in fragments", (5, 18)),
    ("generate", "live frames of XDP", (5, 18)),
    ("on_egress", "bpf_loop", (5, 17)),
    ("on_ingress", "bpf_loop", (5, 17)),
    ("on_any_switch", "bpf_loop", (5, 17)),
    ("on_tcp_probe", "bpf_loop", (5, 17)),
    ("stream_net_dev_queue", "a word of a packet at any address", (6, 2)),
    ("stream_netif_receive_skb", "a word of a packet at any address", (6, 2)),
    ("rx_tcp_rcv_space_adjust", "bpf_loop", (5, 17)),
    ("message_echo", "a verdict on sockets of UDP", (5, 13)),
    ("message_sink", "a verdict on sockets of UDP", (5, 13)),
    ("message_resize", "a verdict on sockets of UDP", (5, 13)),
    ("message_grow", "a verdict on datagrams", (5, 13)),
    ("message_reply", ATOMICS, (5, 12)),
    ("message_ask", ATOMICS, (5, 12)),
    ("driver_echo", ATOMICS, (5, 12)),
    ("driver_sink", ATOMICS, (5, 12)),
    ("on_exit", ATOMICS, (5, 12)),
    ("mark_enter", ATOMICS, (5, 12)),
    ("record_enter", ATOMICS, (5, 12)),
];
const ATOMICS: &str = "an atomic addition with a result";

/// Opens an object to load those of its programs that are wanted.
pub(crate) fn open(object: &[u8], is_wanted: impl Fn(&str) -> bool) -> Result<OpenObject, Refusal> {
    libbpf_log::take_over();
    let mut open = ObjectBuilder::default().open_memory(object)?;
    open.progs_mut().for_each(|mut program| {
        let wanted = program.name().to_str().is_some_and(&is_wanted);
        program.set_autoload(wanted);
    });
    Ok(open)
}

/// Loads the programs that are wanted. Tracepoints are looked up before: the loader would only say that
/// there is no such process.
pub(crate) fn load(open: OpenObject) -> Result<Object, Refusal> {
    let wanted = || open.progs().filter(|program| program.autoload());
    let tracepoints = wanted().filter_map(|p| tracepoint::of_section(p.section().to_str()?));
    let missing: Vec<String> =
        tracepoints.filter(|name| tracepoint::is_missing(name)).map(str::to_owned).collect();
    if !missing.is_empty() {
        return Err(Cause::NoTracepoint(missing).into());
    }
    let newest = wanted().filter_map(|p| feature(p.name())).max_by_key(|&(_, since)| since);
    let (loaded, log) = libbpf_log::keeping(|| open.load());
    loaded.map_err(|source| {
        let denied = source.kind() == ErrorKind::PermissionDenied;
        if !denied && !Path::new(BTF).exists() {
            return Cause::NoTypes.into();
        }
        // Without privilege libbpf complains about limits that it could not raise.
        let reason = libbpf_log::reason(&log).filter(|reason| !denied || reason.starts_with("verifier"));
        let failed = Refusal::from(Cause::Failed { source, reason });
        if failed.is_denied() { failed } else { too_old(newest, &release()).unwrap_or(failed) }
    })
}

/// Forgets everything that programs have left in their memory. They must be attached to nothing.
pub(crate) fn clear(object: &Object) -> Result<(), Refusal> {
    for map in object.maps() {
        let keys: Vec<Vec<u8>> = map.keys().collect();
        let zero = vec![0; map.value_size() as usize];
        match map.map_type() {
            MapType::PercpuArray => {
                let zeros = vec![zero; num_possible_cpus()?];
                keys.iter().try_for_each(|key| map.update_percpu(key, &zeros, MapFlags::ANY))?;
            }
            MapType::Hash => keys.iter().try_for_each(|key| map.delete(key))?,
            // Constants are arrays too.
            MapType::Array if map.name().to_string_lossy().ends_with(".bss") => {
                keys.iter().try_for_each(|key| map.update(key, &zero, MapFlags::ANY))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn feature(program: &OsStr) -> Option<(&'static str, (u32, u32))> {
    FEATURES.iter().find(|(name, ..)| program == *name).map(|&(_, feature, since)| (feature, since))
}

/// Whether the kernel of this release lacks the feature. Asked only of programs that it refused: others may have
/// brought it to an older kernel.
fn too_old(feature: Option<(&'static str, (u32, u32))>, release: &str) -> Option<Refusal> {
    let (feature, since) = feature?;
    (version(release)? < since).then(|| Cause::TooOld { feature, since, running: release.to_owned() }.into())
}

/// The numbers that a release begins with.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use libbpf_rs::ProgramType;
    use netfathom_testkit::needs_root;

    use super::*;

    #[test]
    fn an_old_kernel_is_named_with_what_it_lacks() {
        let lacks =
            |release| too_old(feature(OsStr::new("pass")), release).map(|refusal| refusal.to_string());
        let expected = "XDP of frames in fragments needs Linux 5.18, and this is Linux 5.10.0-35-cloud-amd64";
        assert_eq!(lacks("5.10.0-35-cloud-amd64").as_deref(), Some(expected));
        assert_eq!(lacks("5.18.0"), None);
        assert_eq!(lacks("6.1.0"), None);
        assert_eq!(lacks(""), None);
    }

    #[test]
    fn a_verifier_that_asks_for_privilege_denies() {
        let refused = |reason: &str| {
            let source = libbpf_rs::Error::from_raw_os_error(libc::EACCES);
            Refusal::from(Cause::Failed { source, reason: Some(reason.into()) })
        };
        let prohibited = "verifier: R4 has pointer with unsupported alu operation, pointer arithmetic with it prohibited \
                          for !root";
        assert!(refused(prohibited).is_denied());
        assert!(!refused("verifier: invalid access to packet").is_denied());
    }

    /// The program is of another kind, which knows no such packets.
    #[test]
    fn what_the_kernel_refuses_comes_with_the_reason() {
        needs_root!();
        let object = include_bytes!(concat!(env!("OUT_DIR"), "/sink.bpf.o"));
        let mut wrong = open(object, |name| name == "redirect").unwrap();
        wrong.progs_mut().for_each(|mut program| program.set_prog_type(ProgramType::SocketFilter));
        let refused = load(wrong).err().unwrap();
        let text = refused.to_string();
        let (_, reason) = text.split_once(": verifier: ").unwrap_or_else(|| panic!("no reason: {text}"));
        assert!(reason.contains("invalid"), "{text}");
        assert!(!refused.is_denied(), "{text}");
    }
}
