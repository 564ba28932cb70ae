"""“If I topped up 500 now, which runs would go on?” is answered, and changes nothing."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from quotas.models import Edge, LedgerEntry, Quota, Reservation
from tests.panel import text_of
from tests.quotas.admin.desk import make_daily, make_quota, page_of, viewer, wait_for

pytestmark = pytest.mark.django_db


def simulate(quota: Quota, **query: Any) -> HttpResponse:
    """Ask, as somebody who may only look."""
    return viewer().get(page_of(quota, "simulate"), query)


def snapshot() -> Any:
    """Return every row of the quotas."""
    models = (Quota, LedgerEntry, Reservation, Edge, LogEntry)
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_it_says_who_would_go_on_and_who_would_still_wait() -> None:
    quota = make_quota(1000, used=1000, unit="messages")
    first, second, third = wait_for(quota, 200, 300, 400)
    before = snapshot()
    text = text_of(simulate(quota, top_up=600))
    assert "With a limit of 1,600 messages, 2 of 3 that wait would go on." in text
    assert "Then 100 messages would be left. As it is now, 0 would go on." in text
    going, staying = text.split("Would go on")[1].split("Would still wait")
    assert first.title in going
    assert second.title in going
    assert f"{third.title} “{quota.key}” lacks 300 of the 400 that it needs." in staying
    assert snapshot() == before


def test_below_the_threshold_nobody_goes_on() -> None:
    quota = make_quota(1000, used=1000)
    wait_for(quota, 5)
    text = text_of(simulate(quota, top_up=50))
    assert "0 of 1 that waits would go on." in text
    assert f"Of “{quota.key}” more than 105 has to be there again; it has 50." in text


def test_another_limit_can_be_supposed_of_every_kind_and_a_top_up_of_a_capacity_only() -> None:
    daily = make_daily(100, used=100)
    wait_for(daily, 60)
    assert "With a limit of 300, 1 of 1 that waits would go on." in text_of(simulate(daily, limit=300))
    assert "If I topped up" not in text_of(simulate(daily))
    assert "If I topped up" in text_of(simulate(make_quota()))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"top_up": "", "limit": ""}, "Write one amount, and leave the other field empty."),
        ({"top_up": "5", "limit": "7"}, "Write one amount, and leave the other field empty."),
        ({"top_up": "-5"}, "greater than or equal to 1"),
        ({"limit": "many"}, "Enter a whole number."),
    ],
)
def test_what_cannot_be_supposed_is_said(query: dict[str, str], says: str) -> None:
    response = simulate(make_quota(), **query)
    assert says in text_of(response)
    assert "would go on." not in text_of(response)


def test_it_is_only_ever_read() -> None:
    quota = make_quota()
    assert viewer().post(page_of(quota, "simulate"), {"top_up": 5}).status_code == 405
