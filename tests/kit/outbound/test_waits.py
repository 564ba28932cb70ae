"""How long an answer asks to wait, in seconds or until a date."""

from datetime import UTC, datetime

import pytest

from project.kit.outbound import retry_after

DATE, LATER = "Mon, 30 Nov 2026 02:00:00 GMT", "Mon, 30 Nov 2026 03:00:00 GMT"
MONTH = 31 * 86400.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "999999999"}, MONTH),
        ({"retry-after": "9" * 400}, MONTH),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "٣٠"}, None),
        ({"retry-after": "30 s"}, None),
        ({"retry-after": LATER, "date": DATE}, 3600.0),
        ({"retry-after": DATE, "date": LATER}, 0.0),
        ({"retry-after": LATER.replace("GMT", "-0000"), "date": DATE}, 3600.0),
        ({"retry-after": LATER.replace("2026", "2036"), "date": DATE}, MONTH),
        ({"retry-after": LATER}, None),
        ({"retry-after": LATER, "date": "today"}, None),
        ({"retry-after": "Mon, 99 Nov 2026 02:00:00 GMT", "date": DATE}, None),
    ],
)
def test_what_it_says_is_read_and_nothing_else_is_guessed(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_without_a_date_of_its_own_the_wait_is_counted_from_the_given_instant() -> None:
    now = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    assert retry_after({"retry-after": LATER}, now=now) == 1800.0
    assert retry_after({"retry-after": LATER, "date": DATE}, now=now) == 3600.0
