"""What the try-out shows: a few jobs, a quota that runs out, a channel for its alerts, and one schedule of each kind.
`bin/up` loads it at its first start.
"""

import os
import time
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from celery import shared_task
from django.conf import settings

from alerts import defining as alerting
from alerts.models import Channel
from alerts.states import Severity
from project.kit.secrets import Secret, UnreadableSecret
from quotas import defining
from quotas.models import Quota
from quotas.periods import Preset
from quotas.states import Kind
from scheduler import schedules
from scheduler.cron import Interval, cron
from scheduler.jobs import RunContext, job

ITEMS = 20
SECONDS_AN_ITEM = 1.5
SECONDS_A_CALL = 0.5
DEMO_QUOTA = "demo-api"
INBOX = "Inbox of this try-out"
# More than two minutes are worth are wanted, so that a run pauses whenever in a minute it begins.
CALLS_A_MINUTE = 8


@job("demo.snapshot", title="Demonstration: a snapshot in twenty steps")
def snapshot(run: RunContext) -> dict[str, Any]:
    """Work through twenty items slowly, checkpoint each: kill its worker and watch it go on at the next one."""
    for item in run.resume(range(1, ITEMS + 1), key="item"):
        time.sleep(SECONDS_AN_ITEM)  # stands for an upstream that takes its time
        run.log(f"item {item} of {run.stat_date} taken by attempt {run.attempt}")
        run.checkpoint(item=item, done=item, total=ITEMS)
    return {"items": ITEMS}


@job("demo.calls", title="Demonstration: twenty calls of an API with a budget")
def calls(run: RunContext) -> dict[str, Any]:
    """Make twenty calls, each charged to the budget of the minute: watch the run pause when that is used up, and go on
    at the next call when the minute is over.
    """
    for call in run.resume(range(1, ITEMS + 1), key="call"):
        run.charge(DEMO_QUOTA, idempotency_key=f"call {call}")
        time.sleep(SECONDS_A_CALL)  # stands for the call
        run.log(f"call {call} made by attempt {run.attempt}")
        run.checkpoint(call=call, done=call, total=ITEMS)
    return {"calls": ITEMS}


@shared_task(name="demo.add")
def add(first: int, second: int) -> int:
    """Add two numbers, as an existing Celery task would."""
    return first + second


def load(*, now: datetime) -> None:
    """Create the try-out's quota, channel and schedules; the frequent ones fire within the first minutes."""
    quota = defining.create(
        key=DEMO_QUOTA,
        title="Demo API",
        description="Its budget resets with each minute. A run that uses it up pauses, and goes on by itself.",
        kind=Kind.PERIODIC,
        limit=CALLS_A_MINUTE,
        unit="calls",
        reset_preset=Preset.CRON,
        reset_cron="* * * * *",
        now=now,
    )
    if settings.TIDELINE_INBOX_URL:
        _create_inbox_channel(now)
    for number, example in enumerate(_examples(quota)):
        minutes = example.pop("minutes", None)
        if minutes is not None:
            # Their first fires come one after another within the first minute.
            first = now + timedelta(seconds=5 + 8 * number)
            example["trigger"] = Interval(minutes * 60, first - timedelta(minutes=minutes))
        schedules.create(now=now, **example)


def move_inbox(*, now: datetime) -> None:
    """Let the channel to the inbox follow it to where it is this time; a channel that leads elsewhere now stays."""
    channel = Channel.objects.filter(name=INBOX).first()
    if channel is not None and _leads_to_an_inbox(channel):
        channel.address = Secret.of(settings.TIDELINE_INBOX_URL)
        alerting.save_changes(channel, expected_version=channel.version, now=now)


def _create_inbox_channel(now: datetime) -> None:
    alerting.create(
        name=INBOX,
        address=settings.TIDELINE_INBOX_URL,
        format="generic",
        secrets=settings.TIDELINE_INBOX_SECRET,
        least_severity=Severity.INFO,
        now=now,
    )


def _leads_to_an_inbox(channel: Channel) -> bool:
    try:
        address: str = channel.address.reveal()
    except UnreadableSecret:  # left to a person: the channel's page says what to do
        return False
    return urlsplit(address).path == urlsplit(settings.TIDELINE_INBOX_URL).path


def _examples(quota: Quota) -> list[dict[str, Any]]:
    web = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
    return [
        {
            "name": "Say hello",
            "description": "A shell command, as cron would run it.",
            "job": "command",
            "params": {"command": 'echo "Hello from $(uname -n). This run\'s data day is $TIDELINE_STAT_DATE."'},
            "minutes": 1,
        },
        {
            "name": "Snapshot in twenty steps",
            "description": "Takes half a minute. Kill the runner meanwhile: it goes on at the next step.",
            "job": "demo.snapshot",
            "minutes": 5,
        },
        {
            "name": "Call an API within its budget",
            "description": f"Needs {ITEMS} calls and has {CALLS_A_MINUTE} a minute: it pauses and goes on.",
            "job": "demo.calls",
            "quota": quota,
            "minutes": 5,
        },
        {
            "name": "Ask the web process how it is",
            "description": "An HTTP request; 429 and 503 with Retry-After put it off instead of failing it.",
            "job": "http",
            "params": {"url": f"{web}/healthz"},
            "minutes": 5,
        },
        {
            "name": "Clear expired sessions",
            "description": "A Django management command.",
            "job": "management",
            "params": {"command": "clearsessions"},
            "minutes": 60,
        },
        {
            "name": "Add two numbers",
            "description": "A Celery task that exists already, under the run's lease.",
            "job": "celery",
            "params": {"task": "demo.add", "args": [2, 3]},
            "minutes": 10,
        },
        {
            "name": "Fail and try again",
            "description": "Fails each time; is tried again after 20 s and after 60 s, then it is final.",
            "job": "command",
            "params": {"command": "echo 'the upstream is not there' >&2; exit 3"},
            "retry_delays": [20, 60],
            "minutes": 30,
        },
        {
            "name": "Yesterday's figures",
            "description": "Every night at 02:30 in Berlin, under the data day of yesterday; see its next fires.",
            "job": "demo.snapshot",
            "trigger": cron("30 2 * * *", "Europe/Berlin"),
            "stat_date_offset": -1,
            "retry_delays": [60, 300, 3600],
        },
    ]
