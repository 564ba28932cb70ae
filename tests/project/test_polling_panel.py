"""The home page's panel of the polling: few lines, the worst first, and no matter what Redis does."""

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags
from redis.exceptions import TimeoutError as RedisHangs

from alerts.recording import raise_alert
from project import polling_panel
from project.kit.clock import database_now
from scheduler.polling import connecting, failures
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue
from scheduler.polling.queue.keys import key_of
from scheduler.polling.states import ErrorClass
from tests.alerts.factories import problem
from tests.panel import chief
from tests.scheduler.polling.factories import HOUR, make_account, make_cards
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import put_in_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

HOME = reverse("admin:index")


def fleet(name: str, cards: int = 1, **params: Any) -> CarrierAccount:
    """Insert an account whose cards are all due."""
    account = make_account(name=name)
    PollingParams.objects.create(account=account, changed_at=account.created_at, **params)
    make_cards(account, cards)
    put_in_order(account)
    return account


def panel() -> list[dict[str, str]]:
    """Return what the lines say."""
    shown = chief().get(HOME).context["home"]["polling"]
    return [{name: unescape(strip_tags(str(cell))) for name, cell in line.items()} for line in shown]


def test_where_there_is_no_account_there_is_no_panel() -> None:
    page = chief().get(HOME)
    assert page.context["home"]["polling"] == []
    assert "Carrier polling" not in page.content.decode().split('id="content-main"')[1].split("narrow-navigation")[0]


def test_a_line_says_how_an_account_stands_and_what_waits() -> None:
    account = fleet("acme", 3)
    client = connecting.client()
    second = int(client.time()[0]) - 1
    client.hset(key_of(account.pk, "traffic"), second % 64, f"{second} 150")
    (line,) = panel()
    assert line["account"] == "acme"
    assert line["standing"] == "polled"
    assert [line[name].strip() for name in ("due", "in_work", "alerts")] == ["3", "0", "0"]
    assert line["calls"].endswith("2.5 of 5/s")


def test_the_worst_come_first_and_no_more_than_fit() -> None:
    names = [f"fine {number}" for number in range(polling_panel.LINES)]
    for name in names:
        fleet(name)
    fleet("behind", 5)
    fleet("failing")
    raise_alert(problem("a card", kind=failures.CARD_CHECK_FAILING, labels={"account": "failing"}), now=database_now())
    held = {"held_until": database_now() + HOUR, "held_class": ErrorClass.THROTTLED}
    CarrierAccount.objects.filter(pk=fleet("held").pk).update(**held)
    make_account(name="without an order")
    make_account(name="off", active=False)
    shown = [line["account"] for line in panel()]
    assert shown == ["without an order", "held", "failing", "behind", *names][: polling_panel.LINES]


def test_where_redis_hangs_the_rows_alone_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet("acme", 3)

    def hang(*arguments: Any) -> None:
        raise RedisHangs

    monkeypatch.setattr(Queue, "_send", hang)
    (line,) = panel()
    assert (line["account"], line["standing"], line["calls"], line["due"]) == ("acme", "not known", "–", "–")


def test_the_panel_asks_two_queries_whatever_there_is() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            polling_panel.lines(now)
        return len(asked)

    now = database_now()
    fleet("first")
    assert queries() == 2
    for number in range(12):
        fleet(f"account {number}", 2)
    assert queries() == 2


def test_who_may_not_see_accounts_sees_no_panel() -> None:
    fleet("acme")
    client = Client()
    client.force_login(User.objects.create_user("somebody", is_staff=True))
    assert "polling" not in client.get(HOME).context["home"]
