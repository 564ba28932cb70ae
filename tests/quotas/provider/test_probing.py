"""A provider's usage endpoint is asked: what it says, and what may go wrong without a secret getting out."""

import json
import time

import pytest

from quotas.provider.observation import Observation
from quotas.provider.probes import ProbeSpec
from quotas.provider.probing import MOST_BYTES, ProbeFailed, ask
from tests.quotas.provider.headers import EPOCH, NOW, instant
from tests.scheduler.jobs.upstream import Handler, Upstream, drip, hang

SECRET = "s3cret"


def probe(url: str, *, timeout_seconds: float = 10, **expressions: str) -> Observation | ProbeFailed:
    spec = ProbeSpec(url, {"Authorization": f"Bearer {SECRET}"}, **expressions)
    return ask(spec, timeout_seconds=timeout_seconds, clock=lambda: NOW)


def answers(upstream: Upstream, document: object, status: int = 200, **headers: str) -> None:
    upstream.answer = lambda handler: handler.say(status, json.dumps(document), **headers)


def sentence(said: Observation | ProbeFailed) -> str:
    assert isinstance(said, ProbeFailed)
    assert SECRET not in repr(said)
    return said.sentence


class TestWhatItSays:
    def test_the_figures_stand_where_the_expressions_say(self, upstream: Upstream) -> None:
        answers(upstream, {"plan": {"calls": 1000}, "left": [{"calls": 250}], "renews": "2026-09-09T12:00:00Z"})

        said = probe(upstream.url, remaining="left[0].calls", limit="plan.calls", reset="renews")

        assert said == Observation(NOW, status=200, limit=1000, remaining=250, resets_at=instant(30))

    def test_the_headers_that_were_given_are_sent(self, upstream: Upstream) -> None:
        answers(upstream, {"left": 1})

        probe(upstream.url + "/usage?account=7", remaining="left")

        (asked,) = upstream.asked
        assert (asked["method"], asked["path"]) == ("GET", "/usage?account=7")
        assert asked["headers"]["authorization"] == f"Bearer {SECRET}"

    @pytest.mark.parametrize(
        ("reset", "seconds"),
        [(30, 30), (0.5, 0.5), ("6m0s", 360), (EPOCH + 60, 60), ((EPOCH + 60) * 1000, 60), (EPOCH - 5, 0),
         (float(EPOCH + 60), 60), ("Wed, 09 Sep 2026 12:00:00 GMT", 30), (1.78895523e15, 60)],
    )  # fmt: skip
    def test_a_reset_may_have_any_form(self, upstream: Upstream, reset: object, seconds: float) -> None:
        answers(upstream, {"left": 5, "reset": reset})

        said = probe(upstream.url, remaining="left", reset="reset")

        assert isinstance(said, Observation)
        assert said.resets_at == instant(seconds)

    def test_an_expression_may_reckon(self, upstream: Upstream) -> None:
        answers(upstream, {"pools": [{"left": 70}, {"left": 30}, {"left": 55}]})

        said = probe(upstream.url, remaining="min(pools[].left)")

        assert said == Observation(NOW, status=200, remaining=30)

    def test_nothing_left_means_that_the_provider_refuses(self, upstream: Upstream) -> None:
        answers(upstream, {"left": 0})

        said = probe(upstream.url, remaining="left")

        assert said == Observation(NOW, status=200, limited=True, remaining=0)

    def test_without_expressions_the_headers_say_it(self, upstream: Upstream) -> None:
        answers(upstream, {}, x_ratelimit_limit="60", x_ratelimit_remaining="12", x_ratelimit_reset=str(EPOCH + 60))

        said = probe(upstream.url)

        assert said == Observation(NOW, status=200, limit=60, remaining=12, resets_at=instant(60))

    def test_without_expressions_a_refusal_is_an_answer(self, upstream: Upstream) -> None:
        answers(upstream, {}, 429, retry_after="30")

        assert probe(upstream.url) == Observation(NOW, status=429, limited=True, retry_at=instant(30))

    @pytest.mark.parametrize("value", [True, [], {}, "soon", -5, None, "NaN"])
    def test_what_makes_no_sense_is_a_doubt_and_never_shown(self, upstream: Upstream, value: object) -> None:
        answers(upstream, {"left": value, "limit": 100})

        said = probe(upstream.url, remaining="left", limit="limit")

        assert isinstance(said, Observation)
        assert (said.limit, said.remaining) == (100, None)
        (doubt,) = said.doubts
        assert doubt.startswith("remaining ")
        assert str(value) not in doubt or value is None

    def test_more_left_than_there_is_is_a_doubt(self, upstream: Upstream) -> None:
        answers(upstream, {"left": 101, "limit": 100, "reset": 60})

        said = probe(upstream.url, remaining="left", limit="limit", reset="reset")

        assert isinstance(said, Observation)
        assert (said.limit, said.remaining, said.resets_at) == (None, None, instant(60))
        assert said.doubts == ("More is said to be left than the limit allows.",)


class TestWhatGoesWrong:
    def test_a_refusal_to_tell_is_about_the_endpoint_and_not_about_the_quota(self, upstream: Upstream) -> None:
        answers(upstream, {"left": 5}, 429, retry_after="30")

        assert sentence(probe(upstream.url, remaining="left")) == f"{upstream.url} answered 429 Too Many Requests."

    @pytest.mark.parametrize(("status", "shown"), [(401, "401 Unauthorized"), (503, "503 Service Unavailable"),
                                                   (599, "599")])  # fmt: skip
    def test_an_error_names_the_status(self, upstream: Upstream, status: int, shown: str) -> None:
        answers(upstream, {"left": 5}, status)

        assert sentence(probe(upstream.url, remaining="left")) == f"{upstream.url} answered {shown}."

    def test_a_redirect_is_not_followed_with_our_headers(self, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(302, location="http://localhost:1/elsewhere")

        said = sentence(probe(upstream.url, remaining="left"))

        assert said == f"{upstream.url} answered 302 Found. Redirects are not followed; use the address they lead to."
        assert len(upstream.asked) == 1

    @pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000])
    def test_no_json_is_a_failure(self, upstream: Upstream, body: bytes) -> None:
        upstream.answer = lambda handler: handler.say(200, body)

        assert sentence(probe(upstream.url, remaining="left")) == f"{upstream.url} answered something that is no JSON."

    def test_a_long_answer_is_not_read_to_its_end(self, upstream: Upstream) -> None:
        def pour(handler: Handler) -> None:
            handler.send_response(200)
            handler.end_headers()
            while True:
                try:
                    handler.wfile.write(b" " * 65536)
                except OSError:
                    return

        upstream.answer = pour

        said = sentence(probe(upstream.url, remaining="left"))

        assert said == f"{upstream.url} answered more than {MOST_BYTES // 1024} KiB."

    def test_nothing_found_says_what_was_looked_for(self, upstream: Upstream) -> None:
        answers(upstream, {"usage": {}})

        said = sentence(probe(upstream.url, remaining="usage.left", reset="max(usage.resets)"))

        assert said == (
            f"{upstream.url} answered, but nothing in it makes sense. remaining found nothing in the answer. "
            "reset found nothing in the answer."
        )

    def test_headers_that_say_nothing_ask_for_an_expression(self, upstream: Upstream) -> None:
        answers(upstream, {"left": 5})

        said = sentence(probe(upstream.url))

        assert said == f"{upstream.url} says nothing about a limit in its headers; name where its JSON does."

    @pytest.mark.parametrize("answer", [hang, drip])
    def test_a_server_that_never_comes_to_an_end_is_left(self, upstream: Upstream, answer: object) -> None:
        upstream.answer = answer  # type: ignore[assignment]
        began = time.monotonic()

        said = sentence(probe(upstream.url, timeout_seconds=0.3, remaining="left"))

        assert said == f"{upstream.url} did not answer within 0.3 s."
        assert time.monotonic() - began < 10  # and not for as long as the server likes

    def test_nobody_there_is_a_failure_without_the_secrets_of_the_address(self, upstream: Upstream) -> None:
        port = upstream.server_port
        upstream.shutdown()
        upstream.server_close()

        said = sentence(probe(f"http://user:{SECRET}@127.0.0.1:{port}/{SECRET}?key={SECRET}", remaining="left"))

        assert said == f"http://127.0.0.1:{port} cannot be reached: Connection refused."

    def test_a_connection_that_breaks_is_a_failure(self, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.connection.close()

        assert sentence(probe(upstream.url, remaining="left")) == (
            f"{upstream.url} broke off the exchange (RemoteProtocolError)."
        )

    @pytest.mark.parametrize("url", ["http://[::1", "ftp://example.com", ""])
    def test_an_address_that_is_none_is_a_failure(self, url: str) -> None:
        assert sentence(probe(url)) == "The usage endpoint cannot be asked: its address is none of the web."

    def test_headers_that_cannot_be_sent_are_a_failure(self, upstream: Upstream) -> None:
        said = ask(ProbeSpec(upstream.url, {"X-Key": f"{SECRET}é"}), timeout_seconds=5, clock=lambda: NOW)

        assert sentence(said) == f"{upstream.url} broke off the exchange (UnicodeEncodeError)."
