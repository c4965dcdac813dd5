//! Answers what `client` asks: a line is turned round, and `send N` posts N bytes.
//!
//!     cargo run -p netfathom-message --example server -- 127.0.0.1:7007

use std::{error::Error, net::TcpListener, thread, time::Duration};

use netfathom_message::{Blocking, Config, Connection};

/// Questions and answers, and the channel of bulk.
const TALK: u16 = 0;
const BULK: u16 = 1;

fn serve(connection: Connection) -> Result<(), netfathom_message::Error> {
    let peer = Blocking::from(connection);
    loop {
        let line = match peer.receive(TALK) {
            Ok(line) => String::from_utf8_lossy(&line).into_owned(),
            Err(netfathom_message::Error::PeerClosed) => break,
            Err(error) => return Err(error),
        };
        if let Some(bytes) = line.strip_prefix("send ").and_then(|count| count.parse::<usize>().ok()) {
            let end = peer.post(BULK, vec![b'.'; bytes])?;
            peer.send(TALK, format!("{end:?}").as_bytes())?;
        } else {
            peer.send(TALK, line.chars().rev().collect::<String>().as_bytes())?;
        }
    }
    peer.connection().close(Duration::from_secs(5))
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7007".into());
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        // Each peer's thread waits for its hello: a slow peer does not delay the others.
        thread::spawn(move || {
            let served = Connection::tcp(stream, &Config::default()).and_then(serve);
            if let Err(error) = served {
                eprintln!("a client: {error}");
            }
        });
    }
    Ok(())
}
