//! The two ends: the other host, by its address or its name, and where this one listens.

use std::net::{SocketAddr, ToSocketAddrs};

use netfathom_measure::load::allow;

/// `HOST:PORT`; a name becomes one of its addresses. Counterparts listen on 0.0.0.0 by default, so that is one of IPv4
/// where there are both.
pub fn parse_peer(text: &str) -> Result<SocketAddr, String> {
    let peer = text.parse::<SocketAddr>().map_or_else(|_| resolve(text), Ok)?;
    if peer.port() == 0 {
        return Err("cannot send to port 0: write the port that the other host listens on".into());
    }
    Ok(plain(peer))
}

/// `ADDR:PORT` of this host.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let form = || "write an address and a port, such as 0.0.0.0:9000 or [::]:9000".to_owned();
    let address: SocketAddr = text.parse().map_err(|_| scoped(text).unwrap_or_else(form))?;
    allow::permit_listening(address.ip()).map_err(|e| e.to_string())?;
    Ok(address)
}

/// What is wrong with an address that names an interface, as `fe80::1%eth0` does.
pub fn scoped(text: &str) -> Option<String> {
    let (_, scope) = text.split_once('%')?;
    let scope = scope.split([']', ':']).next().unwrap_or_default();
    Some(format!("named interface scopes (%{scope}) are not supported: write an address without one"))
}

fn no_host(text: &str) -> String {
    format!("`{text}` is no host and port: write such as server:9000, 10.0.0.2:9000 or [fd00::2]:9000")
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let form = || scoped(text).unwrap_or_else(|| no_host(text));
    let (name, port) = text.rsplit_once(':').ok_or_else(form)?;
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = port.parse().ok().filter(|_| digits).ok_or_else(form)?;
    if name.is_empty() || name.contains([':', '[', ']', '/']) {
        return Err(form());
    }
    let failed = |why: String| format!("cannot find the address of {name}: {why}; write its address instead");
    let mut found: Vec<SocketAddr> =
        (name, port).to_socket_addrs().map_err(|e| failed(reason(&e.to_string())))?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| failed("it has none".into()))
}

/// An IPv4 address that was written as an IPv6 one, as what it is.
fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip if ip.is_ipv4() => SocketAddr::new(ip, address.port()),
        // A link-local one has a scope.
        _ => address,
    }
}

/// What the resolver says, without what the standard library says before it.
fn reason(text: &str) -> String {
    text.rsplit_once("information: ").map_or(text, |(_, why)| why).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stays_what_it_is() {
        for (text, address) in [
            ("10.0.0.2:9000", "10.0.0.2:9000"),
            ("[fd00::2]:9000", "[fd00::2]:9000"),
            ("[::ffff:10.0.0.2]:9000", "10.0.0.2:9000"),
        ] {
            assert_eq!(parse_peer(text), Ok(address.parse().unwrap()), "{text}");
        }
    }

    /// The name that every machine has (RFC 6761).
    #[test]
    fn a_name_becomes_an_address_of_ipv4_if_it_has_one() {
        assert_eq!(parse_peer("localhost:9000"), Ok("127.0.0.1:9000".parse().unwrap()));
    }

    #[test]
    fn nothing_is_sent_to_port_0() {
        for text in ["127.0.0.1:0", "[::1]:0", "localhost:0"] {
            assert!(parse_peer(text).is_err_and(|e| e.contains("port 0")), "{text}");
        }
        assert!(parse_listen("127.0.0.1:0").is_ok());
    }

    #[test]
    fn a_scope_is_named_as_the_reason() {
        for parse in [parse_peer, parse_listen] {
            let error = parse("[fe80::1%lo]:9078").unwrap_err();
            assert!(error.contains("scopes (%lo) are not supported"), "{error}");
        }
    }

    #[test]
    fn only_addresses_of_one_host_or_all_are_listened_on() {
        for (text, what) in [
            ("224.0.0.1:9078", "a multicast address"),
            ("[ff02::1]:9078", "a multicast address"),
            ("[::ffff:224.0.0.1]:9078", "a multicast address"),
            ("255.255.255.255:9078", "the broadcast address"),
        ] {
            let error = parse_listen(text).unwrap_err();
            assert!(error.starts_with("cannot listen on ") && error.contains(what), "{text}: {error}");
        }
        for text in ["0.0.0.0:9078", "[::]:9078", "127.0.0.1:9078"] {
            assert!(parse_listen(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_named_with_the_reason() {
        for text in [
            "",
            "server",
            "10.0.0.2",
            "server:",
            ":9000",
            "server:port",
            "localhost:+9000",
            "server:70000",
            "fd00::2:9000",
            "http://server:80",
        ] {
            let error = parse_peer(text).unwrap_err();
            assert!(error.contains("write such as server:9000"), "{text}: {error}");
        }
        // No name is ever below it (RFC 6761).
        let error = parse_peer("nowhere.invalid:9000").unwrap_err();
        assert!(error.starts_with("cannot find the address of nowhere.invalid: "), "{error}");
        assert!(error.ends_with("; write its address instead") && !error.contains("information"), "{error}");
    }
}
