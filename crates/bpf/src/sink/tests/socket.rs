//! An AF_XDP socket that receives, no more than a test needs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

const FRAMES: u32 = 8;
const FRAME_BYTES: u32 = 2048;

pub(super) struct Socket {
    fd: OwnedFd,
    memory: *mut u8,
    received: *mut u8,
    offsets: libc::xdp_mmap_offsets,
}

// SAFETY: the memory belongs to the socket alone and is not bound to a thread.
unsafe impl Send for Socket {}

impl Socket {
    /// Binds to a queue of a device of the calling thread's namespace.
    pub fn bind(ifindex: u32, queue: u32) -> Self {
        // SAFETY: no pointers.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW, 0) };
        assert!(fd >= 0, "{}", io::Error::last_os_error());
        // SAFETY: just opened, and it has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let memory = map(-1, (FRAMES * FRAME_BYTES) as usize, 0);
        // SAFETY: integers alone, for which 0 is a value.
        let mut area: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        area.addr = memory as u64;
        area.len = u64::from(FRAMES * FRAME_BYTES);
        area.chunk_size = FRAME_BYTES;
        set(&fd, libc::XDP_UMEM_REG, &area);
        for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING] {
            set(&fd, ring, &FRAMES);
        }
        // SAFETY: as above.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&offsets) as u32;
        // SAFETY: writes no more than `length` bytes to what is so long.
        let got = unsafe {
            let to = (&raw mut offsets).cast();
            libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, to, &mut length)
        };
        assert_eq!(got, 0, "{}", io::Error::last_os_error());
        let raw = fd.as_raw_fd();
        let fill = map(
            raw,
            (offsets.fr.desc + u64::from(FRAMES) * 8) as usize,
            libc::XDP_UMEM_PGOFF_FILL_RING as i64,
        );
        let received = map(raw, (offsets.rx.desc + u64::from(FRAMES) * 16) as usize, libc::XDP_PGOFF_RX_RING);
        for frame in 0..FRAMES {
            let at = offsets.fr.desc as usize + frame as usize * 8;
            // SAFETY: within the ring that was just mapped, and aligned.
            unsafe { fill.add(at).cast::<u64>().write(u64::from(frame * FRAME_BYTES)) };
        }
        // SAFETY: within the ring, aligned, and read by the kernel as an atomic.
        unsafe { &*fill.add(offsets.fr.producer as usize).cast::<AtomicU32>() }
            .store(FRAMES, Ordering::Release);
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: reads no more than the length of the address.
        let bound = unsafe { libc::bind(raw, (&raw const address).cast(), size_of_val(&address) as u32) };
        assert_eq!(bound, 0, "{}", io::Error::last_os_error());
        Self { fd, memory, received, offsets }
    }

    /// The next frame, if one has come.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        let rx = &self.offsets.rx;
        // SAFETY: within the mapped ring, aligned, written by the kernel as atomics.
        let index = |at: u64| unsafe { &*self.received.add(at as usize).cast::<AtomicU32>() };
        let next = index(rx.consumer).load(Ordering::Relaxed);
        if index(rx.producer).load(Ordering::Acquire) == next {
            return None;
        }
        let at = rx.desc as usize + (next % FRAMES) as usize * 16;
        // SAFETY: a descriptor of the ring that the kernel has filled in, and the memory it names.
        let frame = unsafe {
            let descriptor = self.received.add(at).cast::<libc::xdp_desc>().read();
            std::slice::from_raw_parts(self.memory.add(descriptor.addr as usize), descriptor.len as usize)
        };
        let frame = frame.to_vec();
        index(rx.consumer).store(next + 1, Ordering::Release);
        Some(frame)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn set<T>(fd: &OwnedFd, option: i32, value: &T) {
    // SAFETY: reads no more than the length of the value.
    let done = unsafe {
        let value_at = (&raw const *value).cast();
        libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, value_at, size_of::<T>() as u32)
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// Memory of a ring, or of our own; it stays until the test's process ends.
fn map(fd: i32, bytes: usize, offset: i64) -> *mut u8 {
    let kind = if fd < 0 { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS } else { libc::MAP_SHARED };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; the result is checked.
    let at = unsafe { libc::mmap(null_mut(), bytes, access, kind | libc::MAP_POPULATE, fd, offset) };
    assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    at.cast()
}
