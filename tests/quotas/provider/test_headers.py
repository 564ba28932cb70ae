"""What the headers of an answer say: a table of real providers, and whatever else may come."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quotas.provider.headers import read_headers
from quotas.provider.observation import LARGEST_AMOUNT, LONGEST_WAIT, Observation
from tests.quotas.provider.headers import CASES, NOW, Case, instant, same


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.provider)
def test_what_providers_send_is_understood(case: Case) -> None:
    said = read_headers(case.headers, status=case.status, received_at=NOW)

    assert (said.limited, said.limit, said.remaining) == (case.limited, case.limit, case.remaining)
    assert said.resets_at == instant(case.resets_in)
    assert said.retry_at == instant(case.retry_in)
    assert len(said.doubts) == case.doubts, said.doubts
    assert (said.status, said.received_at) == (case.status, NOW)


def test_the_table_is_long_and_its_names_are_distinct() -> None:
    assert len({case.provider for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize(
    ("headers", "doubt"),
    [
        ({"X-RateLimit-Limit": "many"}, "x-ratelimit-limit said “many”, which is no amount."),
        ({"X-RateLimit-Used": "-1"}, "x-ratelimit-used said “-1”, which is no amount."),
        ({"X-RateLimit-Remaining": "9" * 500}, f"x-ratelimit-remaining said “{'9' * 39}…”, which is no amount."),
        (
            {"X-RateLimit-Limit": "9223372036854775808"},
            "x-ratelimit-limit said “9223372036854775808”, which is too large for an amount.",
        ),
        (
            {"X-RateLimit-Limit": "100, " * 201},
            f"x-ratelimit-limit said “{'100, ' * 7}100,…”, which is too long for an amount.",
        ),
        ({"Retry-After": "soon"}, "retry-after said “soon”, which is no time."),
        ({"Retry-After": "2026-09-31T12:00:00Z"}, "retry-after said “2026-09-31T12:00:00Z”, which is no time."),
        (
            {"Retry-After": "Wed, 31 Sep 2026 12:00:00 GMT"},
            "retry-after said “Wed, 31 Sep 2026 12:00:00 GMT”, which is no time.",
        ),
        ({"Retry-After": "1s" * 51}, f"retry-after said “{'1s' * 19}1…”, which is too long for a time."),
        ({"Retry-After": "36d"}, "retry-after said “36d”, which is more than 35 days away."),
        ({"X-RateLimit-Reset": "1000000000"}, "x-ratelimit-reset said “1000000000”, which is long past."),
        ({"RateLimit": "limit=100, reset=soon"}, "ratelimit said “soon”, which is no time."),
        ({"RateLimit": "limit=100, used=many"}, "ratelimit said “many”, which is no amount."),
        ({"RateLimit": '"day";r='}, 'ratelimit said “"day";r=”, which is no list of structured items.'),
        ({"RateLimit": '"day";r=-1'}, "ratelimit said “-1”, which is no amount."),
        ({"RateLimit": '"day";r=7;t=9999999'}, "ratelimit said “9999999”, which is more than 35 days away."),
        (
            {"RateLimit": '"day";r=7', "RateLimit-Policy": '"day";q=-1'},
            "ratelimit-policy said “-1”, which is no amount.",
        ),
        ({"RateLimit-Policy": '"day";q=-1'}, "ratelimit-policy said “-1”, which is no amount."),
    ],
)
def test_a_doubt_is_a_sentence_that_names_the_header_and_why_and_shortens_what_it_said(
    headers: dict[str, str], doubt: str
) -> None:
    assert read_headers(headers, status=200, received_at=NOW).doubts == (doubt,)


@pytest.mark.parametrize(
    ("headers", "window"),
    [
        (same("X-RateLimit-", 60, 61, 30), "x-ratelimit"),
        ({"RateLimit": "limit=60, remaining=61"}, "ratelimit"),
        ({"RateLimit": '"Day";r=61', "RateLimit-Policy": '"Day";q=60'}, "ratelimit day"),
        ({"RateLimit": "60;r=61", "RateLimit-Policy": "60;w=60"}, "ratelimit"),
    ],
)
def test_a_window_of_which_more_is_left_than_there_is_is_a_doubt_that_names_it(
    headers: dict[str, str], window: str
) -> None:
    said = read_headers(headers, status=200, received_at=NOW)

    assert (said.limit, said.remaining) == (None, None)
    assert said.doubts == (f"{window} said that 61 of 60 are left, which contradicts itself.",)


def test_control_characters_are_not_repeated() -> None:
    said = read_headers({"Retry-After": "\x1b[2J\r\nx"}, status=429, received_at=NOW)

    assert said.doubts == ("retry-after said “·[2J··x”, which is no time.",)


def test_a_flood_of_nonsense_makes_few_doubts() -> None:
    said = read_headers({f"X-RateLimit-Reset-{n}": "soon" for n in range(1000)}, status=429, received_at=NOW)

    assert len(said.doubts) == 10


def test_a_wait_is_counted_from_the_receipt_and_not_from_when_it_is_read() -> None:
    an_hour_ago = NOW - timedelta(hours=1)

    said = read_headers({"Retry-After": "600"}, status=429, received_at=an_hour_ago)

    assert said.retry_at == an_hour_ago + timedelta(minutes=10)


class TestWindows:
    """Requests and tokens are counted apart; the quota counts one of them."""

    OPENAI = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
    }

    @pytest.mark.parametrize(
        ("window", "figures"),
        [
            ("requests", (60, 59, 1)),
            ("tokens", (150000, 0, 360)),
            ("", (150000, 0, 360)),
            ("images", (None, None, None)),
        ],
    )
    def test_the_window_that_is_meant_gives_the_figures(
        self, window: str, figures: tuple[int | None, int | None, int | None]
    ) -> None:
        said = read_headers(self.OPENAI, status=200, received_at=NOW, window=window)

        assert (said.limit, said.remaining, said.resets_at) == (*figures[:2], instant(figures[2]))

    def test_a_refusal_by_another_window_says_when_to_come_back_and_leaves_the_figures(self) -> None:
        said = read_headers(self.OPENAI, status=429, received_at=NOW, window="requests")

        assert (said.limited, said.retry_at) == (True, instant(360))
        assert (said.limit, said.remaining, said.resets_at) == (60, 59, instant(1))

    def test_the_name_of_a_structured_item_is_that_of_its_window(self) -> None:
        headers = {"RateLimit": '"Burst";r=1;t=3, "daily";r=500;t=80000', "RateLimit-Policy": '"Burst";q=10;w=5'}

        said = read_headers(headers, status=200, received_at=NOW, window="daily")

        assert (said.limit, said.remaining, said.resets_at) == (None, 500, instant(80000))

    @pytest.mark.parametrize(("window", "limit"), [("burst", 10), ("daily", 1000)])
    def test_a_policy_alone_is_a_window_of_its_name(self, window: str, limit: int) -> None:
        headers = {"RateLimit-Policy": '"Burst";q=10;w=5, "Daily";q=1000;w=86400'}

        assert read_headers(headers, status=200, received_at=NOW, window=window).limit == limit

    def test_a_share_is_of_a_window_with_the_name_of_its_header(self) -> None:
        headers = {"X-Shopify-Shop-Api-Call-Limit": "32/40", "RateLimit-Limit": "100", "RateLimit-Remaining": "1"}

        said = read_headers(headers, status=200, received_at=NOW, window="api-call")

        assert (said.limit, said.remaining) == (40, 8)


NAMES = st.sampled_from(
    [*sorted({name for case in CASES for name in case.headers}), "ratelimit", "date", "age", "x-ratelimit-reset-ms"]
)
NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.decimals(), st.floats()).map(str)
DATES = st.datetimes().map(lambda moment: moment.strftime("%a, %d %b %Y %H:%M:%S GMT"))
TIMES = st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
DURATIONS = st.lists(
    st.tuples(st.integers(0, 10**12), st.sampled_from(["d", "h", "m", "s", "ms", "us", "ns"])), max_size=6
).map(lambda parts: "".join(f"{number}{unit}" for number, unit in parts))
ITEMS = st.from_regex(r'\A"[a-z]{0,3}"(;[rtqw]=-?[0-9]{0,16}(\.[0-9]{1,4})?){0,3}\Z')
REAL = st.sampled_from(sorted({value for case in CASES for value in case.headers.values()}))
VALUES = st.one_of(st.text(), NUMBERS, DATES, TIMES, DURATIONS, ITEMS, REAL, st.lists(REAL, max_size=3).map(", ".join))
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(headers=st.dictionaries(NAMES | st.text(), VALUES), status=st.none() | st.integers(100, 599), now=MOMENTS)
@example(headers={"Retry-After": "Fri, 31 Dec 9999 23:59:59 -2359"}, status=429, now=NOW)
@example(headers={"X-RateLimit-Reset": "0001-01-01T00:00:00+23:59"}, status=429, now=NOW)
@example(headers={"Date": "Wed, 09 Sep 2026 10:59:30 GMT", "Retry-After": "9999-12-31T23:59:59Z"}, status=429, now=NOW)
@example(headers={"Date": "Wed, 09 Sep 2026 12:59:30 GMT", "Retry-After": "0001-01-01T00:00:00Z"}, status=429, now=NOW)
@example(headers={"Date": "Mon, 01 Jan 0001 00:00:00 +2359", "Retry-After": str(10**9)}, status=429, now=NOW)
def test_whatever_comes_is_read_without_a_crash_and_within_bounds(
    headers: dict[str, str], status: int | None, now: datetime
) -> None:
    assert_within_bounds(read_headers(headers, status=status, received_at=now), now)


def assert_within_bounds(said: Observation, now: datetime) -> None:
    for amount in (said.limit, said.remaining):
        assert amount is None or 0 <= amount <= LARGEST_AMOUNT
    for moment in (said.resets_at, said.retry_at):
        assert moment is None or timedelta(0) <= moment - now <= LONGEST_WAIT
    if said.limit is not None and said.remaining is not None:
        assert said.remaining <= said.limit
    assert all(doubt.endswith(".") and doubt.isprintable() and len(doubt) < 300 for doubt in said.doubts)
