//! Asks `server` to turn a line round, then for a megabyte.
//!
//!     cargo run -p netfathom-message --example client -- 127.0.0.1:7007 "a line"

use std::{error::Error, time::Duration};

use netfathom_message::{Blocking, Config, Connection};

/// As in `server`.
const TALK: u16 = 0;
const BULK: u16 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7007".into());
    let line = arguments.next().unwrap_or_else(|| "a line".into());
    let connection = Connection::connect_tcp(address, &Config::default())?;
    let server = Blocking::from(connection).with_limit(Some(Duration::from_secs(10)));

    server.send(TALK, line.as_bytes())?;
    println!("{}", String::from_utf8_lossy(&server.receive(TALK)?));

    // The buffer is offered first: the answer to the question goes straight into it.
    server.connection().offer(BULK, vec![0; 1 << 20])?;
    server.send(TALK, b"send 1000000")?;
    let received = server.receive_post(BULK)?;
    println!("{} bytes came, {}", received.length, String::from_utf8_lossy(&server.receive(TALK)?));
    server.connection().close(Duration::from_secs(5))?;
    Ok(())
}
