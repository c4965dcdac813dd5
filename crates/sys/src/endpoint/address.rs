//! Socket addresses as the kernel has them.

use std::io;
use std::mem::zeroed;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

/// An address, or room for one.
pub(super) struct Encoded {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Encoded {
    pub fn room() -> Self {
        // SAFETY: all-zero is a sockaddr_storage of no family.
        let storage = unsafe { zeroed() };
        Self { storage, length: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    pub fn of(address: SocketAddr) -> Self {
        let mut encoded = Self::room();
        match address {
            SocketAddr::V4(v4) => encoded.put(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => encoded.put(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
        encoded
    }

    /// `T` is one of the kernel's own kinds of addresses.
    fn put<T>(&mut self, address: T) {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: the storage is large enough, and aligned for every kind of address.
        unsafe { (&raw mut self.storage).cast::<T>().write(address) };
        self.length = size_of::<T>() as libc::socklen_t;
    }

    pub fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub fn length(&self) -> libc::socklen_t {
        self.length
    }

    pub fn parts_mut(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        ((&raw mut self.storage).cast(), &raw mut self.length)
    }

    /// An IPv4-mapped address of an IPv6 socket is returned as IPv4.
    pub fn decoded(&self) -> io::Result<SocketAddr> {
        let address = match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says what the storage holds; it is aligned for it.
                let v4 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in>() };
                let ip = v4.sin_addr.s_addr.to_ne_bytes().into();
                SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let v6 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in6>() };
                let ip = v6.sin6_addr.s6_addr.into();
                let port = u16::from_be(v6.sin6_port);
                SocketAddr::V6(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id))
            }
            _ => return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
        };
        Ok(match address.ip().to_canonical() {
            ip if ip != address.ip() => SocketAddr::new(ip, address.port()),
            _ => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_it_was() {
        for text in ["127.0.0.1:5001", "[fe80::1%3]:9", "[::]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Encoded::of(address).decoded().unwrap(), address);
        }
        let mapped = Encoded::of("[::ffff:10.0.0.1]:7".parse().unwrap());
        assert_eq!(mapped.decoded().unwrap(), "10.0.0.1:7".parse().unwrap());
        assert!(Encoded::room().decoded().is_err());
    }
}
