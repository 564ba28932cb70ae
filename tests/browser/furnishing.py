"""Rows of every kind that the control panel shows, in the states in which their pages differ, as of now."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from project.kit.api import tokens
from project.kit.api.models import ApiToken
from project.scans import mark
from quotas import reserving
from quotas.models import Edge, ProviderReport
from scheduler.backfilling import open_backfill
from scheduler.models import Attempt, Fire, Pause, QuotaWait, Schedule, TaskRun
from scheduler.polling import system_settings
from scheduler.polling.models import CardChange, Confirmation, Device, PollingParams
from scheduler.polling.states import CardState, CheckType, CutoverPhase, OperationState, RealName
from scheduler.states import AttemptOutcome, RunState
from tests.alerts.admin.desk import deliver, make_alert, make_hook, make_silence
from tests.alerts.factories import PERMANENT, Sender
from tests.quotas.factories import make_daily, make_quota, make_rate, spend
from tests.scheduler.factories import DAY, HOUR, MINUTE, make_calendar, make_question, make_run, make_schedule
from tests.scheduler.polling.admin.desk import make_failing, make_reached_account
from tests.scheduler.polling.api.factories import make_cutover, make_operation, make_request
from tests.scheduler.polling.factories import make_account, make_cards, make_checks, make_tier

MOST = 20
TRACEBACK = """Traceback (most recent call last):
  File "/srv/jobs/settlement.py", line 88, in settle
    answer = bank.book(batch, reference=f"{run.stat_date}/{batch.number}", idempotency_key=batch.key)
ConnectionResetError: [Errno 104] Connection reset by peer"""


def furnish(user: User, *, now: datetime) -> None:
    """Insert rows of every kind."""
    _furnish_schedules(now)
    _furnish_quotas(now)
    _furnish_polling(now)
    _furnish_alerts()
    _furnish_house(user, now)


def rows_of_each_kind() -> list[Model]:
    """Return a row of every model in the panel, and up to MOST of those whose state decides what can be done.

    Raises:
        AssertionError: there is a model of which nothing was furnished.
    """
    rows = {
        model: list(model._default_manager.order_by("-pk")[: MOST if hasattr(options, "object_actions") else 1])
        for model, options in admin.site._registry.items()
    }
    missing = [model._meta.label for model, found in rows.items() if not found]
    assert not missing, f"Furnish a row of these as well: {', '.join(missing)}."
    return [row for found in rows.values() for row in found]


def _furnish_schedules(now: datetime) -> None:
    calendar = make_calendar("2026-12-25", "2026-12-26", titles="Christmas")
    nightly = make_schedule(now=now, name="Nightly settlement", calendar=calendar, retry_delays=[60, 300])
    make_schedule(now=now, name="Hourly exchange rates", interval_seconds=3600)
    make_schedule(now=now, name="Year's end", enabled=False)
    broken = make_schedule(now=now, name="Figures of the branch offices in the other zone")
    Schedule.objects.filter(pk=broken.pk).update(next_run_at=None, broken_reason="There is no such zone.")
    for hours, state in enumerate(RunState):
        _run(nightly, state, now - hours * HOUR)
    failed = _run(nightly, RunState.FAILED, now - 30 * HOUR, ended=True, reason="The bank cut the connection.")
    Attempt.objects.filter(run=failed).update(
        error="ConnectionResetError", traceback=TRACEBACK, output="batch 1\nbatch 2\n", outcome=AttemptOutcome.FAILED
    )
    make_question(now=now, question="Send 214 invoices to customers in 12 countries?")
    first, last = now.date() - 5 * DAY, now.date() - 2 * DAY
    open_backfill(nightly, first, last, actor="ann", reason="New rates", now=now)


def _run(schedule: Schedule, state: RunState, at: datetime, **fields: Any) -> TaskRun:
    fire = Fire.objects.create(schedule=schedule, fire_at=at, kind="scheduled", outcome="started", recorded_at=at)
    progress = {"progress": {"batch": 13}, "progress_done": 13, "progress_total": 40, "exclusive_key": None}
    return make_run(state, now=at, schedule=schedule, fire=fire, **progress | fields)


def _furnish_quotas(now: datetime) -> None:
    tokens_of_all = make_quota(
        1_000_000, now=now, key="llm-tokens", title="Tokens of the language model", unit="tokens"
    )
    part = make_quota(400_000, now=now, key="llm-tokens-reports", unit="tokens", parent=tokens_of_all)
    spend(part, 120_000, now=now, owner="run:12")
    used_up = make_daily(500, now=now, key="sms-credits", title="SMS credits", unit="messages")
    spend(used_up, 500, now=now, owner="run:13")
    paused = make_run(RunState.PAUSED, now=now, name="Reminders", quota=used_up, reason="sms-credits is used up.")
    Pause.objects.create(run=paused, since=now)
    QuotaWait.objects.create(run=paused, quota=used_up, amount=50, why="exhausted", since=now)
    make_rate(20, now=now, key="bank-calls", unit="calls")
    reserving.reserve("llm-tokens-reports", 50_000, owner="run:14", now=now)
    ProviderReport.objects.create(quota=tokens_of_all, at=now, limited=True, status=429, limit=1_000_000, remaining=0)
    Edge.objects.create(quota=used_up, cause="reset", available=500, at=now - HOUR, handled_at=now, resumed_count=3)


def _furnish_polling(now: datetime) -> None:
    make_tier(name="In use", states=[CardState.ACTIVE], usage_from_percent=80)
    account = make_reached_account(name="Northern Mobile, machines and meters")
    PollingParams.objects.create(account=account, changed_at=now, rate_windows=[{"limit": 5, "seconds": 1}])
    make_account(name="Southern Mobile", now=now, held_until=now + HOUR, held_class="throttled", held_reason="429")
    device = Device.objects.create(code="meter-0193", name="Electricity meter, 4 Harbour Street")
    known = {"package": "10 MB a month", "used_bytes": 8_500_000, "allowance_bytes": 10_000_000}
    active, stopped, new = make_cards(account, 3, now=now, device=device, msisdn="+4915110000001", **known)
    type(active).objects.filter(pk=active.pk).update(state=CardState.ACTIVE, real_name_state=RealName.VERIFIED)
    type(active).objects.filter(pk=stopped.pk).update(state=CardState.STOPPED)
    make_checks([active, stopped], CheckType.CARD_STATUS, value="active", succeeded_at=now, due_at=now + HOUR)
    make_failing(active)
    CardChange.objects.create(card=active, field="state", before="stopped", after="active", at=now - HOUR)
    waiting = make_operation(active)
    make_operation(stopped, state=OperationState.DONE, sent_at=now, accepted_at=now, ended_at=now)
    request = make_request(new)
    Confirmation.objects.create(card=new, type="usage", request=request, delays=[60, 300], due_at=now, expected=5)
    Confirmation.objects.create(card=active, type="card_status", operation=waiting, delays=[60], due_at=now)
    system_settings.change("polling.account_alert.threshold", 20, actor="ann", now=now)
    make_cutover()
    make_cutover(wanted="legacy", phase=CutoverPhase.DRAINING, ended_at=None, progress={"at_work": 12})


def _furnish_alerts() -> None:
    hook, refused = make_hook(name="Operations group"), make_hook(name="Former webhook")
    parent = make_alert(title="Northern Mobile does not answer", kind="account_failing", severity="critical")
    make_alert(title="Nightly settlement failed for 2026-11-29", parent=parent.fingerprint)
    make_alert(kind="my_own", title="An alert of a job's own with a title that is as long as people write them")
    deliver(hook)
    deliver(refused, Sender(PERMANENT))
    make_silence()


def _furnish_house(user: User, now: datetime) -> None:
    mark("scheduler.fire_due", by="worker@host")
    Group.objects.create(name="On duty")
    interval = IntervalSchedule.objects.create(every=5, period=IntervalSchedule.SECONDS)
    PeriodicTask.objects.create(name="fire", task="scheduler.fire_due", interval=interval)
    tokens.issue(ApiToken(name="Billing", user=user, scopes=["read"], expires_at=now + 90 * DAY), now=now)
    content_type = ContentType.objects.get_for_model(User)
    LogEntry.objects.create(
        user=user,
        content_type=content_type,
        object_id=str(user.pk),
        object_repr="ann",
        action_flag=CHANGE,
        change_message="Changed the password.",
        action_time=now - MINUTE,
    )
