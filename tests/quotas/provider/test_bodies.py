"""What the body of a refusal says, where its headers are silent."""

import json

import pytest

from quotas.provider.bodies import with_body
from quotas.provider.headers import read_headers
from quotas.provider.observation import Observation
from tests.quotas.provider.headers import EPOCH, NOW, instant, same


def refused(body: object, headers: dict[str, str] | None = None, status: int = 429) -> Observation:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return with_body(read_headers(headers or {}, status=status, received_at=NOW), content)


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"ok": False, "error_code": 429, "parameters": {"retry_after": 35}}, 35),  # Telegram
        ({"message": "You are being rate limited.", "retry_after": 64.57, "global": False}, 64.57),  # Discord
        ({"error": {"code": 429, "details": [{"reason": "QUOTA"}, {"retryDelay": "17.5s"}]}}, 17.5),  # Google
        ({"retry_after": "30"}, 30),
        ({"retry_after": -1}, 0),
    ],
)
def test_a_body_that_says_when_to_come_back_is_heard(body: object, seconds: float) -> None:
    assert refused(body).retry_at == instant(seconds)


def test_headers_that_stand_in_the_body_are_read_as_headers() -> None:
    headers = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{EPOCH + 60}000"}

    said = refused({"error": {"code": 429, "metadata": {"headers": headers}}})

    assert (said.limit, said.remaining, said.resets_at) == (50, 0, instant(60))


def test_headers_that_stand_in_the_body_may_say_when_to_come_back() -> None:
    headers = {"Retry-After": "60", "X-RateLimit-Reset": "soon"}

    said = refused({"error": {"metadata": {"headers": headers}}})

    assert said.retry_at == instant(60)
    assert said.doubts == ("x-ratelimit-reset said “soon”, which is no time.",)


def test_real_headers_win() -> None:
    assert refused({"retry_after": 30}, {"Retry-After": "5"}).retry_at == instant(5)


def test_headers_that_stand_in_the_body_add_what_the_real_ones_do_not_say() -> None:
    body = {"error": {"metadata": {"headers": same("X-RateLimit-", 50, 0, 60)}}}

    said = refused(body, {"X-RateLimit-Limit": "3000", "X-RateLimit-Remaining": "2999"})

    assert (said.limit, said.remaining, said.resets_at) == (3000, 2999, instant(60))


def test_a_body_of_64_kib_is_read() -> None:
    assert refused(b'{"retry_after": 3}'.ljust(64 * 1024)).retry_at == instant(3)


def test_the_body_of_an_answer_that_is_no_refusal_is_not_read() -> None:
    assert refused({"retry_after": 30}, status=200).retry_at is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Too many requests",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 60_000,
        b'{"retry_after": ' + b"9" * 5000 + b"}",
        b'{"retry_after": true}',
        b'{"retry_after": {"seconds": 3}}',
        b'{"parameters": [], "error": {"details": {}, "metadata": {"headers": []}}}',
        b'{"retry_after": 3}'.ljust(64 * 1024 + 1),
    ],
)
def test_a_body_that_says_nothing_is_no_matter(body: bytes) -> None:
    said = refused(body)

    assert said.limited
    assert (said.retry_at, said.resets_at, said.doubts) == (None, None, ())


@pytest.mark.parametrize(
    ("value", "doubt"),
    [
        ("NaN", "retry_after said “nan”, which is no time."),
        ("Infinity", "retry_after said “inf”, which is no time."),
        ("1e300", f"retry_after said “1{'0' * 38}…”, which is too long for a time."),
        ('"soon"', "retry_after said “soon”, which is no time."),
    ],
)
def test_a_wait_that_makes_no_sense_is_a_doubt(value: str, doubt: str) -> None:
    said = refused(f'{{"retry_after": {value}}}'.encode())

    assert said.retry_at is None
    assert said.doubts == (doubt,)
