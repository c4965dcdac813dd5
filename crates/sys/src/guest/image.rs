//! What a guest boots into: busybox, some programs and a script, in its memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Kernel, Machine};

/// Devices of labs and sweeps, what ss(8) and diagnostics ask, and programs on devices before Linux 6.6.
const MODULES: &str =
    "veth tun af_packet_diag inet_diag udp_diag tcp_diag unix_diag xsk_diag sch_ingress cls_bpf";

/// Writes the script's files to the console when it has ended, and goes off.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null # what is there stays
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir /dev/shm /out
mount -t tmpfs shm /dev/shm
for module in /lib/modules/*/*.ko; do modprobe "$(basename "$module" .ko)"; done
ip link set lo up
sh /script </dev/null
dmesg -n 1
echo
echo BEGIN FILES
tar -cz -C /out . | base64
echo END FILES
poweroff -f
"#;

/// Makes the image out of a folder: busybox, programs with their libraries, the kernel's modules, and the whole.
const MAKE: &str = r#"set -e
cd "$1"
mkdir -p bin dev proc sys tmp run root etc lib usr "lib/modules/$4"
if [ "$8" ]; then
    for folder in lib usr/lib; do [ ! -d "$8/$folder" ] || cp -rL --no-target-directory "$8/$folder" "$folder"; done
    cp "$8/bin/busybox" bin/busybox
else
    cp "$(command -v busybox)" bin/busybox
fi
for program in $3; do
    "$7" -o "bin/$(basename "$program")" "$program"
    [ "$8" ] || for library in $(ldd "$program" | grep -o '/[^ ]*'); do
        mkdir -p "./$(dirname "$library")"
        cp -L "$library" "./$library"
    done
done
if [ "$2" ]; then
    for module in $5; do
        find -L "$2" -name "$module.ko*" -exec cp {} "lib/modules/$4/" \;
    done
    find "lib/modules/$4" -name '*.xz' -exec xz -d {} \;
    for list in order builtin builtin.modinfo; do
        [ ! -e "$2/modules.$list" ] || cp "$2/modules.$list" "lib/modules/$4/"
    done
    PATH=$PATH:/sbin:/usr/sbin depmod -b . "$4"
fi
find . | cpio --quiet -o -H newc >"$6"
"#;

pub struct Image(PathBuf);

impl Image {
    /// Makes an image in a folder, with programs for the kernel's machine, which find their libraries there: of this
    /// system, or those in the folder `system`, with a busybox. Its script is run by a shell and leaves in `/out` what
    /// is to be kept.
    ///
    /// # Errors
    /// The messages of the tools that make it.
    pub fn make(
        kernel: &Kernel,
        programs: &[&Path],
        system: Option<&Path>,
        script: &str,
        folder: &Path,
    ) -> Result<Self, String> {
        let (root, image) = (folder.join("root"), folder.join("image"));
        let failed = |e: std::io::Error| format!("{}: {e}", root.display());
        fs::create_dir_all(&root).map_err(failed)?;
        fs::write(root.join("script"), script).map_err(failed)?;
        fs::write(root.join("init"), INIT).map_err(failed)?;
        fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let programs: Vec<_> = programs.iter().map(|program| program.display().to_string()).collect();
        let mut make = Command::new("sh");
        let (system, modules) =
            (system.unwrap_or(Path::new("")), kernel.modules.as_deref().unwrap_or(Path::new("")));
        make.args(["-c", MAKE, "sh"]).arg(&root).arg(modules).arg(programs.join(" "));
        make.args([&kernel.release, MODULES]).arg(&image).arg(kernel.machine.strip()).arg(system);
        tool(&mut make)?;
        Ok(Self(image))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Runs a program that prints only if it fails.
///
/// # Errors
/// Its message.
pub fn tool(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}

/// What a program wrote.
///
/// # Errors
/// Its message.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = command.output().map_err(|e| format!("{name}: {e}"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    Err(format!("{name} failed ({}): {}", ended.status, stderr.trim()))
}

/// The package of Debian with a program that is not here and that it takes to boot the machine.
pub fn missing_program(machine: Machine) -> Option<&'static str> {
    const PROGRAMS: [(&str, &str); 5] = [
        ("busybox", "busybox-static"),
        ("cpio", "cpio"),
        ("depmod", "kmod"),
        ("xz", "xz-utils"),
        ("strip", "binutils"),
    ];
    let folders = std::env::var("PATH").unwrap_or_default() + ":/sbin:/usr/sbin";
    let is_here = |program: &str| folders.split(':').any(|folder| Path::new(folder).join(program).exists());
    let own: &[(&str, &str)] = match machine {
        Machine::X86_64 => &[("qemu-system-x86_64", "qemu-system-x86")],
        Machine::Aarch64 => &[("qemu-system-aarch64", "qemu-system-arm")],
    };
    let strip: &[(&str, &str)] =
        if machine.is_own() { &[] } else { &[(machine.strip(), "binutils-aarch64-linux-gnu")] };
    let all = own.iter().chain(strip).chain(&PROGRAMS);
    all.into_iter().find(|(program, _)| !is_here(program)).map(|&(_, package)| package)
}
