"""What people do with quotas: each action asks first, wants a permission of its own, and is written down."""

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client

from project.kit.clock import database_now
from quotas.models import LedgerEntry, Quota
from tests.panel import asked_by, chief, name_of, text_of, told
from tests.quotas.admin.desk import (
    HOUR,
    charge,
    confirm,
    list_of,
    make_daily,
    make_quota,
    make_rate,
    member,
    page_of,
    snapshot,
    viewer,
)

pytestmark = pytest.mark.django_db


def a_charge() -> LedgerEntry:
    """Charge a quota, and return its entry."""
    return charge(make_quota(100, parent=make_quota(None)), 30, owner="run:1")


def a_used_day() -> Quota:
    """Return a quota of which something is used, and that resets by the clock."""
    return make_daily(100, used=30)


def a_limit() -> LedgerEntry:
    """Return the entry of a quota's limit."""
    return make_quota().entries.get()


# action: what it needs, a row with which it is possible, what is filled in, one with which it is not
ACTIONS: dict[str, tuple[str, Callable[[], Model], dict[str, str], Callable[[], Model] | None]] = {
    "top-up": ("top_up_quota", make_quota, {"amount": "500"}, make_daily),
    "set-limit": ("top_up_quota", make_quota, {"limit": "20"}, None),
    "reset-now": ("top_up_quota", a_used_day, {}, make_daily),
    "check-now": ("change_quota", make_quota, {}, None),
    "refund": ("refund_quota", a_charge, {"amount": ""}, a_limit),
}
PERMISSIONS = ("top_up_quota", "change_quota", "refund_quota", "add_quota")


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize("name", ACTIONS)
def test_each_action_wants_its_own_permission(name: str, permission: str) -> None:
    needed, possible, values, _ = ACTIONS[name]
    row, client = possible(), viewer(permission)
    address = page_of(row, "action", name)
    before = snapshot()
    asked, page = client.get(address), client.get(page_of(row)).content.decode()
    if permission == needed:
        assert address in page
        assert client.post(address, asked_by(asked, reason="why not", **values)).status_code == 302
        assert snapshot() != before
    else:
        assert address not in page
        assert (asked.status_code, client.post(address, {"reason": "x", **values}).status_code) == (403, 403)
        assert snapshot() == before


@pytest.mark.parametrize("name", ACTIONS)
def test_who_is_not_logged_in_or_may_not_even_look_gets_nowhere(name: str) -> None:
    needed, possible, values, _ = ACTIONS[name]
    row = possible()
    before = snapshot()
    blind = member(needed if needed != "change_quota" else "top_up_quota")  # who may change it may look at it
    for client, status in ((Client(), 302), (blind, 403)):
        for response in (
            client.get(page_of(row, "action", name)),
            client.post(page_of(row, "action", name), {"seen": "", "reason": "x", **values}),
        ):
            assert response.status_code == status
    assert snapshot() == before


def test_pages_want_their_permission() -> None:
    quota = make_quota()
    expected = {
        page_of(quota): (302, 403, 200),
        page_of(quota, "simulate"): (302, 403, 200),
        page_of(quota, "edit"): (302, 403, 403),
        list_of("quota") + "add/": (302, 403, 403),
        list_of("ledgerentry"): (302, 403, 200),
    }
    for address, statuses in expected.items():
        seen = tuple(client.get(address).status_code for client in (Client(), member("refund_quota"), viewer()))
        assert seen == statuses, address


# --- asking first --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACTIONS)
def test_asking_changes_nothing_and_says_what_will_happen(name: str) -> None:
    row = ACTIONS[name][1]()
    before = snapshot()
    page = chief().get(page_of(row, "action", name))
    assert len(page.context["consequences"]) >= 2
    assert snapshot() == before


@pytest.mark.parametrize("name", [name for name, (*_, impossible) in ACTIONS.items() if impossible])
def test_what_is_not_possible_is_refused_with_a_sentence(name: str) -> None:
    impossible = ACTIONS[name][3]
    assert impossible is not None
    row, client = impossible(), chief()
    before = snapshot()
    response = client.post(page_of(row, "action", name), {"seen": "", "reason": "x"})
    assert (response.status_code, response.headers["Location"]) == (302, page_of(row))
    assert len(told(response)) == 1
    assert snapshot() == before
    assert page_of(row, "action", name) not in client.get(page_of(row)).content.decode()


@pytest.mark.parametrize(
    ("name", "values", "field", "says"),
    [
        ("top-up", {"amount": ""}, "amount", "This field is required."),
        ("top-up", {"amount": "0"}, "amount", "greater than or equal to 1"),
        ("top-up", {"amount": "1.5"}, "amount", "Enter a whole number."),
        ("top-up", {"amount": "5", "reason": ""}, "reason", "This field is required."),
        ("top-up", {"amount": "5", "once": "x"}, "__all__", "This page is not as it was sent. Open it again."),
        ("set-limit", {"limit": ""}, "limit", "Write the new limit, or tick “Unlimited”."),
        ("set-limit", {"limit": "5", "unlimited": "on"}, "limit", "not both"),
        ("set-limit", {"limit": "-1"}, "limit", "greater than or equal to 0"),
    ],
)
def test_bad_input_is_said_on_its_field_and_nothing_typed_is_lost(
    name: str, values: dict[str, str], field: str, says: str
) -> None:
    quota = make_quota()
    before = snapshot()
    response = confirm(chief(), quota, name, **{"reason": "kept as typed", **values})
    errors = response.context["form"].errors  # type: ignore[attr-defined]
    assert says in " ".join(errors[field])
    assert says in text_of(response)
    assert values.get("reason", "kept as typed") in response.content.decode()
    assert snapshot() == before


def test_a_rate_does_not_become_unlimited() -> None:
    rate = make_rate()
    response = confirm(chief(), rate, "set-limit", unlimited="on", reason="x")
    assert "A rate needs a limit" in text_of(response)


# --- what they do --------------------------------------------------------------------------------------------------


def test_a_top_up_stands_in_the_ledger_with_who_and_why_and_in_the_audit_log() -> None:
    quota, client = make_quota(1000, used=1000, unit="messages"), chief()
    response = confirm(client, quota, "top-up", amount="500", reason="Invoice 114")
    assert told(response) == ["Topped up by 500: the limit is 1,500 messages."]
    entry = quota.entries.get(kind="top_up")
    assert (entry.amount, entry.actor, entry.reason) == (500, name_of(client), "Invoice 114")
    log = LogEntry.objects.get()
    assert (log.user.username, log.object_id, log.get_change_message()) == (
        name_of(client),
        str(quota.pk),
        "Top up: Invoice 114",
    )
    quota.refresh_from_db()
    assert (quota.limit, quota.verdict) == (1500, "sufficient")


def test_a_limit_is_set_to_nothing_or_taken_away() -> None:
    quota, client = make_quota(1000, used=10), chief()
    confirm(client, quota, "set-limit", limit="0", reason="stop")
    quota.refresh_from_db()
    assert (quota.limit, quota.verdict) == (0, "insufficient")
    response = confirm(client, quota, "set-limit", unlimited="on", reason="go")
    assert told(response) == ["The limit is unlimited."]
    quota.refresh_from_db()
    assert (quota.limit, quota.verdict) == (None, "sufficient")
    assert [entry.reason for entry in quota.entries.filter(kind="limit").order_by("pk")] == ["", "stop", "go"]


def test_a_check_judges_anew_and_makes_the_fallback_poll_due() -> None:
    now = database_now()
    quota = make_daily(100, used=100)
    Quota.objects.filter(pk=quota.pk).update(period_start=now - 30 * HOUR, period_end=now - HOUR)
    response = confirm(chief(), quota, "check-now")
    assert told(response) == ["It is sufficient. The fallback poll looks at it now."]
    quota.refresh_from_db()
    assert quota.used == 0
    assert quota.next_check_at is not None
    assert now <= quota.next_check_at <= database_now()


def test_a_charge_is_given_back_once_in_the_quota_and_in_what_it_is_part_of() -> None:
    entry, client = a_charge(), chief()
    response = confirm(client, entry, "refund", amount="20", reason="It was not sent.")
    assert told(response) == [f"Refunded: 20 came back to “{entry.quota.key}”."]
    refunds = LedgerEntry.objects.filter(kind="refund")
    assert [(refund.amount, refund.actor, refund.reason) for refund in refunds] == [
        (20, name_of(client), "It was not sent.")
    ] * 2
    again = client.post(page_of(entry, "action", "refund"), {"seen": "", "amount": "20", "reason": "x"})
    assert told(again)[-1] == "It was refunded already: 20 of 30."
    assert refunds.count() == 2
    assert LogEntry.objects.count() == 1
    assert "Refunded by #" in text_of(client.get(page_of(entry)))


def test_more_than_was_charged_is_not_refunded() -> None:
    entry = a_charge()
    response = confirm(chief(), entry, "refund", amount="31", reason="x")
    assert "At most 30 were charged." in text_of(response)
    assert not LedgerEntry.objects.filter(kind="refund").exists()


def test_a_charge_is_refunded_in_the_quota_that_was_asked() -> None:
    leaf = a_charge()
    in_parent = LedgerEntry.objects.get(charged=leaf.quota, quota=leaf.quota.parent)
    client = chief()
    response = client.post(page_of(in_parent, "action", "refund"), {"seen": "", "reason": "x"})
    assert told(response) == [f"It was charged to “{leaf.quota.key}”; refund it there."]
    assert page_of(leaf.quota) in client.get(page_of(in_parent)).content.decode()
