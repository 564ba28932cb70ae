"""Channels over the API: made and changed through the domain, by version, and never showing a secret."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.http import HttpResponse

from alerts import defining, testing
from alerts.channels.base import Verdict
from alerts.models import Channel, Delivery
from project.kit.clock import database_now
from project.kit.secrets import DOTS
from tests.alerts.admin.desk import SIGNING, TOKEN, make_hook
from tests.alerts.factories import AMBIGUOUS, PERMANENT, SENT, Sender
from tests.kit.api.caller import Program, chiefs_program, problem_of
from tests.races.helpers import run_before

pytestmark = pytest.mark.django_db

HOOK = {"name": "ops", "address": "https://hooks.example.org/secret-path", "secrets": SIGNING}


def patched(channel: Channel, said: dict[str, Any], *, version: int | None = None) -> HttpResponse:
    """Change the channel, by its present version unless another is named."""
    tag = f'"{channel.version if version is None else version}"'
    return chiefs_program().patch(f"channels/{channel.pk}/", said, if_match=tag)


# --- secrets ---------------------------------------------------------------------------------------------------------


def test_a_channel_shows_dots_for_its_secrets_wherever_it_is_shown() -> None:
    program = chiefs_program()
    made = program.post("channels/", HOOK)
    assert made.status_code == 201
    one = program.get(f"channels/{made.json()['id']}/")
    for response in (made, one, program.get("channels/"), patched(Channel.objects.get(), {"keyword": "x"})):
        assert b"secret-path" not in response.content
        assert SIGNING.encode() not in response.content
    assert (one.json()["address"], one.json()["secrets"]) == (DOTS, DOTS)
    channel = Channel.objects.get()
    assert (channel.address.reveal(), channel.secrets.reveal()) == (HOOK["address"], SIGNING)


def test_dots_that_are_sent_back_leave_a_secret_as_it_was_and_a_new_one_replaces_it() -> None:
    hook = make_hook()
    assert patched(hook, {"address": DOTS, "secrets": DOTS, "keyword": "x"}).status_code == 200
    assert patched(hook, {"address": "https://hooks.example.org/new"}, version=2).status_code == 200
    channel = Channel.objects.get()
    assert (channel.address.reveal(), channel.secrets.reveal()) == ("https://hooks.example.org/new", SIGNING)


def test_a_new_channel_needs_the_secret_itself() -> None:
    problem = problem_of(chiefs_program().post("channels/", HOOK | {"address": DOTS}), 400)
    assert problem["errors"] == [
        {"field": "address", "sentence": "Write the secret itself: the dots only stand for it."}
    ]


# --- made and changed ------------------------------------------------------------------------------------------------


def test_the_domain_says_what_is_wrong_with_a_channel() -> None:
    said = HOOK | {"address": "https://127.0.0.1/x"}
    assert [error["field"] for error in problem_of(chiefs_program().post("channels/", said), 400)["errors"]] == [
        "address"
    ]
    quiet = problem_of(chiefs_program().post("channels/", HOOK | {"quiet_from": "22:00"}), 400)
    assert quiet["errors"][0] == {
        "field": "quiet_until",
        "sentence": "Quiet hours need both ends: from when and until when.",
    }


def test_names_are_unique() -> None:
    hook = make_hook()
    assert (
        problem_of(chiefs_program().post("channels/", HOOK | {"name": hook.name}), 400)["errors"][0]["field"] == "name"
    )


def test_a_read_tells_the_version_and_a_change_raises_it() -> None:
    hook = make_hook()
    assert chiefs_program().get(f"channels/{hook.pk}/")["ETag"] == '"1"'
    changed = patched(hook, {"keyword": "ops"})
    assert (changed["ETag"], changed.json()["version"], changed.json()["keyword"]) == ('"2"', 2, "ops")


def test_a_change_that_changes_nothing_leaves_the_version_and_the_audit_log() -> None:
    hook = make_hook()
    shown = chiefs_program().get(f"channels/{hook.pk}/").json()
    assert patched(hook, shown)["ETag"] == '"1"'
    assert not LogEntry.objects.exists()
    assert Channel.objects.get().updated_at == hook.updated_at


def test_a_whole_channel_sent_back_with_one_new_value_changes_that_alone() -> None:
    hook = make_hook()
    shown = chiefs_program().get(f"channels/{hook.pk}/").json()
    patched(hook, shown | {"keyword": "ops", "last_error": "not for others to write"})
    assert Channel.objects.get().last_error == ""
    assert LogEntry.objects.get().change_message == "Changed through the API: keyword. Token: script."


def test_a_change_has_to_say_on_which_version_it_is_based() -> None:
    hook = make_hook()
    problem_of(chiefs_program().patch(f"channels/{hook.pk}/", {"keyword": "x"}), 428)
    for tag in ("1", "*", 'W/"1"', '"x"', ""):
        problem_of(chiefs_program().patch(f"channels/{hook.pk}/", {"keyword": "x"}, if_match=tag), 400)
    assert Channel.objects.get().keyword == ""


def test_a_change_of_an_old_version_is_refused_with_the_row_as_it_is_now() -> None:
    hook = make_hook()
    patched(hook, {"keyword": "theirs"})
    problem = problem_of(patched(hook, {"keyword": "mine"}), 409)
    assert (problem["current"]["keyword"], problem["current"]["version"]) == ("theirs", 2)
    assert TOKEN not in json.dumps(problem)
    assert Channel.objects.get().keyword == "theirs"


def test_a_change_that_somebody_else_overtakes_is_refused_too() -> None:
    hook = make_hook()

    def overtake() -> None:
        theirs = Channel.objects.get(pk=hook.pk)
        theirs.keyword = "theirs"
        defining.save_changes(theirs, expected_version=1, now=database_now())

    with run_before("project.kit.api.resources.Patching._store", overtake, elsewhere=False):
        problem = problem_of(patched(hook, {"keyword": "mine"}), 409)
    assert problem["current"]["keyword"] == "theirs"


# --- the test message ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [SENT, PERMANENT, AMBIGUOUS])
def test_a_test_message_is_answered_in_words_whatever_comes_of_it(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    sender = Sender(verdict)
    monkeypatch.setattr(testing, "send", sender)
    response = chiefs_program().post(f"channels/{make_hook(enabled=False).pk}/test/")
    assert response.status_code == 200
    assert response.json()["outcome"] == verdict.outcome
    assert verdict.meaning in response.json()["sentence"]
    assert len(sender.messages) == Delivery.objects.count() == 1


def test_a_channel_whose_secret_cannot_be_read_is_answered_in_words(settings: Any) -> None:
    hook = make_hook()
    settings.TIDELINE_SECRETS_KEYS = ["x" * 40]
    response = chiefs_program().post(f"channels/{hook.pk}/test/")
    assert response.status_code == 200
    assert "another key" in response.json()["sentence"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("key", [None, "once"])
def test_no_transaction_is_open_while_a_test_message_is_sent(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    open_ones: list[bool] = []
    monkeypatch.setattr(testing, "send", Sender(during=lambda: open_ones.append(connection.in_atomic_block)))
    headers = {"idempotency_key": key} if key else {}
    assert chiefs_program().post(f"channels/{make_hook().pk}/test/", **headers).status_code == 200
    assert open_ones == [False]


def test_a_channel_is_turned_off_and_on() -> None:
    program, hook = chiefs_program(), make_hook()
    assert program.post(f"channels/{hook.pk}/pause/").json()["enabled"] is False
    assert "off already" in problem_of(program.post(f"channels/{hook.pk}/pause/"), 409)["detail"]
    assert _listed(program, "enabled=false") == [hook.pk]
    assert program.post(f"channels/{hook.pk}/enable/").json()["enabled"] is True
    assert _listed(program, "enabled=false") == []


def _listed(program: Program, query: str) -> list[int]:
    return [row["id"] for row in program.get(f"channels/?{query}").json()["results"]]
