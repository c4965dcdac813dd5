//! `netfathom view`: the runs of a directory as a page in a browser on this machine.
//!
//! The server binds to the loopback device, answers nothing but reading, and reads nothing but runs of that directory.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use netfathom_results::store;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ViewArgs;
use crate::{browser, http, output};

mod site;

use site::Site;

/// What drawing may take after the end was asked for.
const FAREWELL: Duration = Duration::from_millis(200);

pub fn run(args: &ViewArgs) -> Result<ExitCode> {
    // An empty directory is an error here, not a page in the browser.
    store::catalogue(&args.out)?;
    let listener = http::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)), "--port")?;
    let address = format!("http://{}/", listener.local_addr()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(site::MOST_AT_WORK + 1)
        .build()
        .context("cannot start the server")?;
    let site = Arc::new(Site::new(args.out.clone()));
    let ended = runtime.block_on(async {
        // Before the address is printed: a user who sees it may press Ctrl-C.
        let listen = |kind| signal(kind).context("cannot listen for signals");
        let mut ends = [listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?];
        tell(args, &address)?;
        let end = async {
            let [first, second] = &mut ends;
            tokio::select! { _ = first.recv() => {}, _ = second.recv() => {} }
        };
        http::until(end, listener, site).await.context("the server has ended")
    });
    runtime.shutdown_timeout(FAREWELL);
    ended.map(|()| ExitCode::SUCCESS)
}

fn tell(args: &ViewArgs, address: &str) -> Result<()> {
    let runs = output::harmless(&args.out.display().to_string());
    output::print(&format!("{address} shows the runs in {runs}; Ctrl-C ends it"))?;
    if args.open {
        let address = address.to_owned();
        // A browser may ask for the page before it says that it could be started.
        let show = move || {
            if let Err(why) = browser::show(address.as_ref()) {
                output::complain(&anyhow!("cannot open a browser: {why}; open {address} yourself"));
            }
        };
        thread::Builder::new().spawn(show).context("cannot start a thread for the browser")?;
    }
    Ok(())
}
