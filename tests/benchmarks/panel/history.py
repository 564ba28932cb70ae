"""A system that has been at work for three months: every table of the control panel, in proportion."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from tests.benchmarks.panel.inserting import insert, one_of


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows there are of what; what belongs to them comes in proportion.

    Attributes:
        busy: so many schedules have half of all runs.
    """

    schedules: int = 10_000
    busy: int = 100
    runs: int = 1_000_000
    accounts: int = 50
    cards: int = 100_000
    channels: int = 20
    alerts: int = 100_000
    quotas: int = 200
    entries: int = 1_000_000
    people: int = 50

    @property
    def unfinished(self) -> int:
        """How many of the runs, the latest, have not ended: a multiple of the states that there are for it."""
        return max(self.runs // 4000, 1) * len(UNFINISHED)


UNFINISHED = ("pending", "running", "paused", "resuming", "deferred", "failed", "awaiting_approval", "suspended")
DAYS = 90
CHECKS = ("real_name", "usage", "card_status", "package")


def fill(size: Size, now: datetime) -> None:
    """Insert the rows into empty tables."""
    for lay_down in (_people, _quotas, _schedules, _runs, _waits, _cards, _work_on_cards, _alerts):
        lay_down(size, now)


def fill_runs(size: Size, now: datetime) -> None:
    """Insert schedules and runs, with the quotas that they name, into empty tables."""
    for lay_down in (_quotas, _schedules, _runs):
        lay_down(size, now)


def spread(count: int, since: str = "'90 days'") -> str:
    """Return the SQL of an instant that grows with the row's number: the last one is the present."""
    return f"now - interval {since} * ({count} - n) / {count}"


# --- people --------------------------------------------------------------------------------------------------------


def _people(size: Size, now: datetime) -> None:
    from django.contrib.admin.models import LogEntry
    from django.contrib.auth.models import Group, User

    from project.models import ApiToken
    from scheduler.models import Schedule

    insert(User, size.people, now=now, username="'person ' || n", is_staff="true", is_active="true", date_joined="now")
    insert(Group, size.people, now=now, id="100 + n", name="'group ' || n")  # there are some from the beginning
    insert(
        ApiToken,
        size.people,
        now=now,
        name="'token ' || n",
        user_id="1",
        digest="md5(n::text)",
        prefix="'tl_' || n",
        created_at="now",
        expires_at="now + interval '90 days'",
    )
    insert(
        LogEntry,
        size.schedules * 10,
        now=now,
        action_time=spread(size.schedules * 10),
        user_id=f"1 + mod(n, {size.people})",
        content_type_id=str(_content_type(Schedule)),
        object_id=f"(1 + mod(n, {size.schedules}))::text",
        object_repr="'schedule ' || n",
        action_flag="1 + mod(n, 3)",
        change_message="'Changed at the request of person ' || n",
    )


def _content_type(model: type) -> int:
    from django.contrib.contenttypes.models import ContentType

    return ContentType.objects.get_for_model(model).pk


# --- quotas --------------------------------------------------------------------------------------------------------


def _quotas(size: Size, now: datetime) -> None:
    from quotas.models import Edge, LedgerEntry, ProviderReport, Quota, Reservation

    of_quota = f"1 + mod(n, {size.quotas})"
    insert(
        Quota,
        size.quotas,
        now=now,
        key="'quota ' || n",
        limit="100000",
        unit="'calls'",
        reset_preset="'day'",
        used="mod(n * 7919, 100000)",
        period_start="date_trunc('day', now)",
        period_end="date_trunc('day', now) + interval '1 day'",
        verdict="CASE WHEN mod(n, 20) = 0 THEN 'insufficient' ELSE 'sufficient' END",
        verdict_at="now - interval '1 hour'",
        waited_for="CASE WHEN mod(n, 20) = 0 THEN 1 END",
        waited_since="CASE WHEN mod(n, 20) = 0 THEN now - interval '1 hour' END",
        created_at="now",
        updated_at="now",
    )
    insert(
        LedgerEntry,
        size.entries,
        now=now,
        quota_id=of_quota,
        charged_id=of_quota,
        kind=one_of(*["charge"] * 17, "refund", "top_up", "reset"),
        idempotency_key="'key ' || n",
        units="1",
        amount="-1",
        owner=f"'run:' || (1 + n * {size.runs}::bigint / {size.entries})",
        attempt="1",
        over_limit="mod(n, 1000) = 0",
        at=spread(size.entries),
        actor="'worker'",
    )
    reservations = size.entries // 10
    ended = f"n <= {reservations - 5}"
    insert(
        Reservation,
        reservations,
        now=now,
        quota_id=of_quota,
        idempotency_key="'key ' || n",
        purpose=one_of("work", "work", "admission"),
        amount="10",
        owner="'run:' || n",
        state=f"CASE WHEN NOT ({ended}) THEN 'held' WHEN mod(n, 9) = 0 THEN 'expired' ELSE 'settled' END",
        lease_seconds="60",
        expires_at="now",
        created_at=spread(reservations),
        ended_at=f"CASE WHEN {ended} THEN now END",
    )
    latest = {"quota_id": of_quota, "at": spread(size.entries // 20)}
    insert(
        Edge, size.entries // 20, now=now, cause=one_of("reset", "top_up"), available="9", handled_at="now", **latest
    )
    insert(ProviderReport, size.entries // 20, now=now, limited="mod(n, 50) = 0", limit="100", remaining="9", **latest)


# --- schedules and runs --------------------------------------------------------------------------------------------


def _schedules(size: Size, now: datetime) -> None:
    from scheduler.models import Backfill, Calendar, CalendarDay, Schedule

    calendars = max(size.schedules // 500, 1)
    insert(Calendar, calendars, now=now, name="'calendar ' || n")
    insert(
        CalendarDay,
        calendars * 100,
        now=now,
        calendar_id=f"1 + mod(n, {calendars})",
        date="now::date + n::int",
        title="'a day off'",
    )
    insert(
        Schedule,
        size.schedules,
        now=now,
        name="'schedule ' || n",
        job=one_of("command", "http", "management"),
        params="jsonb_build_object('url', 'https://example.com/' || n)",
        enabled="mod(n, 50) <> 0",
        pause_reason="CASE WHEN mod(n, 50) = 0 THEN 'The source is down.' ELSE '' END",
        trigger="'cron'",
        cron="mod(n, 60) || ' * * * *'",
        calendar_id=f"CASE WHEN mod(n, 10) = 0 THEN 1 + mod(n / 10, {calendars}) END",
        quota_id=f"CASE WHEN mod(n, 7) = 0 THEN 1 + mod(n / 7, {size.quotas}) END",
        overlap="'skip'",
        next_run_at="CASE WHEN mod(n, 200) <> 1 THEN now + interval '1 second' * mod(n * 7919, 3600) END",
        broken_reason="CASE WHEN mod(n, 200) = 1 THEN 'No such zone.' ELSE '' END",
        created_at="now",
        updated_at="now",
    )
    insert(
        Backfill,
        max(size.runs // 1000, 1),
        now=now,
        schedule_id=f"1 + mod(n, {size.schedules})",
        first_day="now::date - 9",
        last_day="now::date",
        created_at="now",
        created_by="'ann'",
    )


def _runs(size: Size, now: datetime) -> None:
    from scheduler.models import Approval, Attempt, Fire, RunEvent, TaskRun

    when = spread(size.runs)
    insert(Fire, size.runs, now=now, **_fire(size))
    insert(TaskRun, size.runs, now=now, **_run(size))
    insert(
        Attempt,
        size.runs,
        now=now,
        run_id="n",
        number="1",
        token="1",
        worker="'runner@host ' || mod(n, 8)",
        pid="mod(n, 30000)",
        due_at=when,
        started_at=f"{when} + interval '1 second'",
        finished_at=f"CASE WHEN n <= {size.runs - size.unfinished} THEN {when} + interval '9 seconds' END",
        outcome=f"CASE WHEN n > {size.runs - size.unfinished} THEN ''"
        " WHEN mod(n, 25) = 0 THEN 'failed' ELSE 'done' END",
        error="CASE WHEN mod(n, 25) = 0 THEN 'The other side said no.' ELSE '' END",
        output="repeat('It went on. ', 10)",
    )
    insert(
        RunEvent,
        size.runs * 3,
        now=now,
        run_id="(n + 2) / 3",
        at=spread(size.runs * 3),
        from_state=one_of("running", "", "pending"),
        to_state=one_of("done", "pending", "running"),
        trigger=one_of("worker", "schedule", "worker"),
    )
    insert(
        Approval,
        size.runs // 100,
        now=now,
        run_id="n * 100",
        segment="1",
        question="'Is the figure of ' || n || ' right?'",
        asked_at=spread(size.runs // 100),
        answer=f"CASE WHEN n <= {size.runs // 100 - 5} THEN 'approved' ELSE '' END",
        answered_at=f"CASE WHEN n <= {size.runs // 100 - 5} THEN now END",
        answered_by=f"CASE WHEN n <= {size.runs // 100 - 5} THEN 'ann' ELSE '' END",
    )


def _schedule_of_run(size: Size) -> str:
    return f"1 + CASE WHEN mod(n, 2) = 0 THEN mod(n / 2, {size.busy}) ELSE mod(n / 2, {size.schedules}) END"


def _fire(size: Size) -> dict[str, str]:
    return {
        "schedule_id": _schedule_of_run(size),
        "fire_at": spread(size.runs),
        "kind": one_of(*["scheduled"] * 18, "misfire", "manual"),
        "outcome": "CASE WHEN mod(n, 20) = 3 THEN 'skipped_overlap' ELSE 'started' END",
        "reason": "CASE WHEN mod(n, 20) = 3 THEN 'The one before was still running.' ELSE '' END",
        "recorded_at": spread(size.runs),
    }


def _run(size: Size) -> dict[str, str]:
    """Return the columns of the runs: ended ones, and the latest in all states that a run may be in before."""
    ended, when, state = f"n <= {size.runs - size.unfinished}", spread(size.runs), one_of(*UNFINISHED)
    waits = f"NOT ({ended}) AND {state} IN ('pending', 'resuming', 'deferred', 'failed')"
    runs = f"NOT ({ended}) AND {state} = 'running'"
    return {
        "schedule_id": _schedule_of_run(size),
        "fire_id": "CASE WHEN mod(n, 20) <> 3 THEN n END",
        "backfill_id": f"CASE WHEN mod(n, 100) = 3 THEN 1 + mod(n / 100, {max(size.runs // 1000, 1)}) END",
        "name": f"'schedule ' || {_schedule_of_run(size)}",
        "job": one_of("command", "http", "management"),
        "params": "jsonb_build_object('url', 'https://example.com/' || n)",
        "stat_date": f"({when})::date",
        "planned_at": when,
        "state": f"CASE WHEN NOT ({ended}) THEN {state}"
        " WHEN mod(n, 25) = 0 THEN 'failed' WHEN mod(n, 99) = 0 THEN 'cancelled' ELSE 'done' END",
        "reason": "CASE WHEN mod(n, 25) = 0 THEN 'The other side said no.' ELSE '' END",
        "due_at": f"CASE WHEN {waits} THEN now + interval '1 second' * mod(n, 99) END",
        "lease_owner": f"CASE WHEN {runs} THEN 'runner@host' ELSE '' END",
        "lease_expires_at": f"CASE WHEN {runs} THEN now + interval '1 minute' END",
        "attempt_count": "1",
        "created_at": when,
        "started_at": f"{when} + interval '1 second'",
        "finished_at": f"CASE WHEN {ended} THEN {when} + interval '1 second' * (2 + mod(n, 60)) END",
        "seal": f"CASE WHEN {ended} THEN md5(n::text) || md5(n::text) ELSE '' END",
    }


def _waits(size: Size, now: datetime) -> None:
    from scheduler.models import Pause, QuotaWait

    kinds, count = len(UNFINISHED), size.unfinished // len(UNFINISHED)
    unfinished = range(size.runs - size.unfinished + 1, size.runs + 1)
    first = next(number for number in unfinished if UNFINISHED[number % kinds] == "paused")
    paused = f"{first} + {kinds} * (n - 1)"
    insert(Pause, count, now=now, run_id=paused, since="now - interval '1 hour'")
    insert(
        QuotaWait,
        count,
        now=now,
        run_id=paused,
        quota_id=f"1 + mod(n * 20 - 1, {size.quotas})",
        amount="1",
        why="'own_budget'",
        since="now - interval '1 hour'",
        expected_at="now + interval '1 hour'",
    )


# --- cards ---------------------------------------------------------------------------------------------------------


def _cards(size: Size, now: datetime) -> None:
    from scheduler.polling.models import Card, CardChange, CardCheck, CarrierAccount, Device, PollingParams

    written = {"created_at": "now", "updated_at": "now"}
    insert(CarrierAccount, size.accounts, now=now, name="'account ' || n", gateway="'simulator'", **written)
    insert(PollingParams, size.accounts, now=now, account_id="n", changed_at="now")
    insert(Device, size.cards // 2, now=now, code="'device ' || n", name="'tracker ' || n")
    insert(
        Card,
        size.cards,
        now=now,
        iccid="'8986' || lpad(n::text, 15, '0')",
        msisdn="'1440' || lpad(n::text, 9, '0')",
        imsi="'46000' || lpad(n::text, 10, '0')",
        account_id=f"1 + mod(n, {size.accounts})",
        device_id="(n + 1) / 2",
        state=one_of("active", "active", "active", "stopped", "ready"),
        real_name_state=one_of("verified", "needed"),
        package="'10 MB a month'",
        used_bytes="n * 1000",
        allowance_bytes="10000000",
        **written,
    )
    checked = "CASE WHEN mod(n, 100) = 0 THEN {failing} END"
    insert(
        CardCheck,
        size.cards * len(CHECKS),
        now=now,
        card_id=f"(n + {len(CHECKS) - 1}) / {len(CHECKS)}",
        type=one_of(*CHECKS),
        value="to_jsonb(n)",
        checked_at="now",
        succeeded_at="now",
        due_at="now + interval '1 hour'",
        failures="CASE WHEN mod(n, 100) = 0 THEN 1 + mod(n / 100, 5) ELSE 0 END",
        first_failed_at=checked.format(failing="now - interval '1 day'"),
        last_failed_at=checked.format(failing="now"),
        error_class="CASE WHEN mod(n, 100) = 0 THEN 'timeout' ELSE '' END",
        error="CASE WHEN mod(n, 100) = 0 THEN 'No answer in 10 s.' ELSE '' END",
    )
    insert(
        CardChange,
        size.cards * 3,
        now=now,
        card_id=f"1 + mod(n, {size.cards})",
        field=one_of("state", "package", "real_name_state"),
        before="'one'",
        after="'other'",
        at=spread(size.cards * 3),
    )


def _work_on_cards(size: Size, now: datetime) -> None:
    from scheduler.polling.models import CardOperation, CheckRequest, CheckScene, Confirmation, Cutover, PollingTier

    scene = CheckScene.objects.order_by("pk").values_list("pk", flat=True)[0]
    of_card, count = f"1 + mod(n, {size.cards})", size.cards // 5
    insert(PollingTier, 5, now=now, position="n", name="'tier ' || n", usage_seconds="3600 * n")
    insert(
        CardOperation,
        count,
        now=now,
        card_id=of_card,
        account_id=f"1 + mod(1 + mod(n, {size.cards}), {size.accounts})",
        kind=one_of("stop", "resume"),
        reason="'The bill was not paid.'",
        actor="'ann'",
        idempotency_key="'operation ' || n",
        state=f"CASE WHEN n > {count * 99 // 100} THEN 'waiting' WHEN mod(n, 30) = 0 THEN 'failed' ELSE 'done' END",
        created_at=spread(count),
        due_at=spread(count),
        ended_at=f"CASE WHEN n <= {count * 99 // 100} THEN {spread(count)} END",
    )
    insert(
        CheckRequest,
        count,
        now=now,
        event_id="'event ' || n",
        scene_id=f"'{scene}'",
        actor="'shop'",
        card_ids=f"ARRAY[{of_card}]",
        at=spread(count),
        asked_at=spread(count),
    )
    insert(
        Confirmation,
        count,
        now=now,
        card_id=of_card,
        type=one_of(*CHECKS),
        request_id="n",
        delays="ARRAY[60, 300]",
        due_at=spread(count),
        asked_at=spread(count),
        state=f"CASE WHEN n > {count * 99 // 100} THEN 'waiting' ELSE 'confirmed' END",
        ended_at=f"CASE WHEN n <= {count * 99 // 100} THEN now END",
    )
    insert(
        Cutover, 5, now=now, wanted="'tideline'", phase="'done'", actor="'ann'",
        started_at="now", phase_since="now", ended_at="now",
    )  # fmt: skip


# --- alerts --------------------------------------------------------------------------------------------------------


def _alerts(size: Size, now: datetime) -> None:
    from alerts.models import Alert, Channel, Delivery, Silence
    from alerts.models.deliveries import DeliveryTry, Event

    ended = f"n <= {size.alerts * 998 // 1000}"
    words = {"kind": one_of(*_kinds()), "severity": one_of("warning", "critical"), "title": "'alert ' || n"}
    written = {"created_at": "now", "updated_at": "now"}
    insert(Channel, size.channels, now=now, name="'channel ' || n", address_shown="'example.com'", **written)
    insert(
        Alert,
        size.alerts,
        now=now,
        fingerprint="'alert:' || n",
        subject="'run:' || n",
        sentence="'The other side said no.'",
        labels="jsonb_build_object('name', 'schedule ' || n)",
        state=f"CASE WHEN {ended} THEN 'resolved' WHEN mod(n, 5) = 0 THEN 'acknowledged' ELSE 'open' END",
        first_at=spread(size.alerts),
        last_at=spread(size.alerts),
        resolved_at=f"CASE WHEN {ended} THEN {spread(size.alerts)} END",
        **words,
    )
    insert(
        Event, size.alerts, now=now, id="md5(n::text)::uuid", alert_id="n", telling="'opened'",
        at=spread(size.alerts), **words,
    )  # fmt: skip
    of_channel = {"channel_id": f"1 + mod(n, {size.channels})"}
    insert(
        Delivery,
        size.alerts,
        now=now,
        event_id="md5(n::text)::uuid",
        state=one_of(*["sent"] * 49, "failed"),
        due_at=spread(size.alerts),
        tries="1",
        outcome=one_of(*["sent"] * 49, "permanent"),
        ended_at=spread(size.alerts),
        **of_channel,
    )
    insert(DeliveryTry, size.alerts, now=now, delivery_id="n", at=spread(size.alerts), outcome="'sent'", **of_channel)
    insert(
        Silence, size.people, now=now, kind=one_of(*_kinds()), starts_at="now",
        ends_at="now + interval '1 hour'", reason="'Planned work.'",
    )  # fmt: skip


def _kinds() -> Iterator[str]:
    from alerts.kinds import KINDS

    yield from sorted(KINDS)
