//! What a program without the library does.

use std::{
    io::{IoSlice, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

use crate::{
    compare::{Run, run},
    place::{Place, pin},
};

pub const HEADER: usize = 4;
pub const REQUEST: usize = 8;

pub fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let here = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    let there = listener.accept().expect("accept").0;
    here.set_nodelay(true).expect("nodelay");
    there.set_nodelay(true).expect("nodelay");
    (here, there)
}

/// Two ends; the other is served by a thread, until it is over.
fn ends(place: Place, serve: impl FnOnce(TcpStream) + Send + 'static) -> TcpStream {
    let (here, there) = streams();
    thread::spawn(move || {
        pin(place.there);
        serve(there);
    });
    pin(place.here);
    here
}

/// Says that no more comes, and waits until the other end has read it all.
fn end(mut here: &TcpStream) {
    here.shutdown(Shutdown::Write).expect("shut down");
    here.read_to_end(&mut Vec::new()).expect("the other end");
}

pub fn one_way(place: Place, size: usize) -> Run {
    let here = ends(place, |mut there| {
        let mut buffer = vec![0; 128 << 10];
        while there.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let frame = vec![1; HEADER + size];
    run(|| (&here).write_all(&frame).expect("write"), || end(&here)).0
}

/// Buffers that bulk is received in, one after another, with the library and without: caches matter.
pub fn buffers(size: usize) -> usize {
    ((1 << 20) / size).clamp(4, 256)
}

pub fn bulk(place: Place, size: usize) -> Run {
    let here = ends(place, move |mut there| {
        let mut buffers = vec![vec![0; size + HEADER]; buffers(size)];
        while buffers.iter_mut().all(|buffer| there.read_exact(buffer).is_ok()) {}
    });
    let frame = vec![1; HEADER + size];
    run(|| (&here).write_all(&frame).expect("write"), || end(&here)).0
}

pub fn trips(place: Place, size: usize) -> impl FnMut() {
    let mut here = ends(place, move |mut there| {
        let mut frame = vec![0; HEADER + size];
        while there.read_exact(&mut frame).is_ok() && there.write_all(&frame).is_ok() {}
    });
    let mut frame = vec![1; HEADER + size];
    move || {
        here.write_all(&frame).expect("write");
        here.read_exact(&mut frame).expect("read");
    }
}

/// A request, and an answer with bulk: its header is read first, then the bulk to its place.
pub fn requests(place: Place, size: usize) -> impl FnMut() {
    let mut here = ends(place, move |mut there| {
        let (header, body) = ([2; HEADER], vec![3; size]);
        let mut request = [0; REQUEST];
        while there.read_exact(&mut request).is_ok() && write_both(&mut there, &header, &body).is_ok() {}
    });
    let mut body = vec![0; size];
    move || {
        here.write_all(&[1; REQUEST]).expect("write");
        here.read_exact(&mut [0; HEADER]).expect("read");
        here.read_exact(&mut body).expect("read");
    }
}

fn write_both(there: &mut TcpStream, header: &[u8], body: &[u8]) -> std::io::Result<()> {
    let written = there.write_vectored(&[IoSlice::new(header), IoSlice::new(body)])?;
    there.write_all(header.get(written..).unwrap_or_default())?;
    there.write_all(&body[written.saturating_sub(header.len())..])
}
