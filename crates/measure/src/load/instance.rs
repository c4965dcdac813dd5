//! A sender that is a process of its own: this program once more. Its standard input is the socket that it sends from, its
//! standard output the conversation: it says that it is ready, gets its order, and gives its account.

use std::env;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_model::profile::Profile;
use netfathom_sys::child::{end_with_this_thread, interrupt};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use serde::{Deserialize, Serialize};

use super::engine;
use super::error::FlightError;
use super::sender::{SenderPlan, SenderTask, send_all};
use super::sent::Sent;
use crate::ground::observer::Live;

/// How often it is looked whether it is to end early.
const LOOK: Duration = Duration::from_millis(200);
/// One that does not answer for so long is stopped, or hangs.
const PATIENCE: Duration = Duration::from_secs(10);
const READY: &[u8] = b"ready\n";

#[derive(Serialize, Deserialize)]
struct Order {
    profile: Profile,
    seed: u64,
    plan: SenderPlan,
    cpu: usize,
}

pub struct Instance {
    child: Child,
    talk: UnixStream,
}

impl Instance {
    /// One for each socket, all ready to send. The calling thread must outlive them.
    pub fn start_all(sockets: &[UdpSocket], size_bytes: usize) -> Result<Vec<Self>, FlightError> {
        let start = |socket| Self::start(socket, size_bytes);
        let all = sockets.iter().map(start).collect::<io::Result<Vec<_>>>();
        let mut all = all.map_err(FlightError::NoInstance)?;
        let ready = |one: &mut Self| one.talk.read_exact(&mut [0; READY.len()]);
        all.iter_mut().try_for_each(ready).map_err(FlightError::Instance)?;
        Ok(all)
    }

    fn start(socket: &UdpSocket, size_bytes: usize) -> io::Result<Self> {
        let (talk, theirs) = UnixStream::pair()?;
        talk.set_read_timeout(Some(PATIENCE))?;
        let mut command = Command::new(env::current_exe()?);
        command.args(["load", "instance", "--size", &size_bytes.to_string()]);
        command.stdin(OwnedFd::from(socket.try_clone()?)).stdout(OwnedFd::from(theirs));
        // Ctrl-C is for this process, which then asks it to end.
        command.process_group(0);
        end_with_this_thread(&mut command);
        let child = command.spawn()?;
        Ok(Self { child, talk })
    }

    /// Has it send its lane of the profile, and waits for its account.
    pub fn send(
        &mut self,
        task: &SenderTask<'_>,
        profile: &Profile,
        seed: u64,
        cpu: usize,
    ) -> io::Result<Sent> {
        let order = Order { profile: profile.clone(), seed, plan: task.plan, cpu };
        self.talk.write_all(format!("{}\n", serde_json::to_string(&order)?).as_bytes())?;
        self.talk.set_read_timeout(Some(LOOK))?;
        let (mut account, mut asked_ns) = (Vec::new(), None);
        while let Err(error) = self.talk.read_to_end(&mut account) {
            if error.kind() != ErrorKind::WouldBlock {
                return Err(error);
            }
            let now = monotonic_ns();
            if asked_ns.is_none() && (task.is_over() || now > task.plan.deadline_ns) {
                asked_ns = Some(now);
                // One that has just ended has given its account.
                let _ = interrupt(&mut self.child);
            }
            if asked_ns.is_some_and(|asked_ns| now - asked_ns > PATIENCE.as_nanos() as u64) {
                let _ = self.child.kill();
            }
        }
        if account.is_empty() {
            return Err(io::Error::other(self.child.wait()?.to_string()));
        }
        Ok(serde_json::from_slice(&account)?)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // It has given its account, or none is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What such a process does.
pub fn serve(size_bytes: usize, stop: &AtomicBool) -> Result<(), FlightError> {
    let own = || Ok((io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?));
    let (socket, talk) = own().map_err(FlightError::Instance)?;
    obey(socket.into(), &talk.into(), size_bytes, stop)
}

fn obey(
    socket: UdpSocket,
    mut talk: &UnixStream,
    size_bytes: usize,
    stop: &AtomicBool,
) -> Result<(), FlightError> {
    let ordered = || -> io::Result<Order> {
        (&*talk).write_all(READY)?;
        let mut line = String::new();
        BufReader::new(talk).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let Order { profile, seed, plan, cpu } = ordered().map_err(FlightError::Instance)?;
    cpu::pin(cpu)?;
    let task = SenderTask { plan, stop, gone: &AtomicBool::new(false), live: &Live::default() };
    let departures = profile.schedule(seed).lane(plan.lane.into(), plan.lanes.into());
    let sent = send_all(&task, departures, &mut engine::Send::new(socket, size_bytes), &mut ());
    let account = serde_json::to_vec(&sent).map_err(io::Error::from);
    account.and_then(|account| talk.write_all(&account)).map_err(FlightError::Instance)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use netfathom_model::message::Header;
    use netfathom_model::plan::Spin;

    use super::*;
    use crate::load::window::Windows;

    #[test]
    fn an_account_is_of_what_was_sent_as_ordered() {
        let [from, to] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let obeying = thread::spawn(move || obey(from, &theirs, 64, &AtomicBool::new(false)));
        ours.read_exact(&mut [0; READY.len()]).unwrap();
        let start_ns = monotonic_ns();
        let windows = Windows { start_ns, shift: 20 };
        let order = Order {
            profile: "constant:1k/40ms".parse().unwrap(),
            seed: 1,
            plan: SenderPlan { lane: 1, lanes: 2, ..SenderPlan::single(5, windows, u64::MAX, Spin::Never) },
            cpu: cpu::allowed().unwrap()[0],
        };
        writeln!(ours, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        let mut account = String::new();
        ours.read_to_string(&mut account).unwrap();
        obeying.join().unwrap().unwrap();
        let sent: Sent = serde_json::from_str(&account).unwrap();
        assert_eq!((sent.accepted, sent.unsent, sent.lag.distribution.moments.n), (20, 0, 20));
        to.set_nonblocking(true).unwrap();
        let mut message = [0; 64];
        let sequences = std::iter::from_fn(|| {
            to.recv(&mut message).ok()?;
            Header::read(&message).map(|header| (header.flow, header.sequence))
        });
        assert!(sequences.eq((0..20).map(|n| (5, 2 * n + 1))));
        // Nothing of it changes on its way, sums of 128 bits neither.
        assert!(account.contains(&serde_json::to_string(&sent.lag).unwrap()));
    }
}
