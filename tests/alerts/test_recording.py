"""Raising and resolving: one open alert a problem, told once, in the caller's transaction."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from alerts.attention import Attention, tell
from alerts.models import Alert, Delivery, Event
from alerts.recording import acknowledge, raise_alert, raise_alerts, resolve_alert, resolve_alerts
from alerts.states import AlertState, Severity
from tests.alerts.factories import make_channel, make_silence, problem, tellings
from tests.races.helpers import PATIENCE_SECONDS, all_at_once, in_the_background
from tests.scheduler.factories import NOW

FAILED = "run_failed:run:1"
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.django_db


# --- one open alert --------------------------------------------------------------------------------------------------


def test_a_problem_that_occurs_again_is_counted_and_told_once() -> None:
    make_channel()
    first = raise_alert(problem(), now=NOW)
    again = raise_alert(problem(sentence="It failed otherwise.", severity=Severity.CRITICAL), now=NOW + MINUTE)
    assert again.pk == first.pk
    alert = Alert.objects.get()
    assert (alert.count, alert.first_at, alert.last_at) == (2, NOW, NOW + MINUTE)
    assert (alert.sentence, alert.severity) == ("It failed otherwise.", "critical")
    assert tellings() == ["opened"]
    assert Delivery.objects.count() == 1


def test_an_occurrence_that_is_told_late_does_not_set_the_last_one_back() -> None:
    raise_alert(problem(), now=NOW)
    raise_alert(problem(), now=NOW - MINUTE)
    assert Alert.objects.get().last_at == NOW


def test_a_problem_that_comes_again_after_its_end_is_a_new_alert() -> None:
    raise_alert(problem(), now=NOW)
    assert resolve_alert(FAILED, now=NOW + MINUTE)
    raise_alert(problem(), now=NOW + 2 * MINUTE)
    assert list(Alert.objects.order_by("id").values_list("state", "count")) == [("resolved", 1), ("open", 1)]


@pytest.mark.django_db(transaction=True)
def test_case_62_of_two_who_raise_at_once_the_second_waits_and_counts() -> None:
    make_channel()
    goes_on = threading.Event()

    def raise_and_wait() -> None:
        with transaction.atomic():
            raise_alert(problem(), now=NOW)
            raised.set()
            goes_on.wait(PATIENCE_SECONDS)

    raised = threading.Event()
    with in_the_background(raise_and_wait):
        assert raised.wait(PATIENCE_SECONDS)
        with in_the_background(lambda: raise_alert(problem(), now=NOW)) as second:
            second.wait_until_it_waits()
            goes_on.set()
    assert Alert.objects.get().count == 2
    assert tellings() == ["opened"]
    assert Delivery.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_case_62_of_many_who_raise_and_resolve_at_once_each_opening_is_told_once() -> None:
    make_channel()
    rivals = [lambda: raise_alert(problem(), now=NOW)] * 4 + [lambda: resolve_alert(FAILED, now=NOW)] * 2
    all_at_once(*rivals)
    assert Alert.objects.filter(resolved_at=None).count() <= 1
    assert sum(Alert.objects.values_list("count", flat=True)) == 4
    assert Event.objects.filter(telling="opened").count() == Alert.objects.count()
    assert Event.objects.filter(telling="recovered").count() == Alert.objects.exclude(resolved_at=None).count()


def test_many_problems_are_raised_as_each_alone() -> None:
    make_channel()
    raise_alert(problem("run_failed:run:2"), now=NOW)
    alerts = raise_alerts([problem(f"run_failed:run:{number}") for number in (3, 2, 1)], now=NOW + MINUTE)
    assert [(alert.fingerprint, alert.count, alert.first_at) for alert in alerts] == [
        ("run_failed:run:3", 1, NOW + MINUTE),
        ("run_failed:run:2", 2, NOW),
        ("run_failed:run:1", 1, NOW + MINUTE),
    ]
    assert tellings() == ["opened"] * 3
    assert all(alert.told_at and not alert.untold for alert in alerts)


def test_the_same_problem_several_times_at_once_is_counted_so_often_and_told_once() -> None:
    make_channel()
    said = [("It failed.", "warning"), ("Badly.", "critical"), ("Again.", "info")]
    same = [problem(sentence=sentence, severity=Severity(severity)) for sentence, severity in said]
    for times in (3, 6):
        [alert] = raise_alerts(same, now=NOW)
        assert (alert.count, alert.sentence, alert.severity) == (times, "Again.", "critical")
    assert tellings() == ["opened"]
    assert raise_alerts([], now=NOW) == []


class CallerFailed(Exception):
    """What undoes a transaction in these tests."""


def undone(function: Callable[[], object]) -> None:
    """Call the function in a transaction that is rolled back."""
    with suppress(CallerFailed), transaction.atomic():
        function()
        raise CallerFailed


def test_alerts_are_written_with_what_the_caller_writes_or_not_at_all() -> None:
    make_channel()
    undone(lambda: raise_alert(problem(), now=NOW))
    assert not Alert.objects.exists()
    assert not Event.objects.exists()
    assert not Delivery.objects.exists()
    raise_alert(problem(), now=NOW)
    undone(lambda: resolve_alert(FAILED, now=NOW))
    assert Alert.objects.get().state == AlertState.OPEN
    assert tellings() == ["opened"]


def test_what_a_person_should_know_of_becomes_an_alert() -> None:
    attention = Attention(
        "run_failed", FAILED, "#1 nightly", "It failed.", NOW, key="run:1", labels={"name": "nightly"}, url="/admin/1/"
    )
    tell(attention)
    alert = Alert.objects.get()
    assert (alert.kind, alert.fingerprint, alert.title, alert.subject) == ("run_failed", FAILED, "#1 nightly", "run:1")
    assert (alert.labels, alert.url, alert.severity) == ({"name": "nightly"}, "/admin/1/", "warning")


# --- its end ---------------------------------------------------------------------------------------------------------


def test_resolving_twice_is_once() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    assert resolve_alert(FAILED, now=NOW + MINUTE)
    assert not resolve_alert(FAILED, now=NOW + 2 * MINUTE)
    alert = Alert.objects.get()
    assert (alert.state, alert.resolved_at, alert.resolved_by) == ("resolved", NOW + MINUTE, "")
    assert tellings() == ["opened", "recovered"]


def test_who_resolved_it_is_kept_and_told() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    resolve_alert(FAILED, now=NOW, actor="ada", successes_needed=5)
    assert Alert.objects.get().resolved_by == "ada"
    assert Event.objects.get(telling="recovered").text == "Resolved by ada."


def test_case_58_one_good_result_does_not_end_what_needs_several_in_a_row() -> None:
    make_channel()
    raise_alert(problem(), now=NOW)
    assert not resolve_alert(FAILED, now=NOW, successes_needed=2)
    raise_alert(problem(), now=NOW)
    assert not resolve_alert(FAILED, now=NOW, successes_needed=2)
    assert tellings() == ["opened"]
    assert resolve_alert(FAILED, now=NOW, successes_needed=2)
    assert Alert.objects.get().count == 2
    assert tellings() == ["opened", "recovered"]


def test_case_58_each_of_many_has_to_be_well_so_often_in_a_row() -> None:
    make_channel()
    raise_alerts([problem("card_failing:1"), problem("card_failing:2")], now=NOW)
    both = ["card_failing:1", "card_failing:2"]
    assert resolve_alerts(both, now=NOW, successes_needed=3) == 0
    raise_alert(problem("card_failing:2"), now=NOW)
    assert resolve_alerts(both, now=NOW, successes_needed=3) == 0
    assert resolve_alerts(both, now=NOW, successes_needed=3) == 1
    assert resolve_alerts(both, now=NOW, successes_needed=3) == 1
    assert tellings() == ["opened"] * 2 + ["recovered"] * 2


def test_several_are_resolved_at_once() -> None:
    for number in range(3):
        raise_alert(problem(f"run_failed:run:{number}"), now=NOW)
    assert resolve_alerts([FAILED, "run_failed:run:2", "run_failed:run:7"], now=NOW) == 2
    assert Alert.objects.get(resolved_at=None).fingerprint == "run_failed:run:0"


def test_somebody_sees_to_it_only_while_it_is_open() -> None:
    alert = raise_alert(problem(), now=NOW)
    assert acknowledge(alert.pk, actor="ada", note="I look.")
    assert not acknowledge(alert.pk, actor="bob")
    alert.refresh_from_db()
    assert (alert.state, alert.handler, alert.note) == ("acknowledged", "ada", "I look.")
    assert resolve_alert(FAILED, now=NOW)


# --- its words -------------------------------------------------------------------------------------------------------


def test_secrets_are_masked_before_they_are_stored() -> None:
    make_channel()
    secret = "POST https://hooks.example.org/s3cret failed, password=s3cret"
    raise_alert(problem(title=secret, sentence=secret), now=NOW)
    resolve_alert(FAILED, now=NOW, sentence=secret)
    stored = [*Alert.objects.values_list("title", "sentence"), *Event.objects.values_list("title", "text")]
    assert "s3cret" not in str(stored)
    assert "hooks.example.org" in str(stored)


def test_a_long_text_is_cut_where_no_character_breaks() -> None:
    family = "👨‍👩‍👧‍👦"
    alert = raise_alert(problem(title=family * 100, sentence=family * 1000), now=NOW)
    for words, longest in ((alert.title, 300), (alert.sentence, 2000)):
        assert len(words) <= longest
        assert words == family * words.count(family) + "…"


def test_a_secret_at_the_cut_is_masked() -> None:
    sentence = "x" * 1960 + " see https://hooks.example.org/services/s3cret/" + "s3cret" * 100
    assert "s3c" not in raise_alert(problem(sentence=sentence), now=NOW).sentence


@pytest.mark.parametrize(
    "fields",
    [
        {"sentence": "a\x00b\ud800"},
        {"title": "a\x00\nb\ud800"},
        {"labels": {"name\x00": "\x00\ud800"}},
        {"url": "/x" * 1000},
        {"fingerprint": "card_failing:" + "x" * 1000},
        {"parent": "account_failing:" + "x" * 1000},
        {"title": "", "sentence": ""},
    ],
)
def test_odd_words_undo_nothing_of_the_callers(fields: dict[str, Any]) -> None:
    fingerprint = fields.pop("fingerprint", FAILED)
    for _ in range(2):
        raise_alert(problem(fingerprint, **fields), now=NOW)
    assert Alert.objects.get().count == 2
    assert resolve_alert(fingerprint, now=NOW)


def test_a_long_reason_or_a_parents_long_title_fits() -> None:
    raise_alert(problem("account_failing:1", title="x" * 400), now=NOW)
    raise_alert(problem("card_failing:1", parent="account_failing:1"), now=NOW)
    make_silence(reason="x" * 300)
    raise_alert(problem(), now=NOW)
    assert sorted(len(untold) for untold in Alert.objects.values_list("untold", flat=True)) == [0, 300, 300]
