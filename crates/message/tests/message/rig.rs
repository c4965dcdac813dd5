//! Two ends of a connection in one process, and a peer that is only a socket.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    thread,
    time::Duration,
};

use netfathom_message::{
    Blocking, Config, Connection, Limits,
    strategy::Choice,
    wire::{HELLO, Hello},
};

/// No test takes as long as this unless it fails: a wait that would never end becomes an error.
pub const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Tcp,
    Unix,
}

pub fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (here, listener.accept().unwrap().0)
}

pub fn pair(kind: Kind, config: &Config) -> (Connection, Connection) {
    unequal(kind, config, config)
}

/// Two ends with different ideas of what they take.
pub fn unequal(kind: Kind, here: &Config, there: &Config) -> (Connection, Connection) {
    let (one, other) = (here.clone(), there.clone());
    match kind {
        Kind::Tcp => {
            let (near, far) = streams();
            let far = thread::spawn(move || Connection::tcp(far, &other).unwrap());
            (Connection::tcp(near, &one).unwrap(), far.join().unwrap())
        }
        Kind::Unix => {
            let (near, far) = UnixStream::pair().unwrap();
            let far = thread::spawn(move || Connection::unix(far, &other).unwrap());
            (Connection::unix(near, &one).unwrap(), far.join().unwrap())
        }
    }
}

pub fn config(strategy: Choice) -> Config {
    Config { strategy, ..Config::default() }
}

pub fn small(window: u32, send_queue: usize) -> Config {
    let limits = Limits { window, send_queue, max_message: 1024, ..Limits::default() };
    Config { limits, ..Config::default() }
}

pub fn blocking(connection: Connection) -> Blocking {
    Blocking::from(connection).with_limit(Some(LIMIT))
}

/// A connection, and a bare socket at its other end that has sent this hello.
pub fn against_bare(config: &Config, hello: Hello) -> (Connection, TcpStream) {
    let (near, mut far) = streams();
    far.write_all(&hello.encode()).unwrap();
    let connection = Connection::tcp(near, config).unwrap();
    far.read_exact(&mut [0; HELLO]).unwrap();
    far.set_read_timeout(Some(LIMIT)).unwrap();
    (connection, far)
}
