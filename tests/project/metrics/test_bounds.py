"""A scrape costs the same whatever the rows, has no more series than that, and shows nobody's secrets or numbers."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from alerts.recording import raise_alert
from alerts.states import AlertState, DeliveryState
from project.beat import SCANS
from project.kit.clock import database_now
from project.metrics import alerts as alert_metrics
from project.metrics import polling, quotas, runs, schedules
from project.scans import mark
from scheduler.polling.models import Card
from scheduler.polling.queue import Queue
from scheduler.states import FireOutcome, RunState
from tests.alerts.factories import make_channel, problem
from tests.project.metrics.scraping import Scraped, text_of_scrape
from tests.project.metrics.test_figures import fleet, record_fires
from tests.quotas.factories import make_quota
from tests.scheduler.factories import make_run, make_schedule
from tests.scheduler.polling.factories import iccid
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

SECRET = "s3cr3t-of-the-house"


def make_everything(number: int) -> None:
    """Insert some of whatever is counted, under names that no other number has."""
    now = database_now()
    for state in RunState:
        make_run(state, now=now)
    record_fires(make_schedule(now=now), FireOutcome.STARTED, 3)
    make_quota(100, key=f"quota {number}", now=now)
    make_channel(name=f"channel {number}", address=f"https://hooks.example.org/{SECRET}")
    raise_alert(problem(f"run {number}", title=f"Password {SECRET}"), now=now)
    fleet(f"account {number}", 2)
    mark(list(SCANS)[number], by="a worker")


def test_a_scrape_asks_as_often_for_many_rows_as_for_few(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    round_trips = []
    send = Queue._send
    monkeypatch.setattr(Queue, "_send", lambda queue, commands: round_trips.append(1) or send(queue, commands))

    def asked() -> tuple[int, int]:
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            text_of_scrape(settings)
        return len(queries), len(round_trips)

    make_everything(0)
    asked()  # the scripts are known from here on
    few = asked()
    for number in range(1, 6):
        make_everything(number)
    assert asked() == few == (16, 1)  # the clock, schedules 2, runs 4, quotas 2, alerts 4, scans 2, accounts 1


def test_no_more_have_series_of_their_own_than_are_allowed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        make_everything(number)
    most = {"quotas": quotas, "channels": alert_metrics, "accounts": polling}
    assert Scraped(settings).by("tideline_more_than_shown", "of") == {}
    for part in most.values():
        monkeypatch.setattr(part, "MOST_SHOWN", 2)
    scraped = Scraped(settings)
    assert scraped.by("tideline_more_than_shown", "of") == dict.fromkeys(most, 1)
    for name in ("tideline_quota_used", "tideline_channel_failures", "tideline_polling_calls_total"):
        assert len(scraped.series(name)) == 2


def test_history_is_not_counted_to_its_end(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (runs, schedules):
        monkeypatch.setattr(part, "MOST_ROWS", 2)
    make_everything(0)
    scraped = Scraped(settings)
    assert scraped("tideline_fires_lately", outcome="started") == 2
    assert scraped("tideline_attempts_begun_lately") == 2
    assert sum(scraped.by("tideline_runs_ended_lately", "state").values()) == 2


def test_every_label_but_names_says_one_of_few_words(settings: Settings) -> None:
    for number in range(3):
        make_everything(number)
    words: dict[str, set[str]] = {}
    for family in Scraped(settings).families.values():
        for sample in family.samples:
            for label, said in sample.labels.items():
                words.setdefault(label, set()).add(said)
    names = {label: words.pop(label) for label in ("quota", "account", "channel")}
    assert names["account"] == {"account 0", "account 1", "account 2"}
    states = {*RunState.values, *DeliveryState.values, *AlertState.values}
    assert words.pop("state") <= states
    assert set(words) == {"outcome", "statistic", "severity", "verdict", "standing", "scan", "by", "queue", "of"}
    assert all(len(said) <= len(SCANS) for said in words.values())


def test_neither_secrets_nor_card_numbers_are_shown(settings: Settings) -> None:
    make_everything(0)
    number = iccid(7)
    quota = make_quota(10, key=f"card:{number}", now=database_now())
    account = fleet(f"the account of {number}", 1)
    text = text_of_scrape(settings)
    assert SECRET not in text
    assert f'quota="#{quota.pk}"' in text
    assert f'account="#{account.pk}"' in text
    assert number not in text
    assert all(card not in text for card in Card.objects.values_list("iccid", flat=True))
