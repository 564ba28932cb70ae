"""Posting to receivers that misbehave and names that lead inwards: what came of it is always a result, a right one."""

import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from project.kit.outbound import Answered, NotTaken, Unanswered, check_address, dialling, post
from tests.kit.outbound.calling import BODY, PATIENT, SECRET, call, call_receiver
from tests.kit.outbound.receivers import NameServer, answer, ok, read_request, receiver

LARGE = b"x" * 30_000_000  # more than the buffers of both ends hold


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., NameServer]:
    """Let names lead where the test says."""

    def lead(*answers: list[str]) -> NameServer:
        server = NameServer(*answers)
        monkeypatch.setattr(socket, "getaddrinfo", server)
        return server

    return lead


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Dial nothing; return the addresses that would have been."""
    addresses: list[str] = []

    async def refuse(_backend: Any, address: str, *_: Any) -> Any:
        addresses.append(address)
        raise dialling.httpcore.ConnectError("nobody is there")

    monkeypatch.setattr(dialling.httpcore.AnyIOBackend, "connect_tcp", refuse)
    return addresses


# --- what arrives ----------------------------------------------------------------------------------------------------


def test_exactly_these_bytes_go_out_and_the_answer_comes_back() -> None:
    heard: list[bytes] = []
    with receiver(answer(ok(b'{"code":0}', b"X-Request-ID: 7"), heard=heard)) as running:
        posted = call_receiver(running, **{"Content-Type": "application/json", "webhook-id": "e1"})
    assert posted == Answered(200, {"content-length": "10", "x-request-id": "7"}, b'{"code":0}')
    head, _, body = heard[0].partition(b"\r\n\r\n")
    assert body == BODY
    assert head.startswith(b"POST /path-with-token?key=s3cret HTTP/1.1\r\n")
    assert b"\r\nwebhook-id: e1" in head
    assert b"\r\nContent-Length: %d" % len(BODY) in head


def test_a_failure_is_an_answer_as_well() -> None:
    with receiver(answer(ok(b"busy", b"Retry-After: 7", status=b"503 Busy"))) as running:
        posted = call_receiver(running)
    assert isinstance(posted, Answered)
    assert (posted.status, posted.headers["retry-after"]) == (503, "7")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_case_80_a_redirect_is_an_answer_and_is_not_followed(status: int) -> None:
    with receiver(answer(ok())) as target:
        for location in ("http://169.254.169.254/latest/", f"http://127.0.0.1:{target.port}/"):
            redirect = ok(b"", b"Location: " + location.encode(), status=b"%d Elsewhere" % status)
            with receiver(answer(redirect)) as running:
                posted = call_receiver(running)
            assert isinstance(posted, Answered)
            assert posted.status == status
        assert target.connections == 0


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(answer(ok(b"proxy"))) as proxy, receiver(answer(ok(b"itself"))) as running:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        posted = call_receiver(running)
        assert proxy.connections == 0
    assert isinstance(posted, Answered)
    assert posted.body == b"itself"


# --- where names lead ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param(["8.8.8.8", "10.0.0.1"], id="case 79: public and private"),
        pytest.param(["2606:4700:4700::1111", "127.0.0.1"], id="public by IPv6, loopback by IPv4"),
        pytest.param(["::ffff:10.0.0.5"], id="case 77: mapped"),
        pytest.param(["64:ff9b::a9fe:a9fe"], id="case 76: NAT64"),
        pytest.param(["2002:7f00:1::1"], id="case 76: 6to4"),
        pytest.param(["169.254.169.254"], id="metadata"),
        pytest.param(["100.100.100.200"], id="another cloud's metadata"),
        pytest.param(["fe80::1%2"], id="scoped"),
        pytest.param(["0.0.0.0"], id="unspecified"),  # noqa: S104
    ],
)
def test_cases_76_77_79_a_name_of_which_one_address_leads_inwards_is_not_called(
    names: Any, dialled: list[str], addresses: list[str]
) -> None:
    names(addresses)
    posted = call("rebinding.example.org", allowed=False)
    assert posted == NotTaken(
        "rebinding.example.org leads to an address in a private network, which is not called.", final=True
    )
    assert dialled == []


def test_the_address_that_was_checked_is_the_one_that_is_dialled(names: Any, dialled: list[str]) -> None:
    server = names(["8.8.8.8"], ["127.0.0.1"])
    posted = call("rebinding.example.org", allowed=False)
    assert server.asked == ["rebinding.example.org"]
    assert dialled == ["8.8.8.8"]
    assert posted == NotTaken("rebinding.example.org cannot be reached.")


def test_what_was_public_yesterday_is_checked_again_today(names: Any, dialled: list[str]) -> None:
    names(["8.8.8.8"], ["127.0.0.1"])
    call("rebinding.example.org", allowed=False)
    posted = call("rebinding.example.org", allowed=False)
    assert isinstance(posted, NotTaken)
    assert posted.final
    assert dialled == ["8.8.8.8"]


def test_each_public_address_is_tried_until_one_answers(names: Any, dialled: list[str]) -> None:
    names(["8.8.8.8", "2606:4700:4700::1111", "8.8.8.8", "1.1.1.1"])
    call("example.org", allowed=False)
    assert dialled == ["8.8.8.8", "2606:4700:4700::1111", "1.1.1.1"]


def test_an_allowed_host_may_lead_inwards_by_its_name_or_at_one_port_only(names: Any) -> None:
    names(["127.0.0.1"])
    with receiver(answer(ok())) as running:
        url, port = f"http://chat.internal:{running.port}/", running.port
        for allowed in (["chat.internal"], [f"chat.internal:{port}"]):
            assert isinstance(post(url, b"", {}, timeout_seconds=PATIENT, allowed_hosts=allowed), Answered)
        for refused in ([], ["other.internal"], ["chat.internal:1"], ["127.0.0.1"], [f"127.0.0.1:{port}"]):
            posted = post(url, b"", {}, timeout_seconds=PATIENT, allowed_hosts=refused)
            assert isinstance(posted, NotTaken)
            assert posted.final
        assert running.connections == 2


@pytest.mark.parametrize("dot", "。．｡")
def test_case_82_a_number_with_dots_of_another_script_is_neither_looked_up_nor_called(
    names: Any, dialled: list[str], dot: str
) -> None:
    server = names(["127.0.0.1"])
    posted = call(dot.join(["127", "0", "0", "1"]), allowed=False)
    assert posted == NotTaken("The host is written with dots of another script. Write . instead.", final=True)
    assert (server.asked, dialled) == ([], [])


def test_case_83_an_international_name_is_taken_and_looked_up_in_the_form_in_which_it_is_kept(
    names: Any, dialled: list[str]
) -> None:
    server = names(["8.8.8.8"])
    kept = check_address("https://straße.de/").host
    call("straße.de", allowed=False)
    call(kept, allowed=False)
    assert server.asked == [kept, kept] == ["xn--strae-oqa.de"] * 2
    assert dialled == ["8.8.8.8", "8.8.8.8"]


# --- connections that break ------------------------------------------------------------------------------------------


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def reset_after_the_request(connection: socket.socket) -> None:
    read_request(connection)
    reset(connection)


def reset_amid_the_request(connection: socket.socket) -> None:
    connection.recv(10)
    reset(connection)


def test_who_breaks_off_may_have_taken_it() -> None:
    endings = (reset_after_the_request, answer(b""), answer(b"HTTP/1.1 200 OK\r\nContent-Le"), answer(b"hello?"))
    for behave in (reset_amid_the_request, *endings):
        with receiver(behave) as running:
            posted = call_receiver(running)
        assert posted == Unanswered("127.0.0.1 broke off without an answer. It may have taken it.")


def test_who_refuses_amid_the_message_is_heard() -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(10)
        connection.sendall(ok(b"", b"Connection: close", status=b"413 Too Large"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1_000_000):
            pass

    with receiver(behave) as running:
        posted = call_receiver(running, body=LARGE)
    assert isinstance(posted, Answered)
    assert posted.status == 413


def test_who_cannot_be_reached_has_not_taken_it(names: Any) -> None:
    with receiver(answer(ok())) as running:
        port = running.port
    assert call(f"127.0.0.1:{port}") == NotTaken("127.0.0.1 refuses the connection.")


def test_a_name_that_does_not_exist_may_exist_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert call("gone.example.org") == NotTaken("The name gone.example.org cannot be resolved.")


def test_a_receiver_that_does_not_speak_tls_has_taken_nothing() -> None:
    with receiver(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as running:
        host = f"127.0.0.1:{running.port}"
        posted = post(f"https://{host}{SECRET}", BODY, {}, timeout_seconds=PATIENT, allowed_hosts=[host])
    assert posted == NotTaken("127.0.0.1 does not speak TLS as it should.")


@pytest.mark.parametrize("headers", [{"X-Key": "a\r\nb: c"}, {"X Key": "a"}, {"X-Key": "\ud800"}, {"": "a"}])
def test_a_request_that_cannot_be_written_is_not_tried_again(headers: dict[str, str]) -> None:
    with receiver(answer(ok())) as running:
        posted = call_receiver(running, **headers)
    assert posted == NotTaken("The request cannot be written: a header of it holds what no header can.", final=True)


# --- what is said ----------------------------------------------------------------------------------------------------


def test_case_86_no_sentence_holds_a_path_or_a_query(names: Any, dialled: list[str]) -> None:
    names(["8.8.8.8"], ["10.0.0.1"])
    sentences = [call("example.org", allowed=False).sentence for _ in range(2)]  # type: ignore[union-attr]
    sentences += [call(host, allowed=False).sentence for host in ("localhost", "[", "a@b", "xn--a.de")]  # type: ignore[union-attr]
    for sentence in sentences:
        assert "token" not in sentence
        assert "s3cret" not in sentence


@given(
    st.one_of(
        st.text(), st.text().map("http://{}/".format), st.text(".:[]@%?#0x1é。", min_size=1).map("http://{}".format)
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_the_address_nothing_is_raised(dialled: list[str], text: str) -> None:
    assert isinstance(post(text, b"", {}, timeout_seconds=PATIENT), NotTaken)
