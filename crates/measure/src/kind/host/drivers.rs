//! Programs at devices, sockets and switches: those that load, sinks and ends of messages use, loaded and
//! attached as there.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::NonZeroU32;
use std::os::fd::AsFd;

use netfathom_bpf::contention::Contention;
use netfathom_bpf::generator::Generator;
use netfathom_bpf::message::{Flow, KernelEnd, Programs, Work};
use netfathom_bpf::sink::{XdpPass, XdpRedirect, XdpSink};
use netfathom_bpf::watch::{Detail, Selection, Watch};
use netfathom_bpf::xdp::Mode;
use netfathom_model::host::HostRow;
use netfathom_model::message::HEADER_BYTES;
use netfathom_model::path::Direction;
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::probe::xdp_socket;

use super::places::{bind, no_lab_reason};
use super::reason::plain;
use super::{missing, works};
use crate::ground::lab::{Lab, LabError, Role};
use crate::load::frame::{Frame, FrameAddresses};

const XDP: &str = "XDP, native";
const XDP_USE: &str = "engine xdp, its sink and ends of messages in the driver; tried on veth";
const XDP_REMEDY: &str = "use Linux 5.18 or later; NETFATHOM_BPF_LOG=1 shows all that the verifier writes";

const AF_XDP: &str = "AF_XDP socket";
const AF_XDP_USE: &str = "packets past the stack, to and from user space; tried on veth";
const AF_XDP_REMEDY: &str =
    "use a kernel with CONFIG_XDP_SOCKETS; NETFATHOM_BPF_LOG=1 shows all that the verifier writes";

const VERDICT: &str = "socket verdict";
const VERDICT_USE: &str = "programs that answer messages at a socket, in the kernel";
const VERDICT_REMEDY: &str = "use Linux 5.13 or later, built with CONFIG_BPF_STREAM_PARSER";

const CONTENTION: &str = "CPU contention";
const CONTENTION_USE: &str = "names who had the CPU that a thread of a load waited for";
const CONTENTION_REMEDY: &str =
    "use Linux 5.17 or later, built with CONFIG_SCHED_INFO and CONFIG_FAIR_GROUP_SCHED";

const WATCH: &str = "TCP of others";
const WATCH_USE: &str = "watch: the messages that come to a running application";
const WATCH_REMEDY: &str =
    "use Linux 5.17 or later with CONFIG_SCHED_INFO; NETFATHOM_BPF_LOG=1 shows all that the verifier writes";

const PORT: u16 = 9;
const ANYWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);

type Attempt = Result<(), Box<dyn Error + Send + Sync>>;

pub(super) fn rows(lab: &Result<Lab, LabError>) -> Vec<HostRow> {
    vec![
        in_lab(lab, XDP, XDP_USE, XDP_REMEDY, xdp),
        in_lab(lab, AF_XDP, AF_XDP_USE, AF_XDP_REMEDY, af_xdp),
        row(VERDICT, VERDICT_USE, VERDICT_REMEDY, socket_verdict()),
        row(CONTENTION, CONTENTION_USE, CONTENTION_REMEDY, contention()),
        row(WATCH, WATCH_USE, WATCH_REMEDY, watch()),
    ]
}

fn contention() -> Attempt {
    Contention::attach(netfathom_bpf::contention::Detail { interrupts: true, pauses: true })?
        .follow()
        .map(drop)
        .ok_or("no switch of a thread was seen")?;
    Ok(())
}

fn watch() -> Attempt {
    Watch::attach(Selection::Marked, &[Direction::Rx], Detail::default())?;
    Ok(())
}

/// A row of something that is tried on the devices of the lab.
pub(super) fn in_lab(
    lab: &Result<Lab, LabError>,
    name: &str,
    detail: &str,
    remedy: &str,
    attempt: impl FnOnce(&Lab) -> Attempt,
) -> HostRow {
    match lab {
        Ok(lab) => row(name, detail, remedy, attempt(lab)),
        Err(e) => {
            let reason = format!("there is no lab to try it in: {}", no_lab_reason(e));
            missing(name, detail, reason, "make the lab possible first, see the row `lab`")
        }
    }
}

fn row(name: &str, detail: &str, remedy: &str, attempt: Attempt) -> HostRow {
    match attempt {
        Ok(()) => works(name, detail),
        Err(e) => {
            let denied = "run as root, or grant CAP_BPF and CAP_NET_ADMIN to the program";
            missing(name, detail, plain(&e), if may_attach() { remedy } else { denied })
        }
    }
}

/// Whether this process holds what programs on devices and sockets need.
fn may_attach() -> bool {
    let held = effective().unwrap_or_default();
    let bpf = held.contains(&Capability::SysAdmin) || held.contains(&Capability::Bpf);
    bpf && held.contains(&Capability::NetAdmin)
}

fn xdp(lab: &Lab) -> Attempt {
    let (sender, reader) = (lab.link(Role::Sender), lab.link(Role::Reader));
    lab.reader.run(|| {
        XdpSink::attach(reader.index, PORT, Mode::Native)?;
        XdpPass::attach(reader.index)?;
        for work in [Work::Echo { until: None }, Work::Sink] {
            KernelEnd::at_driver(work, Flow { here: ANYWHERE, there: ANYWHERE }, reader.index)?;
        }
        Attempt::Ok(())
    })??;
    let address = SocketAddr::V4(ANYWHERE);
    let ends = FrameAddresses {
        source_mac: sender.mac,
        destination_mac: reader.mac,
        source: address,
        destination: address,
        hop_limit: 1,
    };
    let frame = Frame::new(&ends, 0, HEADER_BYTES);
    lab.sender.run(|| Generator::load(frame.bytes(), sender.index))??;
    Ok(())
}

fn af_xdp(lab: &Lab) -> Attempt {
    xdp_socket()?;
    lab.reader.run(|| XdpRedirect::attach(lab.link(Role::Reader).index, PORT))??;
    Ok(())
}

/// Gives the kernel a socket that receives nothing.
fn socket_verdict() -> Attempt {
    let (near, far) = (bind(Ipv4Addr::LOCALHOST.into())?, bind(Ipv4Addr::LOCALHOST.into())?);
    near.connect(far.local_addr()?)?;
    Programs::load(Work::Echo { until: None }, NonZeroU32::MIN)?.attach(near.as_fd())?;
    Ok(())
}
