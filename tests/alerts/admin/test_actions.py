"""What people do with alerts and channels: each action asks first, wants a permission of its own, and is written
down.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models import Model
from django.test import Client

from alerts import recording, testing
from alerts.models import Alert, Channel, Delivery, Event, Silence
from project.kit.clock import database_now
from tests.alerts.admin.desk import (
    TOKEN,
    confirm,
    deliver,
    list_of,
    make_alert,
    make_hook,
    make_silence,
    member,
    page_of,
    viewer,
)
from tests.alerts.factories import AMBIGUOUS, PERMANENT, RETRY, Sender
from tests.panel import asked_by, chief, listed, name_of, text_of, told
from tests.quotas.admin.desk import HOUR

pytestmark = pytest.mark.django_db

LATER = "2999-01-01T06:00"


@pytest.fixture(autouse=True)
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    """What sends the tests, and keeps them."""
    found = Sender()
    monkeypatch.setattr(testing, "send", found)
    return found


def a_resolved_alert() -> Alert:
    alert = make_alert()
    recording.resolve_alert(alert.fingerprint, now=database_now())
    return Alert.objects.get(pk=alert.pk)


def a_channel_that_is_off() -> Channel:
    return make_hook(enabled=False)


# action: what it needs, a row with which it is possible, what is filled in, one with which it is not
ACTIONS: dict[str, tuple[str, Callable[[], Model], dict[str, str], Callable[[], Model] | None]] = {
    "acknowledge": ("handle_alert", make_alert, {}, a_resolved_alert),
    "resolve": ("handle_alert", make_alert, {}, a_resolved_alert),
    "silence": ("add_silence", make_alert, {"covers": "same", "ends_at": LATER}, None),
    "test": ("test_channel", make_hook, {}, None),
    "pause": ("change_channel", make_hook, {}, a_channel_that_is_off),
    "enable": ("change_channel", a_channel_that_is_off, {}, make_hook),
}
PERMISSIONS = ("handle_alert", "add_silence", "test_channel", "change_channel", "add_channel")


def snapshot() -> Any:
    """Return all that an action could change."""
    rows = [list(model._base_manager.order_by("pk").values()) for model in (Alert, Channel, Silence, Event, Delivery)]
    return rows, LogEntry.objects.count()


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize("name", ACTIONS)
def test_each_action_wants_its_own_permission(name: str, permission: str, sender: Sender) -> None:
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
        assert sender.messages == []


@pytest.mark.parametrize("name", ACTIONS)
def test_who_is_not_logged_in_or_may_not_even_look_gets_nowhere(name: str, sender: Sender) -> None:
    needed, possible, values, _ = ACTIONS[name]
    row = possible()
    before = snapshot()
    blind = member(needed if needed != "change_channel" else "test_channel")  # who may change it may look at it
    for client, status in ((Client(), 302), (blind, 403)):
        for response in (
            client.get(page_of(row, "action", name)),
            client.post(page_of(row, "action", name), {"seen": "", "reason": "x", **values}),
        ):
            assert response.status_code == status
    assert snapshot() == before
    assert sender.messages == []


def test_pages_want_their_permission() -> None:
    alert, channel, silence = make_alert(), make_hook(), make_silence()
    expected = {
        page_of(alert): (302, 403, 200),
        page_of(channel): (302, 403, 200),
        page_of(channel, "edit"): (302, 403, 403),
        page_of(silence): (302, 403, 200),
        list_of("alert"): (302, 403, 200),
        list_of("channel"): (302, 403, 200),
        list_of("channel") + "add/": (302, 403, 403),
        list_of("delivery"): (302, 403, 200),
        list_of("delivery") + "add/": (302, 403, 403),
        list_of("silence") + "add/": (302, 403, 403),
    }
    for address, statuses in expected.items():
        seen = tuple(client.get(address).status_code for client in (Client(), member("handle_alert"), viewer()))
        assert seen == statuses, address


# --- asking first --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACTIONS)
def test_asking_changes_nothing_and_says_what_will_happen(name: str, sender: Sender) -> None:
    row = ACTIONS[name][1]()
    before = snapshot()
    page = chief().get(page_of(row, "action", name))
    assert len(page.context["consequences"]) >= 2
    assert snapshot() == before
    assert sender.messages == []


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


def test_what_was_handled_by_somebody_else_meanwhile_is_shown_again() -> None:
    alert, client = make_alert(), chief()
    asked = asked_by(client.get(page_of(alert, "action", "resolve")), reason="mine")
    recording.acknowledge(alert.pk, actor="bob", note="theirs")
    response = client.post(page_of(alert, "action", "resolve"), asked)
    assert response.status_code == 409
    assert "It changed while you were looking at it." in text_of(response)
    alert.refresh_from_db()
    assert (alert.state, alert.note) == ("acknowledged", "theirs")


# --- alerts --------------------------------------------------------------------------------------------------------


def test_who_acknowledges_is_shown_with_the_note_and_stands_in_the_audit_log() -> None:
    alert, client = make_alert(), chief()
    confirm(client, alert, "acknowledge", reason="The disk is full.")
    alert.refresh_from_db()
    assert (alert.state, alert.handler, alert.note) == ("acknowledged", name_of(client), "The disk is full.")
    log = LogEntry.objects.get()
    assert (log.user.username, log.object_id) == (name_of(client), str(alert.pk))
    assert log.get_change_message() == "Acknowledge: The disk is full."
    page = text_of(client.get(page_of(alert)))
    assert "The disk is full." in page
    assert f"{name_of(client)} sees to it." in page


def test_who_resolves_says_why_and_those_who_were_told_are_told() -> None:
    channel = make_hook()
    alert, client = make_alert(), chief()
    deliver(channel)
    refused = confirm(client, alert, "resolve", reason="")
    assert "This field is required." in text_of(refused)
    confirm(client, alert, "resolve", reason="The disk was cleared.")
    alert.refresh_from_db()
    assert (alert.state, alert.resolved_by, alert.note) == ("resolved", name_of(client), "The disk was cleared.")
    event = Event.objects.get(telling="recovered")
    assert event.text == f"Resolved by {name_of(client)}: The disk was cleared."
    assert [delivery.channel for delivery in event.deliveries.all()] == [channel]


def test_several_alerts_are_acknowledged_at_once_and_the_others_skipped() -> None:
    first, second, over = make_alert(), make_alert(), a_resolved_alert()
    client = chief()
    rows = [first, second, over]
    selected = {"action": "acknowledge", "_selected_action": [row.pk for row in rows]}
    page = client.post(list_of("alert"), selected)
    assert "It is resolved; there is nothing to see to." in text_of(page)
    posted = {"reason": "on it", "row": [row.pk for row in rows], **{f"seen-{row.pk}": row.state for row in rows}}
    done = client.post(f"{list_of('alert')}do/acknowledge/", posted)
    assert told(done)[0] == "Acknowledge: done for 2."
    assert "skipped 1" in told(done)[1]
    assert list(Alert.objects.order_by("pk").values_list("state", flat=True)) == [
        "acknowledged",
        "acknowledged",
        "resolved",
    ]


@pytest.mark.parametrize(("covers", "labels"), [("same", {"name": "nightly"}), ("kind", {})])
def test_a_silence_covers_the_alerts_like_until_a_time_with_a_reason(covers: str, labels: dict[str, str]) -> None:
    alert, client = make_alert(), chief()
    response = confirm(client, alert, "silence", covers=covers, ends_at=LATER, reason="Migration")
    assert told(response) == ["Silent until 2999-01-01 06:00:00 UTC."]
    silence = Silence.objects.get()
    assert (silence.kind, silence.labels, silence.reason) == ("run_failed", labels, "Migration")
    assert silence.created_by == name_of(client)
    another = make_alert()
    another.refresh_from_db()
    assert another.untold == "Silenced: Migration"
    assert "Silenced: Migration" in text_of(client.get(page_of(another)))


def test_a_silence_until_a_time_that_is_past_is_refused_on_its_field() -> None:
    alert = make_alert()
    response = confirm(chief(), alert, "silence", covers="same", ends_at="2020-01-01T06:00", reason="Migration")
    assert response.context["form"].errors["ends_at"] == ["“Until” is past. Choose a later time."]  # type: ignore[attr-defined]
    assert "Migration" in response.content.decode()
    assert not Silence.objects.exists()


# --- channels ------------------------------------------------------------------------------------------------------


def test_a_test_is_sent_at_once_and_its_outcome_said(sender: Sender) -> None:
    channel, client = make_hook(), chief()
    response = confirm(client, channel, "test")
    assert told(response) == ["The test message was taken. Look there whether it can be read. Taken."]
    assert sender.told == [("test", "This is a test")]
    assert LogEntry.objects.get().get_change_message() == "Send a test message"
    page = client.get(page_of(channel))
    assert "test This is a test sent" in text_of(page)


@pytest.mark.parametrize("verdict", [PERMANENT, RETRY, AMBIGUOUS])
def test_a_test_that_fails_is_an_answer_with_the_reason(monkeypatch: pytest.MonkeyPatch, verdict: Any) -> None:
    monkeypatch.setattr(testing, "send", Sender(verdict))
    channel, client = make_hook(), chief()
    response = confirm(client, channel, "test")
    assert response.status_code == 302
    assert told(response)[0].endswith(verdict.meaning)
    assert verdict.meaning in text_of(client.get(page_of(channel)))


@pytest.mark.django_db(transaction=True)
def test_a_test_is_sent_after_the_transaction_that_looked_at_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[bool] = []
    monkeypatch.setattr(testing, "send", Sender(during=lambda: inside.append(connection.in_atomic_block)))
    confirm(chief(), make_hook(), "test")
    assert inside == [False]
    assert LogEntry.objects.count() == 1


def test_a_channel_is_turned_off_and_on_under_new_versions() -> None:
    channel, client = make_hook(), chief()
    assert told(confirm(client, channel, "pause", reason="Holiday")) == [f"“{channel.name}” is off."]
    channel.refresh_from_db()
    assert (channel.enabled, channel.version) == (False, 2)
    confirm(client, channel, "enable")
    channel.refresh_from_db()
    assert (channel.enabled, channel.version) == (True, 3)
    assert [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")] == ["Turn off: Holiday", "Turn on"]


def test_an_old_channel_is_turned_off_though_its_address_would_be_refused_now() -> None:
    channel = make_hook(address="http://10.0.0.7/hook", secrets="")
    confirm(chief(), channel, "pause")
    channel.refresh_from_db()
    assert not channel.enabled


# --- silences ------------------------------------------------------------------------------------------------------


def silence_form(**fields: str) -> dict[str, str]:
    return {
        "kind": "run_failed",
        "labels": "",
        "starts_at": "2030-01-01T06:00",
        "ends_at": "2030-01-01T08:00",
        "reason": "Migration",
    } | fields


def test_a_silence_is_added_with_who_made_it() -> None:
    client = chief()
    client.post(list_of("silence") + "add/", silence_form(labels='{"name": "nightly"}'))
    silence = Silence.objects.get()
    assert (silence.labels, silence.created_by) == ({"name": "nightly"}, name_of(client))
    assert silence.ends_at - silence.starts_at == timedelta(hours=2)


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"ends_at": "2030-01-01T06:00"}, "ends_at", "“Until” is not after “From”. Choose a later end."),
        ({"ends_at": "2029-01-01T06:00"}, "ends_at", "“Until” is not after “From”. Choose a later end."),
        ({"ends_at": ""}, "ends_at", "This field is required."),
        ({"reason": ""}, "reason", "This field is required."),
        ({"reason": "   "}, "reason", "This field is required."),
        ({"labels": "[1]"}, "labels", "as a JSON object of texts"),
        ({"labels": '{"a": 1}'}, "labels", "as a JSON object of texts"),
        ({"labels": "{"}, "labels", "Enter a valid JSON."),
    ],
)
def test_what_is_wrong_with_a_silence_stands_on_its_field_alone(fields: dict[str, str], field: str, says: str) -> None:
    response = chief().post(list_of("silence") + "add/", silence_form(**fields))
    errors = response.context["adminform"].form.errors
    assert list(errors) == [field]
    assert says in errors[field][0]
    assert not Silence.objects.exists()


def test_the_list_of_silences_says_which_are_in_force() -> None:
    now = database_now()
    holds = make_silence(kind="run_failed")
    make_silence(starts_at=now - 3 * HOUR, ends_at=now - HOUR)
    make_silence(starts_at=now + HOUR, ends_at=now + 2 * HOUR)
    client = chief()
    text = text_of(client.get(list_of("silence")))
    assert all(said in text for said in ("in force", "over", "to come", "run failed for good", "every kind"))
    assert listed(client.get(list_of("silence", "?show=in-force"))) == [holds.pk]


def test_no_answer_of_an_action_holds_a_secret() -> None:
    channel, client = make_hook(), chief()
    for name in ("test", "pause"):
        asked = client.get(page_of(channel, "action", name))
        assert TOKEN not in asked.content.decode()
        assert TOKEN not in str(told(confirm(client, channel, name)))
