//! Which addresses are open, in every notation.

use proptest::prelude::*;

use super::*;

fn rule(allow: &[&str], allow_http: bool) -> AddressRule {
    AddressRule {
        allow: allow.iter().map(|cidr| cidr.parse().expect("cidr")).collect(),
        allow_http,
    }
}

#[test]
fn every_list_entry_is_a_network() {
    for (network, _) in FORBIDDEN_V4.iter().chain(FORBIDDEN_V6) {
        assert!(network.parse::<Cidr>().is_ok(), "{network}");
    }
}

#[test]
fn forbidden_hosts_are_refused() {
    for host in [
        "127.0.0.1", "127.1", "127.0.0.1.", "0.0.0.0", "0", "0.1.2.3", "2130706433",
        "017700000001", "0x7f000001", "0x7f.1", "0177.0.0.1", "10.0.0.1", "10.255.255.255",
        "100.64.0.1", "100.127.255.255", "168.63.129.16", "169.254.169.254", "169.254.0.1",
        "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1",
        "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9",
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "3232235521", "0xa9fea9fe",
        "[::]", "[::1]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        "[::ffff:10.0.0.1]", "[::ffff:0:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::808:808]",
        "[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:0:53aa:64c::1]", "[2001:1ff::1]",
        "[2001:db8::1]", "[2002:7f00:1::1]", "[2002:c0a8:1::]", "[3fff::1]", "[5f00::1]",
        "[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[ff02::1]",
        "[ff0e::1]", "localhost", "LOCALHOST", "localhost.", "a.localhost",
        "%6c%6f%63%61%6c%68%6f%73%74", "１２７.0.0.1",
    ] {
        let refused = rule(&[], false).check_url(&format!("https://{host}/hook"));
        assert_eq!(refused.expect_err(host).0, "address", "{host}");
    }
}

#[test]
fn public_hosts_are_allowed() {
    for host in [
        "example.org", "hooks.example.org.", "8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.1",
        "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "168.63.129.17",
        "169.253.255.255", "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255",
        "198.17.255.255", "198.20.0.1", "223.255.255.255", "[2606:4700::1111]",
        "[2001:4860:4860::8888]", "[2a00:1450::1]", "xn--bcher-kva.example",
        "localhost.example.org",
    ] {
        assert!(
            rule(&[], false).check_url(&format!("https://{host}:8443/hook?x=1")).is_ok(),
            "{host}"
        );
    }
}

#[test]
fn malformed_urls_are_refused() {
    for url in [
        "", "example.org", "//example.org/", "http://example.org/", "ftp://example.org/",
        "file:///etc/passwd", "gopher://example.org/", "https://", "https://user@example.org/",
        "https://user:pw@example.org/", "https://example.org/#x", "https://example.org:0/",
        "https://example.org:99999/", "https://exa mple.org/", "https://%00/", "https://[::1",
        "https://256.1.1.1/", "https://1.2.3.4.5/", "javascript:alert(1)",
    ] {
        assert_eq!(rule(&[], false).check_url(url).expect_err(url).0, "format", "{url}");
    }
    let long = |bytes: usize| format!("https://example.org/{}", "x".repeat(bytes - 20));
    assert!(rule(&[], false).check_url(&long(MAX_URL_BYTES)).is_ok());
    assert!(rule(&[], false).check_url(&long(MAX_URL_BYTES + 1)).is_err());
    let (_, plain) =
        rule(&[], false).check_url("http://example.org/").expect_err("https is expected");
    assert!(plain.contains("webhooks.allow_http"), "{plain}");
    assert!(rule(&[], true).check_url("http://example.org/").is_ok());
}

#[test]
fn networks_can_be_opened() {
    let open = rule(&["127.0.0.1/32", "fd00::/8", "192.168.7.0/24"], true);
    for host in [
        "127.0.0.1", "localhost", "0x7f.1", "[::ffff:127.0.0.1]", "[fd00::1]", "192.168.7.9",
        "[64:ff9b::c0a8:709]",
    ] {
        assert!(open.check_url(&format!("http://{host}/")).is_ok(), "{host}");
    }
    let loopback = rule(&["::1/128", "::/128"], false);
    for host in ["[::1]", "[::]"] {
        assert!(loopback.check_url(&format!("https://{host}/")).is_ok(), "{host} carries no IPv4");
    }
    let wide = rule(&["0.0.0.0/0", "::/0", "100.100.100.200/32"], true);
    for (host, opened) in [
        ("10.0.0.1", true),
        ("100.100.100.200", true),
        ("169.254.169.254", false),
        ("169.254.170.23", false),
        ("192.0.0.192", false),
        ("[fd00:ec2::254]", false),
        ("[fd00:ec2::23]", false),
        ("[fd20:ce::254]", false),
        ("[64:ff9b::a9fe:a9fe]", false),
        ("[2002:a9fe:a9fe::1]", false),
        ("[::a9fe:a9fe]", false),
        ("[::ffff:0:a9fe:a9fe]", false),
        ("[fd00::1]", true),
        ("[::1]", true),
    ] {
        assert_eq!(wide.check_url(&format!("http://{host}/")).is_ok(), opened, "{host}");
    }
    // A network that carries IPv4 addresses opens no address inside that is closed itself.
    let carriers = rule(&["64:ff9b::/96", "2002::/16", "::/0"], true);
    for (inside, opened) in [("7f00:1", false), ("a00:1", false), ("808:808", true)] {
        for host in [format!("64:ff9b::{inside}"), format!("2002:{inside}::1")] {
            let url = format!("http://[{host}]/");
            assert_eq!(carriers.check_url(&url).is_ok(), opened, "{host}");
        }
    }
    for host in ["127.0.0.2", "[::1]", "192.168.8.1", "[fe80::1]", "[64:ff9b::c0a8:801]"] {
        assert!(open.check_url(&format!("http://{host}/")).is_err(), "{host}");
    }
}

#[test]
fn one_forbidden_answer_refuses_the_name() {
    let (good, bad): (IpAddr, IpAddr) =
        ("8.8.8.8".parse().expect("address"), "10.0.0.1".parse().expect("address"));
    assert!(rule(&[], false).check_all(&[good, good]).is_ok());
    assert_eq!(rule(&[], false).check_all(&[good, bad]), Err((bad, "private")));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(https?://)?\\PC{0,40}") {
        let _ = rule(&[], true).check_url(&text);
    }

    #[test]
    fn an_ipv4_address_is_judged_the_same_in_every_notation(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let plain = rule(&[], false).check(address.into()).is_ok();
        let mapped = rule(&[], false).check(address.to_ipv6_mapped().into()).is_ok();
        let decimal = rule(&[], false).check_url(&format!("https://{bits}/")).is_ok();
        prop_assert_eq!((plain, plain), (mapped, decimal));
    }
}
