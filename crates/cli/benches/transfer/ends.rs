//! What this program is as a part of a contender.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use netfathom_sys::splice::{enlarge_pipe, splice};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::Failure;

/// Bytes of a write into a pipe, and the most that is taken out of one.
const BLOCK: usize = 128 << 10;

/// Whether this process is to be such a part.
pub fn is_wanted() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "end")
}

pub fn run() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["produce"] => produce(),
        ["consume"] => consume(),
        ["epoll-send", host, port, bytes] => {
            send(TcpStream::connect(format!("{host}:{port}"))?, bytes.parse()?)
        }
        ["epoll-receive", port, bytes] => {
            let listener = TcpListener::bind(format!("0.0.0.0:{port}"))?;
            receive(listener.accept()?.0, bytes.parse()?)
        }
        _ => Err(format!("no such end: {words:?}").into()),
    }
}

/// Writes for as long as somebody reads.
fn produce() -> Result<(), Failure> {
    let block = [b'x'; BLOCK];
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    while output.write_all(&block).is_ok() {}
    Ok(())
}

/// Throws away what comes, unseen.
fn consume() -> Result<(), Failure> {
    let (input, nowhere) = (std::io::stdin(), OpenOptions::new().write(true).open("/dev/null")?);
    let _ = enlarge_pipe(input.as_fd(), BLOCK);
    while splice(input.as_fd(), nowhere.as_fd(), BLOCK)? > 0 {}
    Ok(())
}

/// Calls once whenever the socket is ready for it, until that fails or ends.
fn whenever(
    stream: TcpStream,
    ready: EventFlags,
    mut call: impl FnMut(&TcpStream) -> std::io::Result<usize>,
) -> Result<(), Failure> {
    stream.set_nonblocking(true)?;
    let waiting = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&waiting, &stream, EventData::new_u64(0), ready)?;
    let mut events = Vec::with_capacity(8);
    loop {
        events.clear();
        epoll::wait(&waiting, spare_capacity(&mut events), None)?;
        match call(&stream) {
            Ok(0) => return Ok(()),
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Ok(()),
            _ => {}
        }
    }
}

fn send(stream: TcpStream, bytes: usize) -> Result<(), Failure> {
    let block = vec![b'x'; bytes];
    whenever(stream, EventFlags::OUT, |mut stream| stream.write(&block))
}

fn receive(stream: TcpStream, bytes: usize) -> Result<(), Failure> {
    let mut block = vec![0; bytes];
    whenever(stream, EventFlags::IN, |mut stream| stream.read(&mut block))
}
