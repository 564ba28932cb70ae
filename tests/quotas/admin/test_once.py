"""Money-like actions act once, however often they are sent, and not on what has changed meanwhile."""

from threading import Barrier, Thread

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Quota
from tests.panel import asked_by, chief, text_of, told
from tests.quotas.admin.desk import charge, confirm, make_daily, make_quota, page_of, snapshot

pytestmark = pytest.mark.django_db


def test_a_confirmation_that_is_sent_twice_tops_up_once() -> None:
    quota, client = make_quota(1000), chief()
    address = page_of(quota, "action", "top-up")
    post = asked_by(client.get(address), amount="500", reason="Invoice 114")
    first, second = client.post(address, post), client.post(address, post)
    assert (first.status_code, second.status_code) == (302, 302)
    assert told(second)[-1] == "That was done already, and nothing was done a second time."
    quota.refresh_from_db()
    assert quota.limit == 1500
    assert LogEntry.objects.count() == 1
    anew = confirm(client, quota, "top-up", amount="500", reason="Invoice 115")
    assert told(anew)[-1] == "Topped up by 500: the limit is 2,000."


def test_a_confirmation_that_is_sent_twice_resets_once() -> None:
    quota, client = make_daily(100, used=30), chief()
    address = page_of(quota, "action", "reset-now")
    post = asked_by(client.get(address), reason="Ticket 7")
    client.post(address, post)
    charge(quota, 10)
    assert told(client.post(address, post))[-1] == "That was done already, and nothing was done a second time."
    assert Quota.objects.get().used == 10


@pytest.mark.parametrize(("name", "field"), [("top-up", "amount"), ("set-limit", "limit")])
def test_the_same_page_sent_with_another_amount_is_refused(name: str, field: str) -> None:
    quota, client = make_quota(1000), chief()
    address = page_of(quota, "action", name)
    post = asked_by(client.get(address), **{field: "500", "reason": "x"})
    client.post(address, post)
    before = snapshot()
    response = client.post(address, post | {field: "600"})
    assert told(response)[-1] == (
        "This page was sent before, with another amount. Open the action again to do it once more."
    )
    assert snapshot() == before


def test_a_limit_that_somebody_else_has_changed_meanwhile_is_shown_again_instead_of_set() -> None:
    quota, client = make_quota(1000), chief()
    address = page_of(quota, "action", "set-limit")
    post = asked_by(client.get(address), limit="2000", reason="more")
    charging.set_limit(quota.key, 10, now=database_now(), actor="bob")
    response = client.post(address, post)
    assert response.status_code == 409
    assert "Its limit is 10, and 10 are available." in text_of(response)
    quota.refresh_from_db()
    assert quota.limit == 10
    assert client.post(address, asked_by(response, limit="2000", reason="more")).status_code == 302
    quota.refresh_from_db()
    assert quota.limit == 2000


def test_what_is_spent_meanwhile_does_not_matter() -> None:
    quota, client = make_quota(1000), chief()
    address = page_of(quota, "action", "top-up")
    post = asked_by(client.get(address), amount="5", reason="x")
    charge(quota, 700)
    assert client.post(address, post).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_of_four_that_arrive_at_once_one_tops_up() -> None:
    quota = make_quota(1000, parent=make_quota(None))
    client = chief()
    address = page_of(quota, "action", "top-up")
    post = asked_by(client.get(address), amount="500", reason="Invoice 114")
    start, statuses = Barrier(4), []

    def send() -> None:
        browser = Client()
        browser.cookies = client.cookies
        start.wait()
        try:
            statuses.append(browser.post(address, post).status_code)
        finally:
            connection.close()

    threads = [Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [302] * 4
    quota.refresh_from_db()
    assert (quota.limit, quota.entries.filter(kind="top_up").count()) == (1500, 1)
