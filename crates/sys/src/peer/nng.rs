//! nng, by pair sockets (version 0 of the protocol).
//!
//! Its threads are those of the whole library and begin with the first socket. So that each end has
//! its own, where the end stands, each has a copy of the library.

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::ptr;

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use super::{Library, Made, PATIENCE, Pair, PeerError, absent, queue_messages};
use crate::splice::memory_file;

/// Its name for the loader: the first version of its interface.
const FILE: &str = "libnng.so.1";
const PACKAGE: &str = "libnng1";

// nng.h
const TIMED_OUT: c_int = 5;
/// What it takes at most for the length of a queue.
const MOST_QUEUED: c_int = 8192;

#[repr(C)]
#[derive(Clone, Copy)]
struct Id(u32);

/// Known to the library alone.
#[repr(C)]
struct Message {
    _private: [u8; 0],
}

calls! {
    nng_pair0_open: fn(*mut Id) -> c_int;
    nng_close: fn(Id) -> c_int;
    nng_fini: fn();
    nng_socket_set_int: fn(Id, *const c_char, c_int) -> c_int;
    nng_socket_set_size: fn(Id, *const c_char, usize) -> c_int;
    nng_socket_set_ms: fn(Id, *const c_char, i32) -> c_int;
    nng_listen: fn(Id, *const c_char, *mut Id, c_int) -> c_int;
    nng_listener_get_int: fn(Id, *const c_char, *mut c_int) -> c_int;
    nng_dial: fn(Id, *const c_char, *mut Id, c_int) -> c_int;
    nng_send: fn(Id, *mut c_void, usize, c_int) -> c_int;
    nng_recvmsg: fn(Id, *mut *mut Message, c_int) -> c_int;
    nng_msg_body: fn(*mut Message) -> *mut c_void;
    nng_msg_len: fn(*const Message) -> usize;
    nng_msg_free: fn(*mut Message);
    nng_strerror: fn(c_int) -> *const c_char;
}

pub struct Nng {
    file: OsString,
    /// What its file holds.
    content: Vec<u8>,
}

impl Nng {
    pub fn load() -> Result<Self, PeerError> {
        Self::load_from(FILE)
    }

    pub(super) fn load_from(file: &str) -> Result<Self, PeerError> {
        // SAFETY: what a library does when it is loaded is up to it; this one does nothing.
        let loaded = unsafe { Loaded::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let calls = loaded.and_then(Calls::of).map_err(absent(file, PACKAGE))?;
        let file = path(&calls);
        let content = fs::read(&file).map_err(|source| no_copy(&file, source))?;
        Ok(Self { file, content })
    }

    /// A library of its own: the loader takes two files for two libraries, whatever they hold.
    fn copy(&self) -> Result<(Calls, File), PeerError> {
        let file = memory_file(&self.content).map_err(|source| no_copy(&self.file, source))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: as above.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let calls = loaded.and_then(Calls::of).map_err(absent("the copy of nng in memory", PACKAGE))?;
        Ok((calls, file))
    }
}

/// The file that the loader has found.
fn path(calls: &Calls) -> OsString {
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: the pointer is valid for writes; the address is compared, not read.
    let result = unsafe { libc::dladdr(calls.nng_fini as *const c_void, &raw mut found) };
    if result == 0 || found.dli_fname.is_null() {
        return FILE.into();
    }
    // SAFETY: the loader's text lives as long as the library, and ends with a zero.
    OsString::from_vec(unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes().to_vec())
}

fn no_copy(file: &OsString, source: std::io::Error) -> PeerError {
    PeerError::Copy { library: file.to_string_lossy().into_owned(), source }
}

impl Library for Nng {
    fn end(&self, message_bytes: usize) -> Result<Box<dyn Pair>, PeerError> {
        let (calls, file) = self.copy()?;
        let (opened, made) = Made::by("nng:", || Socket::open(calls, file));
        let socket = opened?;
        let queue = queue_messages(message_bytes).min(MOST_QUEUED);
        for name in [c"send-buffer", c"recv-buffer"] {
            // SAFETY: the socket is open, the name ends with a zero.
            let result = unsafe { (socket.calls.nng_socket_set_int)(socket.id, name.as_ptr(), queue) };
            socket.done(result, "set the length of a queue")?;
        }
        for name in [c"send-timeout", c"recv-timeout"] {
            let patience_ms = PATIENCE.as_millis() as i32;
            // SAFETY: the socket is open, the name ends with a zero.
            let result = unsafe { (socket.calls.nng_socket_set_ms)(socket.id, name.as_ptr(), patience_ms) };
            socket.done(result, "limit how long it waits")?;
        }
        // None: what it takes by itself is a mebibyte at most.
        let no_limit = 0;
        // SAFETY: the socket is open, the name ends with a zero.
        let result =
            unsafe { (socket.calls.nng_socket_set_size)(socket.id, c"recv-size-max".as_ptr(), no_limit) };
        socket.done(result, "take messages of any length")?;
        // TCP_NODELAY is what it sets by itself.
        Ok(Box::new(End { socket, made }))
    }
}

/// The only socket of a library. Any thread may use it, as the library says.
struct Socket {
    id: Id,
    calls: Calls,
    /// Open as long as the library: the loader knows it by the descriptor's number.
    _file: File,
}

impl Socket {
    fn open(calls: Calls, file: File) -> Result<Self, PeerError> {
        let mut id = Id(0);
        // SAFETY: the pointer is valid for writes.
        let result = unsafe { (calls.nng_pair0_open)(&raw mut id) };
        if result != 0 {
            let error = refused(&calls, result, "make a socket");
            // SAFETY: the library has no socket, and is not used again.
            unsafe { (calls.nng_fini)() };
            return Err(error);
        }
        Ok(Self { id, calls, _file: file })
    }

    fn done(&self, result: c_int, action: &'static str) -> Result<(), PeerError> {
        if result == 0 { Ok(()) } else { Err(refused(&self.calls, result, action)) }
    }

    /// The result of a call that waits at most so long; `false` where it was over.
    fn in_time(&self, result: c_int, action: &'static str) -> Result<bool, PeerError> {
        if result == TIMED_OUT { Ok(false) } else { self.done(result, action).map(|()| true) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the socket was made by `open`. It is the only one of this library, whose threads
        // have ended when the second call returns: then it may be unloaded.
        unsafe {
            (self.calls.nng_close)(self.id);
            (self.calls.nng_fini)();
        }
    }
}

fn refused(calls: &Calls, error: c_int, action: &'static str) -> PeerError {
    // SAFETY: the text is a constant of the library, which ends with a zero.
    let text = unsafe { CStr::from_ptr((calls.nng_strerror)(error)) };
    PeerError::Refused { library: "nng", action, text: text.to_string_lossy().into_owned() }
}

struct End {
    socket: Socket,
    made: Made,
}

fn address(at: SocketAddr) -> CString {
    CString::new(format!("tcp://{at}")).unwrap_or_default()
}

impl Pair for End {
    fn listen(&mut self, at: IpAddr) -> Result<SocketAddr, PeerError> {
        let (mut listener, mut port) = (Id(0), 0);
        let address = address(SocketAddr::new(at, 0));
        let Socket { calls, id, .. } = &self.socket;
        // SAFETY: the socket is open, the address ends with a zero, the pointer is valid for writes.
        let result = unsafe { (calls.nng_listen)(*id, address.as_ptr(), &raw mut listener, 0) };
        self.socket.done(result, "listen")?;
        let name = c"tcp-bound-port";
        // SAFETY: the listener was just made, the name ends with a zero, the pointer is valid for
        // writes.
        let result = unsafe { (calls.nng_listener_get_int)(listener, name.as_ptr(), &raw mut port) };
        self.socket.done(result, "tell its port")?;
        let none =
            |_| PeerError::Refused { library: "nng", action: "tell its port", text: format!("it is {port}") };
        Ok(SocketAddr::new(at, port.try_into().map_err(none)?))
    }

    fn connect(&mut self, to: SocketAddr) -> Result<(), PeerError> {
        let address = address(to);
        // SAFETY: the socket is open, the address ends with a zero, of the dialer nothing is wanted.
        let result =
            unsafe { (self.socket.calls.nng_dial)(self.socket.id, address.as_ptr(), ptr::null_mut(), 0) };
        self.socket.done(result, "connect")
    }

    fn send(&mut self, message: &[u8]) -> Result<bool, PeerError> {
        let at = message.as_ptr().cast_mut().cast();
        // SAFETY: the socket is open; without flags the library copies that many bytes, and
        // writes none.
        let result = unsafe { (self.socket.calls.nng_send)(self.socket.id, at, message.len(), 0) };
        self.socket.in_time(result, "send")
    }

    fn receive(&mut self, show: &mut dyn FnMut(&[u8])) -> Result<Option<usize>, PeerError> {
        let Socket { calls, id, .. } = &self.socket;
        let mut message = ptr::null_mut();
        // SAFETY: the socket is open, the pointer valid for writes.
        let result = unsafe { (calls.nng_recvmsg)(*id, &raw mut message, 0) };
        if !self.socket.in_time(result, "receive")? {
            return Ok(None);
        }
        // SAFETY: the message is ours until it is freed, and nobody has it afterwards; it has that
        // many bytes there. Of an empty one the pointer may be anything.
        unsafe {
            let length = (calls.nng_msg_len)(message);
            show(match length {
                0 => &[],
                _ => std::slice::from_raw_parts((calls.nng_msg_body)(message).cast(), length),
            });
            (calls.nng_msg_free)(message);
            Ok(Some(length))
        }
    }

    fn threads(&self) -> Vec<u32> {
        self.made.threads()
    }
}
