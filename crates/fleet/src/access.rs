//! How a fleet is reached: a NATS server, and what proves who is who.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};
use netfathom_sys::probe::effective_user;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;

const PORT: u16 = 4222;
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A server that was started just before listens by then.
const LISTENS_WITHIN: Duration = Duration::from_secs(2);
/// Between two attempts to come back to a server that has gone.
const AGAIN: Duration = Duration::from_millis(250);

/// How the NATS server of a fleet is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, perhaps with `USER:PASSWORD@`.
    pub url: String,
    /// The certificate that the server's is signed by; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// A file with the seed of an nkey.
    pub key: Option<PathBuf>,
    /// Whether a server on another host may be spoken to without TLS.
    pub plaintext: bool,
    /// The name of the fleet, which is in every subject.
    pub fleet: String,
}

impl Access {
    /// Connects, also to a server that has just been started, and comes back by itself when the server does.
    pub async fn connect(&self, name: &str) -> Result<Client, FleetError> {
        let server: ServerAddr = self.url.parse().map_err(|_| FleetError::Url(self.shown()))?;
        let tls = self.url.starts_with("tls://");
        if !tls && !self.plaintext && !is_here(server.host(), server.port()) {
            return Err(FleetError::Plaintext(self.shown()));
        }
        let mut options = ConnectOptions::new()
            .name(name)
            .require_tls(tls)
            .connection_timeout(ANSWER_WITHIN)
            .custom_inbox_prefix(format!("_INBOX.{}", self.fleet))
            .reconnect_delay_callback(|_| AGAIN)
            .ignore_discovered_servers()
            .max_reconnects(None);
        if let (Some(user), Some(password)) = (server.username(), server.password()) {
            options = options.user_and_password(user.into(), password.into());
        }
        if let Some(ca) = &self.ca {
            // Read here, so that a file that is missing is named.
            read(ca, "the certificate of the fleet")?;
            options = options.add_root_certificates(ca.clone());
        }
        if let Some(path) = &self.key {
            options = options.nkey(secret(path)?);
        }
        let until = Instant::now() + LISTENS_WITHIN;
        loop {
            match options.clone().connect(server.clone()).await {
                Err(error) if error.kind() == ConnectErrorKind::Io && Instant::now() < until => {
                    tokio::time::sleep(AGAIN).await;
                }
                ended => return ended.map_err(|error| self.refused(&error)),
            }
        }
    }

    fn refused(&self, error: &async_nats::ConnectError) -> FleetError {
        use ConnectErrorKind::{Authentication, AuthorizationViolation, TimedOut, Tls};
        let remedy = match error.kind() {
            AuthorizationViolation | Authentication => "give the key of this fleet with --nats-key",
            Tls => "give the certificate of this fleet with --nats-ca",
            TimedOut => "what listens there does not answer as nats-server does; name another with --nats",
            _ => "start it there (nats-server), or name another with --nats",
        };
        FleetError::Connect { url: self.shown(), why: error.to_string(), remedy }
    }

    /// The address without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.url.rsplit_once('@') {
            Some((before, host)) => {
                let scheme = before.split_once("://").map_or("nats", |(scheme, _)| scheme);
                format!("{scheme}://{host}")
            }
            None => self.url.clone(),
        }
    }

    pub(crate) fn subject(&self, rest: &str) -> String {
        format!("netfathom.{}.{rest}", self.fleet)
    }

    /// An address of the server, for finding out which way leads there.
    pub(crate) fn server(&self) -> Option<std::net::SocketAddr> {
        let server: ServerAddr = self.url.parse().ok()?;
        (server.host(), server.port()).to_socket_addrs().ok()?.next()
    }
}

/// Whether all that a name stands for is on this host.
fn is_here(host: &str, port: u16) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    if let Ok(ip) = host.parse() {
        return is_loopback(ip);
    }
    let port = if port == 0 { PORT } else { port };
    let all: Vec<_> = (host, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    !all.is_empty() && all.iter().all(|at| is_loopback(at.ip()))
}

fn read(path: &Path, what: &'static str) -> Result<String, FleetError> {
    fs::read_to_string(path).map_err(|source| FleetError::Key {
        path: path.display().to_string(),
        what,
        source,
    })
}

/// A key that only its owner can read; or one of another user that a group can too: so systemd and Kubernetes lend it to a
/// program without privileges.
fn secret(path: &Path) -> Result<String, FleetError> {
    let text = read(path, "the key of the fleet")?;
    let open = fs::metadata(path).is_ok_and(|about| {
        let closed = if about.uid() == effective_user() { 0o077 } else { 0o037 };
        about.mode() & closed != 0
    });
    if open { Err(FleetError::KeyMode(path.display().to_string())) } else { Ok(text.trim().to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn access(url: &str) -> Access {
        Access { url: url.into(), ca: None, key: None, plaintext: false, fleet: "default".into() }
    }

    fn refused(access: &Access) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(access.connect("test")).unwrap_err().to_string()
    }

    #[test]
    fn another_host_is_not_spoken_to_in_the_clear() {
        for url in ["nats://192.0.2.1:4222", "192.0.2.1", "nats://[2001:db8::1]:4222"] {
            assert!(refused(&access(url)).contains("in the clear"), "{url}");
        }
        // No server listens at the discard port: the attempt is what counts.
        assert!(refused(&access("nats://127.0.0.1:9")).contains("cannot connect"));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(access("nats://a:b@h:1").shown(), "nats://h:1");
        assert_eq!(access("tls://h:1").shown(), "tls://h:1");
    }

    #[test]
    fn a_key_that_others_can_read_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, "SU").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(secret(&path).is_err_and(|e| e.to_string().contains("chmod 600")));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(secret(&path).unwrap(), "SU");
        // Lent by another user, who alone may change that. Only root can make such a file.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            for (mode, fine) in [(0o440, true), (0o444, false), (0o460, false)] {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                assert_eq!(secret(&path).is_ok(), fine, "{mode:o}");
            }
        }
    }
}
