"""The lists answer what people ask, with as many queries for fifty rows as for five, and nobody writes in them."""

import re
from datetime import datetime

import pytest

from project.kit.clock import database_now
from quotas import reserving
from quotas.models import Edge, ProviderReport, Quota, Reservation
from quotas.states import Verdict
from tests.panel import chief, listed, queries_of, text_of
from tests.quotas.admin.desk import (
    HOUR,
    MINUTE,
    MODELS,
    charge,
    list_of,
    make_daily,
    make_quota,
    make_rate,
    page_of,
    viewer,
    wait_for,
)

pytestmark = pytest.mark.django_db

HISTORY = ("ledgerentry", "reservation", "edge", "providerreport")


def make_history(rows: int) -> None:
    """Create so many quotas, each with a parent, an edge, a reservation, a report and somebody who waits."""
    now = database_now()
    for _ in range(rows):
        quota = make_daily(100, used=90, parent=make_quota(), now=now)
        reserving.reserve(quota.key, 5, now=now, owner="run:1")
        Edge.objects.create(quota=quota, cause="reset", available=10, at=now)
        ProviderReport.objects.create(quota=quota, at=now, limited=True, status=429)
        wait_for(quota, 50)


@pytest.mark.parametrize("model", MODELS)
def test_a_list_asks_as_often_for_fifty_rows_as_for_five(model: str) -> None:
    make_history(5)
    few = queries_of(list_of(model))
    make_history(20)
    assert len(queries_of(list_of(model))) == len(few)


@pytest.mark.parametrize("model", MODELS)
def test_a_list_counts_nothing(model: str) -> None:
    make_history(2)
    assert not [sql for sql in queries_of(list_of(model)) if "COUNT(" in sql.upper()]


@pytest.mark.parametrize("model", HISTORY)
def test_nobody_adds_changes_or_deletes_history(model: str) -> None:
    make_history(1)
    client = chief()
    response = client.get(list_of(model))
    row = response.context["cl"].result_list[0]
    assert client.get(list_of(model) + "add/").status_code == 403
    assert client.post(page_of(row), {"amount": "1"}).status_code in {403, 405}
    assert client.post(page_of(row, "delete"), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in response.content.decode()


def test_a_quota_is_not_deleted_because_its_ledger_is_kept() -> None:
    quota, client = make_quota(), chief()
    assert client.post(page_of(quota, "delete"), {"post": "yes"}).status_code == 403
    assert Quota.objects.filter(pk=quota.pk).exists()


# --- what the list of quotas says ----------------------------------------------------------------------------------


def test_a_row_says_what_is_left_when_it_is_back_how_it_stands_and_who_waits() -> None:
    parent = make_quota(None, key="all-mail")
    quota = make_daily(100, used=100, key="mail", title="Mails", unit="mails", timezone="Asia/Shanghai", parent=parent)
    wait_for(quota, 30, 2)
    text = text_of(chief().get(list_of("quota")))
    assert f"{quota.period_end:%Y-%m-%d %H:%M} in " in text
    assert f"mail Mails each day at {quota.reset_time:%H:%M} Asia/Shanghai 0 % 0 / 100 mails" in text
    assert re.search(r"insufficient (now|\d+ s ago) 2 wait all-mail", text)


def test_instants_are_by_the_viewers_clocks() -> None:
    make_daily()
    client = chief()
    client.cookies["tideline_zone"] = "Asia/Kathmandu"
    assert ":45 in " in text_of(client.get(list_of("quota")))  # a full hour of UTC is a quarter to one there


def test_who_waits_is_not_counted_by_anybody_then_it_says_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quotas.waiting._counts", [])
    wait_for(make_quota(10, used=10), 3)
    assert "since 1 h ago" in text_of(chief().get(list_of("quota")))


def quotas_of_all_kinds(now: datetime) -> None:
    """Create a quota for each question, whose key is the question's name."""
    make_quota(10, key="plenty", used=1)
    make_quota(10, key="insufficient", used=10)
    make_quota(10, key="nearly-used", used=8)
    make_quota(0, key="blocked")
    make_quota(10, key="shadow", shadow=True)
    make_quota(10, key="refused")
    make_quota(10, key="unverified")
    make_rate(10, key="an-empty-rate", used=9)
    last_period = make_daily(10, key="yesterdays", used=9)
    Quota.objects.filter(pk=last_period.pk).update(period_start=now - 30 * HOUR, period_end=now - HOUR)
    Quota.objects.filter(key="refused").update(blocked_until=now + HOUR)
    Quota.objects.filter(key="unverified").update(provider_unverified=True)
    Quota.objects.filter(key="blocked").update(verdict=Verdict.SUFFICIENT)
    wait_for(make_quota(10, key="waited-for"), 5)


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("insufficient", {"insufficient"}),
        ("nearly-used", {"insufficient", "nearly-used"}),
        ("blocked", {"blocked"}),
        ("shadow", {"shadow"}),
        ("refused", {"refused"}),
        ("unverified", {"unverified"}),
        ("waited-for", {"waited-for"}),
    ],
)
def test_the_list_of_quotas_answers(question: str, keys: set[str]) -> None:
    quotas_of_all_kinds(database_now())
    response = chief().get(list_of("quota", f"?show={question}"))
    assert {quota.key for quota in response.context["cl"].result_list} == keys


def test_a_ledger_is_read_for_one_quota_and_found_by_key_owner_and_charge() -> None:
    mail, sms = make_quota(key="mail"), make_quota(key="sms")
    entry = charge(mail, 5, owner="run:7", idempotency_key="letter 1")
    charge(sms, 6, owner="run:8")
    client = chief()
    of_mail = set(mail.entries.values_list("pk", flat=True))
    assert set(listed(client.get(list_of("ledgerentry", f"?quota={mail.pk}")))) == of_mail
    assert set(listed(client.get(list_of("ledgerentry", "?q=mai")))) == of_mail
    for term in ("run:7", "letter 1"):
        assert listed(client.get(list_of("ledgerentry", f"?q={term}"))) == [entry.pk]
    assert listed(client.get(list_of("ledgerentry", "?q=nobody"))) == []
    assert len(listed(client.get(list_of("ledgerentry", "?quota=x")))) == 4


def test_a_reservation_says_what_it_took_and_until_when_it_holds() -> None:
    now = database_now()
    quota = make_quota(unit="calls")
    held = reserving.reserve(quota.key, 5, now=now, owner="run:1", lease=9 * MINUTE)
    reserving.settle(reserving.reserve(quota.key, 7, now=now, owner="run:2").pk, 3, now=now)
    client = chief()
    assert "settled 7 calls 3 run:2" in text_of(client.get(list_of("reservation")))
    assert listed(client.get(list_of("reservation", "?q=run:1"))) == [held.pk]
    assert Reservation.objects.count() == 2


# --- who may look --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_who_may_only_look_sees_lists_and_pages(model: str) -> None:
    make_history(1)
    client = viewer()
    response = client.get(list_of(model))
    assert response.status_code == 200
    assert client.get(page_of(response.context["cl"].result_list[0])).status_code == 200
