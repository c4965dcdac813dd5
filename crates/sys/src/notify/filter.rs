//! The filter: a program of classic BPF that lets all calls pass but those that notify.

use std::io;
use std::os::fd::OwnedFd;

use libc::sock_filter;

use crate::call::{done, owned};

/// AUDIT_ARCH_* of linux/audit.h: the architecture of the system call numbers in the filter.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// A jump goes over at most 255 instructions.
const MOST: usize = 128;

/// Where `struct seccomp_data` has the number of the call and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

pub(super) struct Filter {
    program: Vec<sock_filter>,
    /// The call by which the listener may be passed on.
    pub passes_by: libc::c_long,
}

impl Filter {
    pub fn new(numbers: &[u32]) -> io::Result<Self> {
        let Some(architecture) = ARCHITECTURE else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no filter for this architecture"));
        };
        let refuse = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if numbers.len() > MOST {
            return refuse("more than 128 system calls to notify of");
        }
        // The listener has to get out before anybody answers.
        let is_asked = |call: &libc::c_long| numbers.iter().any(|&number| i64::from(number) == *call);
        let passing = [libc::SYS_sendmsg, libc::SYS_sendmmsg];
        let Some(passes_by) = passing.into_iter().find(|call| !is_asked(call)) else {
            return refuse("sendmsg and sendmmsg cannot both be notified of");
        };
        Ok(Self { program: program(architecture, numbers), passes_by })
    }

    /// Puts the filter before the calling thread and all it starts from now on. Allocates nothing.
    pub fn install(&self) -> io::Result<OwnedFd> {
        // Who gets no_new_privs cannot give it back, so it is tried without.
        match self.install_with_rights() {
            Err(e) if e.raw_os_error() == Some(libc::EACCES) => {
                // SAFETY: no pointers.
                done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
                self.install_with_rights()
            }
            installed => installed,
        }
    }

    fn install_with_rights(&self) -> io::Result<OwnedFd> {
        let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Since Linux 5.19.
        match self.install_as(listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => self.install_as(listener),
            installed => installed,
        }
    }

    fn install_as(&self, flags: libc::c_ulong) -> io::Result<OwnedFd> {
        let program = libc::sock_fprog {
            // At most 134 of them.
            len: self.program.len() as u16,
            filter: self.program.as_ptr().cast_mut(),
        };
        // SAFETY: the program is as long as it says, and the kernel copies it.
        owned(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        })
    }
}

fn program(architecture: u32, numbers: &[u32]) -> Vec<sock_filter> {
    let code = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    let load = |at| code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at);
    let if_equal = |k, then, or| code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, then, or, k);
    let answer = |k| code(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    let count = numbers.len() as u8;
    let mut program = vec![load(ARCHITECTURE_AT), if_equal(architecture, 0, count + 1), load(NUMBER_AT)];
    // To the last instruction, over the rest of the numbers and the one that lets pass.
    program.extend(numbers.iter().zip(0..).map(|(&number, n): (_, u8)| if_equal(number, count - n, 0)));
    program.extend([answer(libc::SECCOMP_RET_ALLOW), answer(libc::SECCOMP_RET_USER_NOTIF)]);
    program
}
