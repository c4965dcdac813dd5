//! Who takes part, and by which commands. `HOST` and `PORT` in a command stand for those of a turn.

use std::path::Path;

const NETFATHOM: &str = env!("CARGO_BIN_EXE_netfathom");

/// A pipeline: each program reads what the one before it writes.
pub type Pipeline = Vec<Vec<String>>;

/// A pair of programs, or of pipelines.
pub struct Contender {
    pub name: String,
    /// How many times faster ours is to be; `None` of our own.
    pub target: Option<f64>,
    pub receiver: Pipeline,
    pub sender: Pipeline,
    /// Whoever it needs.
    program: String,
}

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(Into::into).collect()
}

fn ttcp(options: &str) -> Vec<String> {
    let mut command = vec![NETFATHOM.into(), "ttcp".into(), "--quiet".into()];
    command.extend(words(options));
    command
}

fn this(end: &str) -> Vec<String> {
    let program = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    let mut command = vec![program];
    command.extend(words(end));
    command
}

impl Contender {
    /// Ours, by its options.
    pub fn own(name: &str, receiver: &str, sender: &str) -> Self {
        Self {
            name: name.into(),
            target: None,
            receiver: vec![ttcp(&format!("{receiver} -p PORT"))],
            sender: vec![ttcp(&format!("{sender} -p PORT HOST"))],
            program: NETFATHOM.into(),
        }
    }

    /// Another, by its commands.
    pub fn other(name: &str, target: f64, receiver: &str, sender: &str) -> Self {
        let (receiver, sender) = (words(receiver), words(sender));
        let program = sender[0].clone();
        Self {
            name: name.into(),
            target: Some(target),
            receiver: vec![receiver],
            sender: vec![sender],
            program,
        }
    }

    /// Both ends in this program: sockets that do not block, and one epoll_wait before each call,
    /// as tcp_stream of neper does it.
    pub fn epoll(bytes: u64) -> Self {
        let (receiver, sender) = (
            this(&format!("end epoll-receive PORT {bytes}")),
            this(&format!("end epoll-send HOST PORT {bytes}")),
        );
        let program = sender[0].clone();
        Self {
            name: "epoll at both ends".into(),
            target: Some(1.0),
            receiver: vec![receiver],
            sender: vec![sender],
            program,
        }
    }

    /// The same with something that writes before the sender, and something that reads behind
    /// the receiver: neither does more than it must.
    pub fn between_pipes(mut self) -> Self {
        self.sender.insert(0, this("end produce"));
        self.receiver.push(this("end consume"));
        self
    }

    pub fn is_here(&self) -> bool {
        let program = Path::new(&self.program);
        let paths = std::env::var_os("PATH").unwrap_or_default();
        program.is_file() || std::env::split_paths(&paths).any(|dir| dir.join(program).is_file())
    }
}
