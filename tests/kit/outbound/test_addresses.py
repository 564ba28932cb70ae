"""What people type as an address: what is odd or leads inwards is refused with its sentence, the rest made uniform."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from project.kit.outbound import BadAddress, check_address

EMPTY = "is empty"
SPACE = "has a space or a line break in it"
BACKSLASH = "has a backslash in it"
SCHEME = "does not begin with https:// or http://"
USER = "a user name or password before an @"
HASH = "has a # in it"
NO_HOST = "has no host"
PORT = "is a number from 1 to 65535"
NO_NAME = "The host is no name"
LOOKALIKE = "look-alikes of plain letters"
NO_SUCH_CHARACTERS = "characters in it that no name may have"
DOTS = "dots of another script"
PUNYCODE = "begins with xn-- and is no encoded name"
NUMBER = "a number that programs read differently"
NOT_CLOSED = "is not closed by ]"
BRACKETS = "stands in brackets"
NO_IPV6 = "is no IPv6 address"
INTERFACE = "names an interface"
INWARD = "lies in a private network"

REFUSED = [
    ("", EMPTY),
    # characters
    (" https://example.org/", SPACE),
    ("https://example.org/ ", SPACE),
    ("\thttps://example.org/", SPACE),
    ("ht\ntp://example.org/", SPACE),
    ("https://exam\rple.org/", SPACE),
    ("https://example.org/a b", SPACE),
    ("https://example.org/a\u00a0b", SPACE),
    ("https://exa\u3000mple.org/", SPACE),
    ("https://example.org/\u2028", SPACE),
    ("http://127.0.0.1/\\@example.org/", BACKSLASH),
    ("http://example.org\\@127.0.0.1/", BACKSLASH),
    ("http:\\\\example.org", BACKSLASH),
    ("https://example.org/\x00", "U+0000"),
    ("https://example.org/\x7f", "U+007F"),
    ("https://exa\u200bmple.org/", "U+200B"),
    ("https://exa\u00admple.org/", "U+00AD"),
    ("https://exa\u2060mple.org/", "U+2060"),
    ("https://exam\u202eple.org/", "U+202E"),
    ("\ufeffhttps://example.org/", "U+FEFF"),
    ("https://exa\u034fmple.org/", "U+034F"),
    ("https://exa\ufe0fmple.org/", "U+FE0F"),
    ("https://exa\u3164mple.org/", "U+3164"),
    ("https://exa\U000e0100mple.org/", "U+E0100"),
    ("https://exa\ud800mple.org/", "U+D800"),
    ("https://exa\ue000mple.org/", "U+E000"),
    (f"https://example.org/{'a' * 2000}", "longer than 2,000 characters"),
    # schemes
    ("example.org", SCHEME),
    ("//example.org/", SCHEME),
    ("https:/example.org/", SCHEME),
    ("https:example.org", SCHEME),
    ("mailto:someone@example.org", SCHEME),
    ("javascript:alert(1)", SCHEME),
    ("user:secret://example.org", SCHEME),
    ("://example.org", SCHEME),
    ("ftp://example.org/", "begins with ftp://"),
    ("file:///etc/passwd", "begins with file://"),
    ("gopher://127.0.0.1:6379/_SET", "begins with gopher://"),
    ("httpss://example.org/", "begins with httpss://"),
    # user info and fragments
    ("https://user@example.org/", USER),
    ("https://user:password@example.org/", USER),
    ("https://example.org:80@127.0.0.1/", USER),
    ("https://@example.org/", USER),
    ("https://example.org#@127.0.0.1/", HASH),
    ("https://example.org/#part", HASH),
    # ports
    ("https://example.org:/", PORT),
    ("https://example.org:0/", PORT),
    ("https://example.org:65536/", PORT),
    ("https://example.org:99999/", PORT),
    ("https://example.org:000080/", PORT),
    ("https://example.org:80a/", PORT),
    ("https://example.org:-1/", PORT),
    ("https://example.org:+80/", PORT),
    ("https://example.org:8_0/", PORT),
    ("https://example.org:８０/", PORT),
    ("https://example.org:²/", PORT),
    ("https://[2606:4700:4700::1111]:/", PORT),
    ("https://[2606:4700:4700::1111]:x/", PORT),
    # names
    ("https://", NO_HOST),
    ("https:///path", NO_HOST),
    ("https://:443/", NO_HOST),
    ("https://?query", NO_HOST),
    ("https://a..example.org/", NO_NAME),
    ("https://.example.org/", NO_NAME),
    ("https://./", NO_NAME),
    ("https://example.org../", NO_NAME),
    ("https://-a.example.org/", NO_NAME),
    ("https://a-.example.org/", NO_NAME),
    (f"https://{'a' * 64}.example.org/", NO_NAME),
    (f"https://{'.'.join(['a' * 60] * 5)}.org/", "longer than 253 characters"),
    ("https://exam%70le.org/", NO_NAME),
    ("https://exam%00ple.org/", NO_NAME),
    ("https://exa*mple.org/", NO_NAME),
    ("https://exa{mple}.org/", NO_NAME),
    ("https://example.org;a/", NO_NAME),
    ("https://$(id).example.org/", NO_NAME),
    # other scripts
    ("https://ｅｘａｍｐｌｅ.org/", LOOKALIKE),
    ("https://ⓔxample.org/", LOOKALIKE),
    ("https://\u212a.org/", LOOKALIKE),
    ("https://①②⑦.0.0.1/", LOOKALIKE),
    ("https://example.org／path", NO_SUCH_CHARACTERS),
    ("https://user＠example.org/", NO_SUCH_CHARACTERS),
    ("https://exa℀mple.org/", NO_SUCH_CHARACTERS),
    ("https://ex…ample.org/", NO_SUCH_CHARACTERS),
    ("https://💥\u0301.a\u0301\u05d0.org/", NO_SUCH_CHARACTERS),
    ("https://127。0。0。1/", DOTS),
    ("https://example．org/", DOTS),
    ("https://example｡org/", DOTS),
    ("https://xn--a.com/", PUNYCODE),
    ("https://XN--A.com/", PUNYCODE),
    ("https://xn--.com/", PUNYCODE),
    ("https://xn--abc-.com/", PUNYCODE),
    ("https://bücher.xn--a.com/", PUNYCODE),
    # numbers
    ("https://127.1/", NUMBER),
    ("https://0x7f.1/", NUMBER),
    ("https://0x7f000001/", NUMBER),
    ("https://2130706433/", NUMBER),
    ("https://0177.0.0.1/", NUMBER),
    ("https://127.0.0.01/", NUMBER),
    ("https://1.2.3.4.5/", NUMBER),
    ("https://256.1.1.1/", NUMBER),
    ("https://example.0/", NUMBER),
    ("https://127.0.0.1../", NO_NAME),
    ("https://[::1/", NOT_CLOSED),
    ("https://[::1]x/", NOT_CLOSED),
    ("https://[::1]]/", NOT_CLOSED),
    ("https://::1/", BRACKETS),
    ("https://2001:4860:4860::8888/", BRACKETS),
    ("https://example.org:80:90/", BRACKETS),
    ("https://[]/", NO_IPV6),
    ("https://[example.org]/", NO_IPV6),
    ("https://[127.0.0.1]/", NO_IPV6),
    ("https://[v1.fe80::a]/", NO_IPV6),
    ("https://[1:2:3]/", NO_IPV6),
    ("https://[fe80::1%25eth0]/", INTERFACE),
    ("https://[fe80::1%eth0]/", INTERFACE),
    # inwards
    ("http://localhost/", INWARD),
    ("http://LOCALHOST./", INWARD),
    ("http://a.localhost:8000/", INWARD),
    ("http://localhost.localdomain/", INWARD),
    ("http://printer.local/", INWARD),
    ("http://metadata.google.internal/", INWARD),
    ("http://router.home.arpa/", INWARD),
    ("http://intranet/", INWARD),
    ("http://127.0.0.1/", INWARD),
    ("http://127.0.0.1./", INWARD),
    ("http://0.0.0.0/", INWARD),
    ("http://10.1.2.3:8080/", INWARD),
    ("http://169.254.169.254/latest/meta-data/", INWARD),
    ("http://100.100.100.200/", INWARD),
    ("http://224.0.0.1/", INWARD),
    ("http://[::1]/", INWARD),
    ("http://[::]/", INWARD),
    ("http://[fe90::1]/", INWARD),
    ("http://[::ffff:10.0.0.5]/", INWARD),
    ("http://[0:0:0:0:0:FFFF:7F00:1]/", INWARD),
    ("http://[64:ff9b::a9fe:a9fe]/", INWARD),
    ("http://[2002:7f00:1::1]/", INWARD),
]

TAKEN = [
    ("https://example.org", "https://example.org/"),
    ("HTTPS://EXAMPLE.ORG/Path", "https://example.org/Path"),
    ("https://example.org./x", "https://example.org/x"),
    ("https://example.org:443/x", "https://example.org/x"),
    ("http://example.org:80", "http://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("https://example.org:08443/", "https://example.org:8443/"),
    ("https://example.org:65535/", "https://example.org:65535/"),
    ("https://example.org?a=1", "https://example.org/?a=1"),
    ("https://example.org/a?b=c@d:e//f", "https://example.org/a?b=c@d:e//f"),
    ("https://example.org/a%20b/%E5%91%8A", "https://example.org/a%20b/%E5%91%8A"),
    ("https://example.org/告警?级=高", "https://example.org/%E5%91%8A%E8%AD%A6?%E7%BA%A7=%E9%AB%98"),
    ("https://a_b.example.org/", "https://a_b.example.org/"),
    ("https://straße.de/", "https://xn--strae-oqa.de/"),
    ("https://xn--strae-oqa.de/", "https://xn--strae-oqa.de/"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://bu\u0308cher.example/", "https://xn--bcher-kva.example/"),
    ("https://例え.テスト.example/", "https://xn--r8jz45g.xn--zckzah.example/"),
    ("https://8.8.8.8:8443/x", "https://8.8.8.8:8443/x"),
    ("https://[2606:4700:4700:0:0:0:0:1111]/x", "https://[2606:4700:4700::1111]/x"),
    ("https://[2606:4700:4700::1111]:443/x", "https://[2606:4700:4700::1111]/x"),
    ("https://[2606:4700:4700::1111]:8443", "https://[2606:4700:4700::1111]:8443/"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/1-2", "https://open.feishu.cn/open-apis/bot/v2/hook/1-2"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_an_odd_address_is_refused_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(BadAddress) as refused:
        check_address(text)
    assert why in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(("text", "url"), TAKEN)
def test_a_good_address_is_taken_in_one_form(text: str, url: str) -> None:
    assert check_address(text).url == url
    assert check_address(url).url == url


@pytest.mark.parametrize("text", ["https://hooks.example.org/s3cret\u200b", "https://u:s3cret@a.org", "s3cret:x://a"])
def test_a_sentence_repeats_nothing_that_may_be_a_secret(text: str) -> None:
    with pytest.raises(BadAddress) as refused:
        check_address(text)
    assert "s3cret" not in str(refused.value)


def test_an_address_says_where_it_leads() -> None:
    address = check_address("HTTPS://[2606:4700:4700::1111]:8443/x")
    assert (address.scheme, address.host, address.port) == ("https", "2606:4700:4700::1111", 8443)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("http://chat.internal/", ["chat.internal"]),
        ("http://chat.internal:8065/", ["chat.internal"]),
        ("http://chat.internal:8065/", ["chat.internal:8065"]),
        ("http://10.0.0.7/", ["10.0.0.7"]),
        ("http://[fd00::7]:8443/", ["fd00::7"]),
        ("http://[fd00::7]:8443/", ["[fd00::7]:8443"]),
    ],
)
def test_an_allowed_host_may_lie_inwards(text: str, allowed: list[str]) -> None:
    assert check_address(text, allowed_hosts=allowed).url == text


@pytest.mark.parametrize("text", ["http://chat.internal/", "http://b.chat.internal:8065/", "http://10.0.0.8:8065/"])
def test_an_allowed_host_opens_no_other_one(text: str) -> None:
    with pytest.raises(BadAddress, match=INWARD):
        check_address(text, allowed_hosts=["chat.internal:8065", "10.0.0.7:8065"])


@given(
    st.one_of(
        st.text(), st.text().map("https://{}".format), st.text(".:[]@%/?#0x1fa-é。", min_size=1).map("http://{}".format)
    )
)
def test_whatever_is_typed_is_taken_in_a_stable_form_or_refused(text: str) -> None:
    try:
        address = check_address(text)
    except BadAddress:
        return
    assert check_address(address.url) == address
    assert address.url.isascii()
