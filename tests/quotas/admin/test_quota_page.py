"""The page of a quota: where it stands, how long it lasts, who waits and when each goes on, and what happened to it."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from project.kit.clock import database_now
from quotas import charging, reserving
from quotas.models import Edge, ProviderReport, Quota
from tests.panel import chief, text_of
from tests.quotas.admin.desk import (
    HOUR,
    MINUTE,
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


def shown(quota: Quota, client: Client | None = None) -> str:
    """Return the text of the quota's page."""
    return text_of((client or chief()).get(page_of(quota) + "?fragment"))


def test_the_facts_stand_on_top() -> None:
    quota = make_daily(1000, used=400, unit="calls", timezone="Asia/Shanghai", title="Maps")
    reserving.reserve(quota.key, 50, now=database_now(), owner="run:1")
    text = shown(quota)
    assert text.startswith("Maps sufficient since ")
    assert "550 / 1,000 calls available" in text
    assert f"Limit 1,000 calls Used 400 calls Reserved 50 calls Comes back each day at {quota.reset_time:%H:%M}" in text
    assert f"Next reset {quota.period_end:%Y-%m-%d %H:%M} in " in text
    local = quota.period_end + timedelta(hours=8) if quota.period_end else None
    assert f"By its own clock {local:%Y-%m-%d %H:%M} Asia/Shanghai" in text


def test_a_reset_that_no_scan_has_noticed_counts_already() -> None:
    now = database_now()
    quota = make_daily(100, used=100)
    Quota.objects.filter(pk=quota.pk).update(period_start=now - 30 * HOUR, period_end=now - 6 * HOUR)
    text = shown(quota)
    assert "100 / 100 available" in text
    assert "Used 0" in text
    assert "owes" not in text


def test_a_rate_says_when_it_is_full_again() -> None:
    assert "Comes back 1 each 1 s Full again" in shown(make_rate(100, used=50))


def test_an_insufficient_quota_says_what_has_to_happen() -> None:
    now = database_now()
    topped_up, blocked, refused = make_quota(100, used=100), make_quota(0), make_quota(100, used=100)
    unverified, unknown = make_quota(100, used=100), make_quota(100, used=100)
    Quota.objects.filter(pk=refused.pk).update(blocked_until=now + HOUR, blocked_count=3)
    Quota.objects.filter(pk=unknown.pk).update(blocked_until=now + HOUR, blocked_without_reset=True)
    Quota.objects.filter(pk=unverified.pk).update(provider_unverified=True, trial_owner="run:9")
    assert "once more than 10 are available. Top it up, or set its limit." in shown(topped_up)
    assert "insufficient blocked" in shown(blocked)
    assert "Its limit is 0: nothing goes on before somebody raises it." in shown(blocked)
    assert "Its provider refuses. Work goes on when the provider has been seen to answer again." in shown(refused)
    assert "Refusals in a row 3" in shown(refused)
    assert "does not say until when" in shown(unknown)
    assert "Refused until, by our guess" in shown(unknown)
    assert "One run at a time tries whether the provider answers again." in shown(unverified)
    assert "Tried by run:9" in shown(unverified)


def test_what_the_provider_said_is_shown_with_what_made_no_sense() -> None:
    now = database_now()
    quota = make_quota(100)
    Quota.objects.filter(pk=quota.pk).update(
        provider_remaining=30, provider_limit=90, provider_resets_at=now + HOUR, provider_observed_at=now
    )
    ProviderReport.objects.create(quota=quota, at=now, limited=True, status=429, doubts="“soon” is no time.")
    text = shown(quota)
    assert "Remaining 30 Limit 90 Resets" in text
    assert "refused 429" in text
    assert "“soon” is no time." in text


def test_shadow_mode_says_how_many_would_have_been_refused() -> None:
    quota = make_quota(10, shadow=True)
    for _ in range(3):
        charge(quota, 5)
    text = shown(quota)
    assert "Shadow mode: it blocks nothing. 1 charge would have been refused." in text
    assert "It owes 5: more is used than its limit." in text
    assert "charge over the limit −5" in text


def test_the_warning_that_was_told_is_shown() -> None:
    assert "80 % of it is used; that was told." in shown(make_quota(100, used=85))


def test_a_forecast_is_shown_where_enough_was_spent_and_hidden_where_little_is_known() -> None:
    now = database_now()
    busy, idle = make_quota(1000, now=now - 6 * HOUR), make_quota(1000, used=10)
    for number in range(6):
        charge(busy, 20, now=now - (5 - number) * HOUR + MINUTE)
    assert "Lasts until " in shown(busy)
    assert "at the rate of the last hours (24 an hour)." in shown(busy)
    assert "at the rate of" not in shown(idle)


# --- who waits -----------------------------------------------------------------------------------------------------


def test_who_waits_stands_in_the_order_in_which_it_goes_on_with_when_and_why() -> None:
    quota = make_daily(100, used=95)
    first, second, third = wait_for(quota, 60, 60, 30)
    (held,) = wait_for(quota, 1, held="A person has to agree.")
    text = shown(quota)
    order = [text.index(work.title) for work in (first, second, third, held)]
    assert order == sorted(order)
    back = f"{quota.period_end:%Y-%m-%d %H:%M}"
    later = f"{quota.period_end + timedelta(days=1):%Y-%m-%d %H:%M}" if quota.period_end else ""
    assert f"{first.title} “{quota.key}” lacks 55 of the 60 that it needs. 60 {back}" in text
    assert f"60 {later} in 1 d" in text  # behind the first one, the next period is not enough
    assert f"{held.title} A person has to agree. 1 held" in text


def test_what_fits_goes_on() -> None:
    quota = make_quota(100)
    (work,) = wait_for(quota, 60)
    assert f"{work.title} Its budget is used up. 60 goes on" in shown(quota)


def test_a_quota_shows_what_waits_for_its_parts_and_the_parts() -> None:
    parent = make_quota(100, used=100)
    part = make_quota(50, parent=parent, key="the-part")
    (work,) = wait_for(part, 5)
    text = shown(parent)
    assert work.title in text
    assert "Parts of it the-part" in text
    assert f"Part of {parent.key}" in shown(part)


# --- what happened -------------------------------------------------------------------------------------------------


def test_what_people_did_stands_in_the_ledger_with_who_and_why() -> None:
    quota = make_quota(100, used=30)
    charging.top_up(quota.key, 500, now=database_now(), actor="ada", reason="Invoice 114")
    text = shown(quota)
    assert "top-up +500 ada: Invoice 114" in text
    assert list_of("ledgerentry", f"?quota={quota.pk}") in chief().get(page_of(quota)).content.decode()


def test_a_charge_that_came_through_a_part_says_so() -> None:
    parent = make_quota()
    part = make_quota(parent=parent, key="the-part")
    charge(part, 7, owner="run:5")
    assert "charge −7 run:5 through the-part" in shown(parent)


def test_a_run_that_was_charged_is_a_link_to_its_page_and_who_has_no_page_is_a_name() -> None:
    quota = make_quota()
    entry = charge(quota, 7, owner="run:5")
    charge(quota, 8, owner="script 5")
    client = chief()
    run = reverse("admin:scheduler_taskrun_change", args=[5])
    for address in (page_of(quota), page_of(entry), list_of("ledgerentry")):
        assert f'<a href="{run}">run:5</a>' in client.get(address).content.decode()
    assert "charge −8 script 5" in shown(quota)


def test_edges_and_reservations_are_shown() -> None:
    now = database_now()
    quota = make_quota()
    Edge.objects.create(quota=quota, cause="reset", available=1000, at=now, handled_at=now, resumed_count=12)
    reserving.reserve(quota.key, 5, now=now, owner="run:3")
    text = shown(quota)
    assert re.search(r"Resumed (now|\d+ s ago) reset 1,000 (now|\d+ s ago) 12", text)
    assert "held 5 run:3" in text


def test_the_page_asks_as_often_for_a_long_history_as_for_a_short_one() -> None:
    def queries_of(quota: Quota) -> int:
        client = chief()
        client.get(page_of(quota))
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page_of(quota)).status_code == 200
        return len(captured)

    def with_history(count: int) -> Quota:
        quota = make_quota(10_000, parent=make_quota(None))
        for _ in range(count):
            charge(quota, 1)
            make_quota(parent=quota)
            reserving.reserve(quota.key, 1, now=database_now())
            Edge.objects.create(quota=quota, cause="reset", at=database_now())
            wait_for(quota, 5)
        return quota

    assert queries_of(with_history(1)) == queries_of(with_history(12))


# --- who may, and what nobody sees ---------------------------------------------------------------------------------


def test_who_may_only_look_gets_no_button_that_writes() -> None:
    quota = make_quota()
    page = viewer().get(page_of(quota)).content.decode()
    assert page_of(quota, "simulate") in page
    assert "/do/" not in page
    assert page_of(quota, "edit") not in page


def test_who_looks_at_the_page_sees_of_the_usage_endpoint_its_server_alone() -> None:
    text = shown(make_quota(probe_url="https://me:pass@api.example.com/usage?token=very-secret"))
    assert "Usage endpoint https://api.example.com" in text
    assert "very-secret" not in text
    assert "me:pass" not in text


def test_a_probes_headers_are_on_no_page() -> None:
    quota = make_quota(
        probe_url="https://api.example.com/usage",
        probe_headers={"Authorization": "Bearer very-secret"},
        probe_remaining="left",
    )
    client = chief()
    for address in (page_of(quota), page_of(quota, "edit"), page_of(quota, "simulate"), page_of(quota, "history")):
        response = client.get(address)
        assert response.status_code == 200
        assert "very-secret" not in response.content.decode()
