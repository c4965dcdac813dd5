use proptest::prelude::*;

use super::*;

fn check(address: &str, extra: &[&str]) -> Result<(), Refusal> {
    let extra: Vec<Prefix> = extra.iter().map(|p| p.parse().unwrap()).collect();
    Allowed::new(&extra).check(address.parse().unwrap())
}

#[test]
fn own_networks_need_no_asking() {
    let addresses = "127.0.0.1 127.200.3.4 ::1 169.254.1.1 fe80::1 10.0.0.1 172.16.0.1 172.31.255.254 192.168.7.8 \
        100.64.0.1 100.127.0.1 fc00::1 fdff::1 198.18.0.1 198.19.255.1 2001:2::1 ::ffff:10.0.0.1";
    for address in addresses.split(' ') {
        assert_eq!(check(address, &[]), Ok(()), "{address}");
    }
}

#[test]
fn their_neighbours_are_public() {
    let addresses = "126.255.255.255 128.0.0.1 ::2 169.253.255.255 169.255.0.1 fec0::1 9.255.255.255 11.0.0.1 \
        172.15.255.255 172.32.0.1 192.167.1.1 192.169.0.1 100.63.0.1 100.128.0.1 fbff::1 fe00::1 \
        198.17.0.1 198.20.0.1 2001:2:1::1 2001:3::1 0.0.0.1 240.0.0.1 8.8.8.8 2606:4700::1 \
        ::ffff:8.8.8.8";
    // Neither of these is the IPv4 address that it carries.
    for address in addresses.split(' ').chain(["::10.0.0.1", "64:ff9b::10.0.0.1"]) {
        let refusal = check(address, &[]).unwrap_err();
        let shown: IpAddr = address.parse().unwrap();
        assert_eq!(refusal, Refusal::Public(shown.to_canonical()), "{address}");
        assert!(refusal.to_string().contains(&format!("--allow {}/", shown.to_canonical())), "{refusal}");
    }
}

#[test]
fn what_is_named_is_allowed_and_no_more() {
    assert_eq!(check("203.0.113.7", &["203.0.113.7"]), Ok(()));
    assert_eq!(check("::ffff:203.0.113.7", &["203.0.113.0/24"]), Ok(()));
    assert_eq!(check("203.0.113.7", &["::ffff:203.0.113.0/120"]), Ok(()));
    assert_eq!(check("2001:db8::7", &["198.51.100.0/24", "2001:db8::/32"]), Ok(()));
    assert!(check("203.0.113.8", &["203.0.113.7/32"]).is_err());
    assert!(check("203.0.112.7", &["203.0.113.0/24"]).is_err());
    // Half of IPv6 holds no IPv4, whatever its bits are.
    assert!(check("::ffff:203.0.113.7", &["::/1"]).is_err());
    assert!(check("203.0.113.7", &["::/1"]).is_err());
}

#[test]
fn what_is_no_host_is_refused_even_by_name() {
    let all = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"];
    for (address, part) in [
        ("255.255.255.255", "the broadcast address"),
        ("::ffff:255.255.255.255", "the broadcast address"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("::ffff:224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("::ffff:0.0.0.0", "unspecified"),
        // The loopback network's own.
        ("127.255.255.255", "routing table"),
        ("::ffff:127.255.255.255", "routing table"),
    ] {
        let refusal = check(address, &all).unwrap_err().to_string();
        assert!(refusal.contains(part), "{address}: {refusal}");
    }
}

#[test]
fn a_prefix_says_what_is_wrong_with_it() {
    for (text, part) in [
        ("", "is not an address range"),
        ("host.example", "is not an address range"),
        ("10.0.0.0/33", "is not an address range"),
        ("10.0.0.0/", "is not an address range"),
        ("10.0.0.0/+8", "is not an address range"),
        ("10.0.0/8", "is not an address range"),
        ("fe80::/129", "is not an address range"),
        ("::ffff:10.0.0.0/95", "is not an address range"),
        ("0.0.0.0/0", "is every address"),
        ("8.8.8.8/0", "is every address"),
        ("::/0", "is every address"),
        ("::ffff:0.0.0.0/96", "is every address"),
        ("203.0.113.7/24", "write 203.0.113.0/24 for the range, or 203.0.113.7 for the host"),
        ("2001:db8::7/64", "write 2001:db8::/64 for the range"),
    ] {
        let error = text.parse::<Prefix>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn a_prefix_holds_what_begins_like_it(address: u32, bits in 1u8..=32, other: u32) {
        let address = Ipv4Addr::from_bits(address);
        let prefix = Prefix { address: cut(address.into(), bits), bits };
        prop_assert_eq!(prefix.to_string().parse::<Prefix>(), Ok(prefix));
        prop_assert!(prefix.contains(address.into()));
        let same = (address.to_bits() ^ other).leading_zeros() >= bits.into();
        prop_assert_eq!(prefix.contains(Ipv4Addr::from_bits(other).into()), same);
    }

    #[test]
    fn the_same_in_ipv6(address: u128, bits in 1u8..=128, flipped in 0u8..128) {
        let address = Ipv6Addr::from_bits(address);
        prop_assume!(address.to_ipv4_mapped().is_none());
        let prefix = Prefix { address: cut(address.into(), bits), bits };
        prop_assert_eq!(prefix.to_string().parse::<Prefix>(), Ok(prefix));
        let other = Ipv6Addr::from_bits(address.to_bits() ^ (1 << (127 - flipped)));
        prop_assume!(other.to_ipv4_mapped().is_none());
        prop_assert_eq!(prefix.contains(other.into()), flipped >= bits);
    }
}
