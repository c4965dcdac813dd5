//! libzmq, by PAIR sockets.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::net::{IpAddr, SocketAddr};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use libloading::os::unix::{Library as File, RTLD_LOCAL, RTLD_NOW};

use super::{Library, Made, PATIENCE, Pair, PeerError, absent, queue_messages};

/// Its name for the loader: the fifth version of its interface.
const FILE: &str = "libzmq.so.5";
const PACKAGE: &str = "libzmq5";

// zmq.h
const PAIR: c_int = 0;
const LINGER: c_int = 17;
const SNDHWM: c_int = 23;
const RCVHWM: c_int = 24;
const RCVTIMEO: c_int = 27;
const SNDTIMEO: c_int = 28;
const LAST_ENDPOINT: c_int = 32;
/// Bytes of a message's handle.
const MESSAGE_BYTES: usize = 64;

#[repr(C, align(8))]
struct Message([u8; MESSAGE_BYTES]);

type Free = unsafe extern "C" fn(*mut c_void, *mut c_void);

calls! {
    zmq_ctx_new: fn() -> *mut c_void;
    zmq_ctx_term: fn(*mut c_void) -> c_int;
    zmq_socket: fn(*mut c_void, c_int) -> *mut c_void;
    zmq_close: fn(*mut c_void) -> c_int;
    zmq_setsockopt: fn(*mut c_void, c_int, *const c_void, usize) -> c_int;
    zmq_getsockopt: fn(*mut c_void, c_int, *mut c_void, *mut usize) -> c_int;
    zmq_bind: fn(*mut c_void, *const c_char) -> c_int;
    zmq_connect: fn(*mut c_void, *const c_char) -> c_int;
    zmq_send: fn(*mut c_void, *const c_void, usize, c_int) -> c_int;
    zmq_msg_init: fn(*mut Message) -> c_int;
    zmq_msg_init_data: fn(*mut Message, *mut c_void, usize, Option<Free>, *mut c_void) -> c_int;
    zmq_msg_send: fn(*mut Message, *mut c_void, c_int) -> c_int;
    zmq_msg_recv: fn(*mut Message, *mut c_void, c_int) -> c_int;
    zmq_msg_data: fn(*mut Message) -> *mut c_void;
    zmq_msg_close: fn(*mut Message) -> c_int;
    zmq_errno: fn() -> c_int;
    zmq_strerror: fn(c_int) -> *const c_char;
}

/// libzmq.
pub struct Zmq(Arc<Calls>);

impl Zmq {
    pub fn load() -> Result<Self, PeerError> {
        Self::load_from(FILE)
    }

    pub(super) fn load_from(file: &str) -> Result<Self, PeerError> {
        // SAFETY: what a library does when it is loaded is up to it; this one does nothing but
        // make its constants.
        let loaded = unsafe { File::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let calls = loaded.and_then(Calls::of).map_err(absent(file, PACKAGE))?;
        Ok(Self(Arc::new(calls)))
    }
}

impl Library for Zmq {
    fn end(&self, message_bytes: usize) -> Result<Box<dyn Pair>, PeerError> {
        let (opened, made) = Made::by("ZMQbg/", || Socket::open(&self.0));
        let socket = opened?;
        let patience_ms = PATIENCE.as_millis() as c_int;
        let queue = queue_messages(message_bytes);
        // Its end is closed once the other one has it all: nothing is to linger.
        let options =
            [(LINGER, 0), (SNDHWM, queue), (RCVHWM, queue), (SNDTIMEO, patience_ms), (RCVTIMEO, patience_ms)];
        for (option, value) in options {
            socket.set(option, value)?;
        }
        // TCP_NODELAY is what it sets by itself.
        Ok(Box::new(End { message: socket.message()?, socket, made }))
    }
}

/// A context of its own with one socket in it. They are used through `&mut End` alone, so by one
/// thread at a time, as the library wants it.
struct Socket {
    calls: Arc<Calls>,
    context: NonNull<c_void>,
    socket: NonNull<c_void>,
}

// SAFETY: a socket may go from thread to thread with a full fence in between, which whatever moves
// this value is; a context may be used by any thread.
unsafe impl Send for Socket {}

impl Socket {
    fn open(calls: &Arc<Calls>) -> Result<Self, PeerError> {
        let calls = Arc::clone(calls);
        // SAFETY: no arguments.
        let context = NonNull::new(unsafe { (calls.zmq_ctx_new)() });
        let context = context.ok_or_else(|| refused(&calls, "make a context"))?;
        // SAFETY: the context was just made.
        match NonNull::new(unsafe { (calls.zmq_socket)(context.as_ptr(), PAIR) }) {
            Some(socket) => Ok(Self { calls, context, socket }),
            None => {
                let error = refused(&calls, "make a socket");
                // SAFETY: the context has no sockets, and nobody else has it.
                unsafe { (calls.zmq_ctx_term)(context.as_ptr()) };
                Err(error)
            }
        }
    }

    fn set(&self, option: c_int, value: c_int) -> Result<(), PeerError> {
        let at = ptr::from_ref(&value).cast();
        // SAFETY: the socket is open, the pointer valid for reads of the size given with it.
        let result =
            unsafe { (self.calls.zmq_setsockopt)(self.socket.as_ptr(), option, at, size_of_val(&value)) };
        self.done(result, "set an option of its socket").map(drop)
    }

    fn message(&self) -> Result<Box<Message>, PeerError> {
        let mut message = Box::new(Message([0; MESSAGE_BYTES]));
        // SAFETY: the pointer is valid for a message.
        let result = unsafe { (self.calls.zmq_msg_init)(&raw mut *message) };
        self.done(result, "make a message").map(|_| message)
    }

    /// The result of a call that waits at most so long; `None` where it would have had to wait
    /// longer, or a signal came.
    fn in_time(&self, result: c_int, action: &'static str) -> Result<Option<usize>, PeerError> {
        // SAFETY: no arguments.
        if result < 0 && matches!(unsafe { (self.calls.zmq_errno)() }, libc::EAGAIN | libc::EINTR) {
            return Ok(None);
        }
        self.done(result, action).map(Some)
    }

    fn done(&self, result: c_int, action: &'static str) -> Result<usize, PeerError> {
        usize::try_from(result).map_err(|_| refused(&self.calls, action))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: both were made by `open`, and nobody has them any more.
        unsafe {
            (self.calls.zmq_close)(self.socket.as_ptr());
            // A signal interrupts it.
            while (self.calls.zmq_ctx_term)(self.context.as_ptr()) != 0
                && (self.calls.zmq_errno)() == libc::EINTR
            {}
        }
    }
}

/// What the library says about the call that has just failed in this thread.
fn refused(calls: &Calls, action: &'static str) -> PeerError {
    // SAFETY: the text is a constant of the library, which ends with a zero.
    let text = unsafe { CStr::from_ptr((calls.zmq_strerror)((calls.zmq_errno)())) };
    PeerError::Refused { library: "libzmq", action, text: text.to_string_lossy().into_owned() }
}

struct End {
    socket: Socket,
    /// The one that came last. It stays where it is: short ones lie in the handle itself.
    message: Box<Message>,
    made: Made,
}

impl End {
    fn go(
        &self,
        call: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
        to: &str,
        action: &'static str,
    ) -> Result<(), PeerError> {
        let at = CString::new(to).map_err(|_| refused(&self.socket.calls, action))?;
        // SAFETY: the socket is open, the address ends with a zero.
        let result = unsafe { call(self.socket.socket.as_ptr(), at.as_ptr()) };
        self.socket.done(result, action).map(drop)
    }
}

impl Pair for End {
    fn listen(&mut self, at: IpAddr) -> Result<SocketAddr, PeerError> {
        self.go(self.socket.calls.zmq_bind, &format!("tcp://{}", SocketAddr::new(at, 0)), "listen")?;
        let (mut text, mut length) = ([0_u8; 256], 256);
        // SAFETY: the socket is open, the pointers valid for writes, the buffer of that length.
        let result = unsafe {
            (self.socket.calls.zmq_getsockopt)(
                self.socket.socket.as_ptr(),
                LAST_ENDPOINT,
                text.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        self.socket.done(result, "tell its address")?;
        let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
        let at = text.strip_prefix("tcp://").and_then(|at| at.parse().ok());
        at.ok_or_else(|| PeerError::Refused {
            library: "libzmq",
            action: "tell its address",
            text: format!("it is {text}"),
        })
    }

    fn connect(&mut self, to: SocketAddr) -> Result<(), PeerError> {
        self.go(self.socket.calls.zmq_connect, &format!("tcp://{to}"), "connect")
    }

    fn send(&mut self, message: &[u8]) -> Result<bool, PeerError> {
        let (at, length) = (message.as_ptr().cast(), message.len());
        // SAFETY: the socket is open; the library copies that many bytes.
        let result = unsafe { (self.socket.calls.zmq_send)(self.socket.socket.as_ptr(), at, length, 0) };
        Ok(self.socket.in_time(result, "send")?.is_some())
    }

    fn send_bulk(&mut self, bulk: &Arc<Vec<u8>>) -> Result<bool, PeerError> {
        let calls = &self.socket.calls;
        let mut message = Message([0; MESSAGE_BYTES]);
        let hint = Arc::into_raw(Arc::clone(bulk)).cast_mut().cast();
        // SAFETY: the bytes live, unchanged, until `release` has the hint back: the library reads
        // them and no more.
        let result = unsafe {
            let at = bulk.as_ptr().cast_mut().cast();
            (calls.zmq_msg_init_data)(&raw mut message, at, bulk.len(), Some(release), hint)
        };
        if result != 0 {
            let error = refused(calls, "make a message");
            // SAFETY: the library has not taken the hint.
            unsafe { release(ptr::null_mut(), hint) };
            return Err(error);
        }
        // SAFETY: socket and message are whole; from success on the message is the library's.
        let result = unsafe { (calls.zmq_msg_send)(&raw mut message, self.socket.socket.as_ptr(), 0) };
        let sent = self.socket.in_time(result, "send");
        if !matches!(sent, Ok(Some(_))) {
            // SAFETY: it was not sent, so it is still ours.
            unsafe { (calls.zmq_msg_close)(&raw mut message) };
        }
        Ok(sent?.is_some())
    }

    fn receive(&mut self, show: &mut dyn FnMut(&[u8])) -> Result<Option<usize>, PeerError> {
        let (calls, message) = (&self.socket.calls, &raw mut *self.message);
        // SAFETY: socket and message are whole; what the message held is released.
        let result = unsafe { (calls.zmq_msg_recv)(message, self.socket.socket.as_ptr(), 0) };
        let came = self.socket.in_time(result, "receive")?;
        if let Some(length) = came {
            // SAFETY: the message has that many bytes there until it is used again, which the
            // borrow of this value keeps off; of an empty one the pointer may be anything.
            show(match length {
                0 => &[],
                _ => unsafe { std::slice::from_raw_parts((calls.zmq_msg_data)(message).cast(), length) },
            });
        }
        Ok(came)
    }

    fn threads(&self) -> Vec<u32> {
        self.made.threads()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: it was made by `zmq_msg_init`, and is not used again.
        unsafe { (self.socket.calls.zmq_msg_close)(&raw mut *self.message) };
    }
}

/// Gives back what `send_bulk` has lent; a thread of the library calls it.
unsafe extern "C" fn release(_data: *mut c_void, hint: *mut c_void) {
    // SAFETY: the hint is that of `send_bulk`, and the library calls this once.
    drop(unsafe { Arc::from_raw(hint.cast::<Vec<u8>>()) });
}
