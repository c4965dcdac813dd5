//! Whether the machine is virtual, by its CPU, its kernel and its firmware. None of them has to show it.

use std::fs;
use std::path::Path;

use super::{cpuinfo, field, line};

/// What vendor and product of the firmware begin with where a hypervisor made them (as systemd-detect-virt
/// has them).
const MAKERS: [&str; 15] = [
    "Amazon EC2",
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Google Compute Engine",
    "Hyper-V",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VMware",
    "VirtualBox",
    "Xen",
    "innotek GmbH",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hypervisor {
    /// There is one, which its sign names.
    Found(String),
    /// Whoever would name one names none.
    NotNamed,
    /// Nothing that would name one is here.
    Unknown,
}

#[derive(Clone, Debug, Default)]
struct Signs {
    /// Those of an x86 CPU: one is for a hypervisor.
    flags: Option<String>,
    /// What a kernel that knows its hypervisor names, such as `xen`.
    kernel: Option<String>,
    makers: Vec<String>,
    /// `compatible` of the device tree's root, and the names of the nodes below it.
    tree: Vec<String>,
}

pub fn find() -> Hypervisor {
    let dmi = Path::new("/sys/class/dmi/id");
    let makers = ["sys_vendor", "product_name", "board_vendor", "bios_vendor"];
    let root = Path::new("/proc/device-tree");
    let compatible = line(root.join("compatible")).unwrap_or_default();
    let nodes = fs::read_dir(root).into_iter().flatten().flatten();
    let nodes = nodes.filter_map(|node| node.file_name().into_string().ok());
    Signs {
        flags: field(&cpuinfo(), "flags").map(str::to_owned),
        kernel: line("/sys/hypervisor/type"),
        makers: makers.iter().filter_map(|name| line(dmi.join(name))).collect(),
        tree: compatible.split('\0').map(str::to_owned).chain(nodes).collect(),
    }
    .judge()
}

impl Signs {
    fn judge(&self) -> Hypervisor {
        let is_metal = self.makers.iter().any(|text| text.ends_with(".metal"));
        let made = |text: &&String| MAKERS.iter().any(|maker| text.starts_with(maker)) && !is_metal;
        // Hyper-V has the vendor of real machines.
        let microsoft = |text: &&String| *text == "Virtual Machine";
        if let Some(maker) = self.makers.iter().find(|text| made(text) || microsoft(text)) {
            return Hypervisor::Found(maker.clone());
        }
        let emulated = |name: &&String| {
            ["linux,dummy-virt", "hypervisor"].contains(&name.as_str())
                || ["qemu,", "xen,", "fw-cfg"].iter().any(|begin| name.starts_with(begin))
        };
        if let Some(name) = self.tree.iter().find(emulated) {
            return Hypervisor::Found(format!("{name} in the device tree"));
        }
        if let Some(kernel) = &self.kernel {
            return Hypervisor::Found(kernel.clone());
        }
        match &self.flags {
            Some(flags) if flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") => {
                Hypervisor::Found("as the CPU says".into())
            }
            None if self.makers.is_empty() => Hypervisor::Unknown,
            _ => Hypervisor::NotNamed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dmi(makers: &[&str]) -> Hypervisor {
        Signs { makers: makers.iter().map(|&m| m.into()).collect(), ..Signs::default() }.judge()
    }

    #[test]
    fn firmware_of_a_hypervisor_is_recognized() {
        for makers in [
            ["QEMU", "QEMU Virtual Machine"],
            ["Amazon EC2", "m7g.large"],
            ["Microsoft Corporation", "Virtual Machine"],
            ["Google", "Google Compute Engine"],
            ["VMware, Inc.", "VMware7,1"],
        ] {
            assert!(matches!(dmi(&makers), Hypervisor::Found(_)), "{makers:?}");
        }
        for makers in [
            ["Dell Inc.", "PowerEdge R750"],
            ["Amazon EC2", "c7g.metal"],
            ["Microsoft Corporation", "Surface"],
        ] {
            assert_eq!(dmi(&makers), Hypervisor::NotNamed, "{makers:?}");
        }
    }

    #[test]
    fn a_device_tree_of_an_emulator_is_recognized() {
        // As /proc/device-tree of QEMU's `virt` has them.
        let tree = ["linux,dummy-virt", "psci", "fw-cfg@9020000"].map(String::from).to_vec();
        assert!(matches!(Signs { tree, ..Signs::default() }.judge(), Hypervisor::Found(_)));
        let tree = ["raspberrypi,4-model-b", "psci"].map(String::from).to_vec();
        assert_eq!(Signs { tree, ..Signs::default() }.judge(), Hypervisor::Unknown);
    }

    #[test]
    fn a_hypervisor_is_a_flag_of_its_own() {
        let flagged = |flags: &str| Signs { flags: Some(flags.into()), ..Signs::default() }.judge();
        assert!(matches!(flagged("fpu hypervisor lahf_lm"), Hypervisor::Found(_)));
        assert_eq!(flagged("fpu nohypervisor"), Hypervisor::NotNamed);
    }

    #[test]
    fn a_kernel_that_names_its_hypervisor_is_believed() {
        let kernel = Some("xen".into());
        assert_eq!(Signs { kernel, ..Signs::default() }.judge(), Hypervisor::Found("xen".into()));
    }

    #[test]
    fn silence_is_no_sign() {
        assert_eq!(Signs::default().judge(), Hypervisor::Unknown);
    }
}
