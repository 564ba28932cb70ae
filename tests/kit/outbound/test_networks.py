"""Which IP addresses are public: every kind that is not, also where an IPv6 address embeds it."""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from project.kit.outbound import is_public, leads_inwards

INWARD = {
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fdff::1"],
    "loopback": ["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"],
    "link-local": ["169.254.169.254", "169.254.0.1", "fe80::1", "fe90::1", "febf::1", "FE80:0:0::A"],
    "site-local": ["fec0::1"],
    "shared": ["100.64.0.1", "100.100.100.200", "100.127.255.255"],
    "a cloud's own": ["168.63.129.16", "192.0.0.192", "fd00:ec2::254"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "4000::1", "8000::1", "100::1", "5f00::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "0:0:0:0:0:0:0:0"],  # noqa: S104
    "documentation": ["192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "protocol assignments": ["192.0.0.1", "192.0.0.170", "2001::1", "2001:10::1", "2001:20::1"],
    "relays of 6to4": ["192.88.99.1"],
    "mapped": ["::ffff:10.0.0.5", "::ffff:127.0.0.1", "::ffff:100.100.100.200", "::ffff:a9fe:a9fe"],
    "compatible": ["::127.0.0.1", "::10.0.0.5", "::8.8.8.8"],
    "NAT64": ["64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:0:0:0:0:7f00:1"],
    "local NAT64": ["64:ff9b:1::10.0.0.1", "64:ff9b:1:a00:0:100::", "64:ff9b:1::8.8.8.8"],
    "6to4": ["2002:7f00:1::1", "2002:a00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1"],
    "Teredo": ["2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "2001:0:808:808::"],
    "ISATAP": [
        "2001:4860:1:2:0:5efe:a00:1",
        "2001:4860:1:2:200:5efe:a00:1",
        "fe80::5efe:808:808",
        "fe80::200:5efe:8.8.8.8",
    ],
    "translated": ["::ffff:0:10.0.0.1", "::ffff:0:8.8.8.8"],
    "scoped": ["fe80::1%eth0", "fe80::1%2", "2606:4700:4700::1111%eth0", "::1%lo"],
}
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2400:3200::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]
INWARD_NETWORKS = [
    IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
]


@pytest.mark.parametrize("address", [pytest.param(one, id=f"{kind}: {one}") for kind in INWARD for one in INWARD[kind]])
def test_an_inward_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "[::1]", "1.2.3.4%x"])
def test_what_is_no_ip_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (whichever words the library has)
        is_public(text)


@st.composite
def inward_ipv4(draw: st.DrawFn) -> IPv4Address:
    network = draw(st.sampled_from(INWARD_NETWORKS))
    return network[draw(st.integers(0, network.num_addresses - 1))]


def embedding_networks(inner: IPv4Address, other: int) -> list[IPv6Address]:
    """Every form in which an IPv6 address can hold an IPv4 address; `other` fills the rest."""
    number, rest = int(inner), other & 0xFFFF
    prefix = int(IPv6Network("2600::/16").network_address) | (other << 64)
    forms = {
        "mapped": 0xFFFF << 32 | number,
        "compatible": number,
        "translated": 0xFFFF << 48 | number,
        "NAT64": 0x64FF9B << 96 | number,
        "local NAT64": 0x64FF9B0001 << 80 | rest << 32 | number,
        "6to4": 0x2002 << 112 | number << 80 | other,
        "Teredo server": 0x20010000 << 96 | number << 64 | other,
        "Teredo client": 0x20010000 << 96 | other << 32 | number ^ 0xFFFFFFFF,
        "ISATAP": prefix | 0x5EFE << 32 | number,
        "ISATAP, unique": prefix | 0x02005EFE << 32 | number,
    }
    return [IPv6Address(form) for form in forms.values()]


@given(inner=inward_ipv4(), other=st.integers(0, 2**32 - 1))
def test_case_76_whatever_embeds_an_inward_ipv4_address_is_not_public(inner: IPv4Address, other: int) -> None:
    assert not is_public(str(inner))
    for outer in embedding_networks(inner, other):
        assert not is_public(str(outer)), outer
        assert not is_public(outer.exploded)


@given(st.ip_addresses(v=4))
def test_a_mapped_address_and_one_behind_nat64_are_judged_by_what_they_embed(inner: IPv4Address) -> None:
    for outer in (0xFFFF << 32, 0x64FF9B << 96):
        assert is_public(str(IPv6Address(outer | int(inner)))) == is_public(str(inner))


@pytest.mark.parametrize(
    ("host", "inwards"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("8.8.8.8", False), ("a-token-and-no-name", False)],
)
def test_where_a_name_leads_is_looked_at_for_libraries_that_dial_themselves(
    host: str, inwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(host: str, *_: object, **__: object) -> list[object]:
        known = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "::1": "::1", "8.8.8.8": "8.8.8.8"}
        if host not in known:
            raise socket.gaierror
        return [(None, None, None, None, (known[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert leads_inwards(host) is inwards
    assert leads_inwards(host, allowed_hosts=[host]) is False
