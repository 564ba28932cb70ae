"""Alerts and channels for the panel's tests, who looks at them, and the addresses of their pages."""

import itertools
from typing import Any

from alerts import delivering
from alerts.models import Alert, Channel, Silence
from alerts.recording import Problem, raise_alert
from project.kit.clock import database_now
from tests.alerts.factories import Sender, make_channel, problem
from tests.panel import Desk
from tests.quotas.admin.desk import HOUR

MODELS = ("alert", "channel", "delivery", "silence")
DESK = Desk("alerts", MODELS)
member, viewer = DESK.member, DESK.viewer
list_of, page_of, confirm = DESK.list_of, DESK.page_of, DESK.confirm
TOKEN = "path-with-token"
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
_numbers = itertools.count(1)


def make_alert(**fields: Any) -> Alert:
    """Raise the alert of a problem of its own."""
    fingerprint = fields.pop("fingerprint", f"run_failed:run:{next(_numbers)}")
    return raise_alert(problem(fingerprint, **fields), now=database_now())


def make_hook(**fields: Any) -> Channel:
    """Insert a channel with a token in its address and a signing secret, as it is in the database."""
    hook = {"address": f"https://hooks.example.org/{TOKEN}", "secrets": SIGNING, "address_shown": "hooks.example.org"}
    return Channel.objects.get(pk=make_channel(**hook | fields).pk)


def make_silence(**fields: Any) -> Silence:
    """Insert a silence of four hours that began an hour ago."""
    now = database_now()
    values = {"starts_at": now - HOUR, "ends_at": now + 3 * HOUR, "reason": "Migration"}
    return Silence.objects.create(**values | fields)


def make_history(rows: int) -> None:
    """Raise so many alerts, each told to a channel of its own and to all there were, and silences."""
    for _ in range(rows):
        channel = make_hook()
        parent = make_alert()
        under = Problem(kind="x", fingerprint=f"x:{parent.pk}", title="x", sentence="x", parent=parent.fingerprint)
        raise_alert(under, now=database_now())
        deliver(channel)
        make_silence()


def deliver(channel: Channel, send: Sender | None = None) -> None:
    """Send what waits for the channel, by a sender that says Taken unless another is given."""
    delivering.serve(channel.pk, send=send or Sender(), clock=database_now)
