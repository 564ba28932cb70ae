"""The job `http`, against a real server: what it sends, and how it judges the answer."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from scheduler.jobs.http import asked_wait
from scheduler.jobs.registry import BadParams, get_job
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.upstream import Upstream

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class TestHowItIsJudged:
    def test_a_2xx_answer_is_done_and_is_shown(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(201, "made ✓")

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.state == RunState.DONE
        assert executed.run.result["status"] == 201
        assert executed.output.startswith(f"GET {upstream.url}: 201 Created in ")
        assert executed.output.endswith(" s\nmade ✓\n")

    def test_another_status_is_a_failure_that_names_what_was_expected(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(404, "who?")

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.state == RunState.FAILED
        assert executed.attempt.error == f"{upstream.url} answered 404 Not Found; expected was 200-299."
        assert executed.output.endswith("who?\n")

    @pytest.mark.parametrize(
        ("expected", "status", "state"),
        [
            ([404], 404, RunState.DONE),
            (["200-299", 404], 404, RunState.DONE),
            ([200, 202], 201, RunState.FAILED),
            (["400-499"], 200, RunState.FAILED),
            ([429], 429, RunState.DONE),
        ],
    )
    def test_statuses_and_ranges_may_be_expected(
        self, runs: Runs, upstream: Upstream, expected: list[object], status: int, state: str
    ) -> None:
        upstream.answer = lambda handler: handler.say(status, retry_after="30")

        assert runs.perform("http", {"url": upstream.url, "expected_status": expected}).state == state

    def test_a_redirect_is_not_followed_unless_asked_for(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: (
            handler.say(200, "there") if handler.path == "/there" else handler.say(302, location="/there")
        )

        stayed = runs.perform("http", {"url": upstream.url})
        followed = runs.perform("http", {"url": upstream.url, "follow_redirects": True})

        assert stayed.attempt.error == (
            f"{upstream.url} answered 302 Found; expected was 200-299. Redirects are not followed."
        )
        assert followed.state == RunState.DONE
        assert followed.output.endswith("there\n")

    def test_headers_are_not_carried_to_another_server(self, runs: Runs, upstream: Upstream) -> None:
        stranger = f"http://localhost:{upstream.server_port}/there"
        upstream.answer = lambda handler: (
            handler.say(200) if handler.path == "/there" else handler.say(307, location=stranger)
        )
        params = {"url": upstream.url, "follow_redirects": True, "headers": {"X-Api-Key": "s3cret"}}

        assert runs.perform("http", params).state == RunState.DONE
        assert [asked["headers"].get("X-Api-Key") for asked in upstream.asked] == ["s3cret", None]

    def test_endless_redirects_are_a_failure(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(302, location="/again")

        executed = runs.perform("http", {"url": upstream.url, "follow_redirects": True})

        assert executed.attempt.error == f"{upstream.url} redirects again and again."


class TestRetryAfter:
    @pytest.mark.parametrize("status", [429, 503])
    def test_a_server_that_asks_to_wait_puts_the_run_off(self, runs: Runs, upstream: Upstream, status: int) -> None:
        upstream.answer = lambda handler: handler.say(status, retry_after="120")

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.state == RunState.DEFERRED
        assert executed.attempt.outcome == AttemptOutcome.DEFERRED
        assert executed.is_put_off_by(seconds=120)
        assert "asked again in 120 s" in executed.run.reason

    @pytest.mark.parametrize("headers", [{}, {"retry_after": "soon"}, {"retry_after": ""}])
    def test_without_a_readable_wait_it_is_a_failure(
        self, runs: Runs, upstream: Upstream, headers: dict[str, str]
    ) -> None:
        upstream.answer = lambda handler: handler.say(503, **headers)

        assert runs.perform("http", {"url": upstream.url}).state == RunState.FAILED

    @pytest.mark.parametrize(
        ("asked", "wait"),
        [
            ("30", timedelta(seconds=30)),
            ("0", timedelta(seconds=1)),
            ("-5", timedelta(seconds=1)),
            ("1.5", timedelta(seconds=1.5)),
            ("99999999999999999999999", timedelta(days=1)),
            ("9" * 400, timedelta(days=1)),
            (format_datetime(NOW + timedelta(minutes=2), usegmt=True), timedelta(minutes=2)),
            (format_datetime(NOW - timedelta(days=400), usegmt=True), timedelta(seconds=1)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", timedelta(days=1)),
            ("Sun, 01 Mar 2026 12:00:10 -0000", timedelta(seconds=10)),
            ("", None),
            ("in a while", None),
            ("NaN", None),
            ("Fri, 99 Dec 2026 23:59:59 GMT", None),
        ],
    )
    def test_seconds_and_dates_are_read_and_absurd_ones_are_bounded(self, asked: str, wait: timedelta | None) -> None:
        assert asked_wait(httpx.Headers({"Retry-After": asked}), NOW) == wait

    def test_a_date_is_compared_with_the_servers_own_clock(self) -> None:
        its_now = NOW + timedelta(hours=5)
        headers = httpx.Headers(
            {
                "Date": format_datetime(its_now, usegmt=True),
                "Retry-After": format_datetime(its_now + timedelta(seconds=40), usegmt=True),
            }
        )

        assert asked_wait(headers, NOW) == timedelta(seconds=40)


class TestWhatIsSent:
    def test_placeholders_are_filled_in_and_other_braces_stay(self, runs: Runs, upstream: Upstream) -> None:
        body = '{"day": "{{ stat_date }}", "at": "{{planned_at}}", "nested": {"a": {}}, "other": "{{ name }} {x}"}'
        executed = runs.perform(
            "http",
            {
                "method": "POST",
                "url": f"{upstream.url}/days/{{{{ stat_date }}}}?at={{{{ planned_at }}}}",
                "headers": {"X-Run": "{{ run_id }}"},
                "body": body,
            },
        )

        run, (asked,) = executed.run, upstream.asked
        at = run.planned_at.isoformat()
        assert asked["method"] == "POST"
        assert asked["path"] == f"/days/{run.stat_date}?at={at.replace('+', '%2B').replace(':', '%3A')}"
        assert asked["headers"]["X-Run"] == str(run.pk)
        assert json.loads(asked["body"]) == {
            "day": str(run.stat_date), "at": at, "nested": {"a": {}}, "other": "{{ name }} {x}",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("body", "headers", "kind"),
        [
            ('{"a": 1}', {}, "application/json"),
            ("a=1", {}, "text/plain; charset=utf-8"),
            ("a=1", {"content-type": "application/x-www-form-urlencoded"}, "application/x-www-form-urlencoded"),
        ],
    )
    def test_the_content_type_is_the_bodys_unless_a_header_says(
        self, runs: Runs, upstream: Upstream, body: str, headers: dict[str, str], kind: str
    ) -> None:
        runs.perform("http", {"method": "PUT", "url": upstream.url, "body": body, "headers": headers})

        assert upstream.asked[0]["headers"].get_all("Content-Type") == [kind]

    def test_each_attempt_of_a_run_sends_the_same_idempotency_key_and_no_other_run_does(
        self, runs: Runs, upstream: Upstream
    ) -> None:
        upstream.answer = lambda handler: handler.say(503, retry_after="1")
        executed = runs.perform("http", {"method": "POST", "url": upstream.url})
        runs.execute(executed.run)
        runs.perform("http", {"method": "POST", "url": upstream.url})

        first, second, third = [asked["headers"]["Idempotency-Key"] for asked in upstream.asked]
        assert first == second
        assert third not in ("", None, first)

    def test_the_idempotency_key_can_be_replaced_or_left_out(self, runs: Runs, upstream: Upstream) -> None:
        runs.perform("http", {"url": upstream.url, "idempotency_key": False})
        runs.perform("http", {"url": upstream.url, "headers": {"idempotency-key": "mine"}})

        keys = [asked["headers"].get_all("Idempotency-Key") for asked in upstream.asked]
        assert keys == [None, ["mine"]]


class TestItsAnswer:
    def test_a_long_body_is_cut_at_a_character_and_the_status_stays(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(200, "€" * 1_000_000)

        executed = runs.perform("http", {"url": upstream.url})

        head, body, note = executed.output.rstrip("\n").split("\n")
        assert head.startswith(f"GET {upstream.url}: 200 OK")
        assert set(body) == {"€"}
        assert note == "[the rest was not read]"
        assert 60 * 1024 < len(executed.output.encode()) <= 64 * 1024

    def test_a_body_in_another_encoding_is_read(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(
            200, "größer".encode("latin-1"), content_type="text/plain; charset=latin-1"
        )

        assert runs.perform("http", {"url": upstream.url}).output.endswith("größer\n")

    def test_a_body_that_is_no_text_is_only_measured(self, runs: Runs, upstream: Upstream) -> None:
        upstream.answer = lambda handler: handler.say(200, b"\x89PNG\x00\x01", content_type="image/png")

        executed = runs.perform("http", {"url": upstream.url})

        assert executed.output.endswith("[6 bytes of image/png are not shown]\n")


class TestParams:
    @pytest.mark.parametrize(
        ("params", "sentence"),
        [
            ({}, "Parameter “url”: Field required."),
            ({"url": "ftp://example.com"}, "Parameter “url”: It must begin with http:// or https:// and name a host."),
            ({"url": "example.com"}, "Parameter “url”: It must begin with http:// or https:// and name a host."),
            ({"url": "http://"}, "Parameter “url”: It must begin with http:// or https:// and name a host."),
            (
                {"url": "http://example.com:port/"},
                "Parameter “url”: It cannot be read as a URL; it looks like https://example.com/path.",
            ),
            (
                {"url": "http://example.com/a\nb"},
                "Parameter “url”: It cannot be read as a URL; it looks like https://example.com/path.",
            ),
            (
                {"url": "http://e.com", "headers": {"X Y": "s3cret"}},
                "Parameter “headers”: “X Y” cannot be the name of a header.",
            ),
            (
                {"url": "http://e.com", "headers": {"X": "s3cret\r\nY: 1"}},
                "Parameter “headers”: The value of the header X must be printable ASCII on one line.",
            ),
            (
                {"url": "http://e.com", "headers": {"Content-Length": "5"}},
                "Parameter “headers”: The header Content-Length is set from the request itself; leave it out.",
            ),
            (
                {"url": "http://e.com", "expected_status": ["2xx"]},
                "Parameter “expected_status”: A status is a number from 100 to 599 or a range such as 200-299.",
            ),
            (
                {"url": "http://e.com", "expected_status": ["299-200"]},
                "Parameter “expected_status”: A status is a number from 100 to 599 or a range such as 200-299.",
            ),
            (
                {"url": "http://e.com", "timeout_seconds": 0},
                "Parameter “timeout_seconds”: Input should be greater than 0.",
            ),
            (
                {"url": "http://e.com", "timeout_seconds": "5"},
                "Parameter “timeout_seconds”: Input should be a valid number.",
            ),
        ],
    )
    def test_what_is_wrong_is_said_in_a_sentence(self, params: dict[str, object], sentence: str) -> None:
        with pytest.raises(BadParams) as refusal:
            get_job("http").read_params(params)

        assert str(refusal.value) == sentence

    def test_placeholders_may_stand_in_a_url(self) -> None:
        params = get_job("http").read_params({"url": "https://example.com/{{ stat_date }}?run={{run_id}}"})

        assert params.url == "https://example.com/{{ stat_date }}?run={{run_id}}"

    def test_each_parameter_is_explained_to_people(self) -> None:
        fields = get_job("http").schema()["properties"].values()

        assert all(field["title"] and field["description"] for field in fields)
