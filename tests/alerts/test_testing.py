"""A test message goes out at once, says what it proves, and is answered in words whatever happens."""

import json
from typing import Any

import pytest
from django.db import connection

from alerts import testing
from alerts.channels.base import Verdict
from alerts.models import Alert, Channel, Delivery, DeliveryTry, Event
from alerts.states import DeliveryOutcome
from project.kit.outbound import Answered, NotTaken, Posted, Unanswered
from project.kit.secrets import Secret
from tests.alerts.factories import AMBIGUOUS, PERMANENT, RETRY, SENT, Sender, make_channel
from tests.scheduler.commands.asking import Shell
from tests.scheduler.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)


def send_by(monkeypatch: pytest.MonkeyPatch, *verdicts: Verdict) -> Sender:
    """Let tests be sent by a sender that says these verdicts."""
    sender = Sender(*verdicts)
    monkeypatch.setattr(testing, "send", sender)
    return sender


def answer(monkeypatch: pytest.MonkeyPatch, posted: Posted) -> list[tuple[str, bytes]]:
    """Let each request end like this; return what is posted, by its address."""
    requests: list[tuple[str, bytes]] = []

    def post(url: str, body: bytes, headers: Any, **_: Any) -> Posted:
        requests.append((url, body))
        return posted

    monkeypatch.setattr("alerts.sending.post", post)
    return requests


def test_a_test_says_that_it_is_one_and_what_receiving_it_proves_and_what_not(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = answer(monkeypatch, Answered(200))
    channel = make_channel()
    assert testing.send_test(channel, now=NOW).outcome == DeliveryOutcome.SENT
    ((url, body),) = requests
    told = json.loads(body)["data"]
    assert url == "https://hooks.example.org/token"
    assert told["telling"] == "test"
    assert told["summary"].startswith("[test] ")
    assert "proves that the channel's address is right, and its signature where one is checked" in told["text"]
    assert "does not prove that any alert is sent here" in told["text"]


@pytest.mark.parametrize(
    ("verdict", "state", "says"),
    [
        (SENT, "sent", "The test message was taken. Look there whether it can be read. Taken."),
        (RETRY, "failed", "The test message was not taken, and a test is not tried again. Not taken"),
        (PERMANENT, "failed", "The test message was not taken, and a test is not tried again. Refused."),
        (AMBIGUOUS, "unknown", "Nobody knows whether the test message arrived. Look there. Nobody knows."),
    ],
)
def test_it_is_recorded_among_the_channels_deliveries_and_said_in_words(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, state: str, says: str
) -> None:
    send_by(monkeypatch, verdict)
    channel = make_channel()
    assert testing.in_words(testing.send_test(channel, now=NOW)).startswith(says)
    delivery, tried = Delivery.objects.get(), DeliveryTry.objects.get()
    assert (delivery.state, delivery.tries, delivery.channel, delivery.event.telling) == (state, 1, channel, "test")
    assert (tried.delivery, tried.outcome, tried.status, tried.meaning) == (
        delivery,
        verdict.outcome,
        200,
        verdict.meaning,
    )
    assert not Alert.objects.exists()


def test_it_shows_on_the_channel_how_it_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    send_by(monkeypatch, PERMANENT, SENT)
    channel = make_channel()
    testing.send_test(channel, now=NOW)
    channel.refresh_from_db()
    assert (channel.failures, channel.last_error, channel.last_sent_at) == (1, "Refused.", None)
    testing.send_test(channel, now=NOW)
    channel.refresh_from_db()
    assert (channel.failures, channel.last_error) == (0, "")
    assert channel.last_sent_at is not None


@pytest.mark.parametrize(
    "posted",
    [
        Answered(500, {}, b"<html>"),
        Answered(302, {"location": "http://10.0.0.1/"}),
        Answered(404),
        NotTaken("hooks.example.org cannot be reached (ConnectError)."),
        NotTaken("hooks.example.org leads to an address in a private network, which is not called.", final=True),
        Unanswered("hooks.example.org did not answer in time (ReadTimeout); it may have taken it."),
    ],
)
def test_whatever_the_receiver_does_the_answer_is_a_sentence_without_secrets(
    monkeypatch: pytest.MonkeyPatch, posted: Posted
) -> None:
    answer(monkeypatch, posted)
    verdict = testing.send_test(make_channel(), now=NOW)
    assert verdict.outcome != DeliveryOutcome.SENT
    assert verdict.meaning.endswith((".", ")"))
    assert "token" not in testing.in_words(verdict)


def test_case_65_a_test_that_a_platform_refuses_within_a_200_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, Answered(200, {}, b'{"code": 19024, "msg": "Key Words Not Found"}'))
    channel = make_channel(format="feishu", address="https://open.feishu.cn/open-apis/bot/v2/hook/token")
    said = testing.in_words(testing.send_test(channel, now=NOW))
    assert said.startswith("The test message was not taken")
    assert "does not hold the keyword that the bot asks for" in said
    assert (Delivery.objects.get().state, Delivery.objects.get().code) == ("failed", "19024")


def test_an_address_that_no_key_reads_is_an_answer_too() -> None:
    channel = make_channel()
    Channel.objects.update(address=Secret("gAAAAA"))
    verdict = testing.send_test(Channel.objects.get(pk=channel.pk), now=NOW)
    assert verdict.outcome == DeliveryOutcome.PERMANENT
    assert "encrypted with another key" in testing.in_words(verdict)


@pytest.mark.django_db(transaction=True)
def test_it_is_sent_outside_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[bool] = []
    monkeypatch.setattr(testing, "send", Sender(during=lambda: inside.append(connection.in_atomic_block)))
    testing.send_test(make_channel(), now=NOW)
    assert inside == [False]


# --- on the command line -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["name", "pk"])
def test_the_command_finds_a_channel_by_name_or_number_and_says_the_outcome(
    monkeypatch: pytest.MonkeyPatch, shell: Shell, by: str
) -> None:
    sender = send_by(monkeypatch)
    channel = make_channel(name="operations")
    says = shell.says("send_test_alert", getattr(channel, by))
    assert says == "The test message was taken. Look there whether it can be read. Taken."
    assert sender.told == [("test", "This is a test")]


def test_a_failure_is_status_three_and_its_reason(monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    send_by(monkeypatch, PERMANENT)
    make_channel(name="operations")
    assert shell.values("send_test_alert", "operations", status=3) == {
        "channel": "operations",
        "outcome": "permanent",
        "code": "400",
        "meaning": "Refused.",
    }


def test_a_channel_that_there_is_not_is_refused_with_those_that_there_are(shell: Shell) -> None:
    assert shell.refuses("send_test_alert", "x") == (
        "There is no channel “x”. There is none yet: add one in the control panel."
    )
    make_channel(name="operations")
    assert shell.refuses("send_test_alert", "99") == "There is no channel “99”. There are “operations”."
    assert not Event.objects.exists()
