"""The worked examples of docs/quotas.md are played row by row, and come to the figures that the page shows."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models import Sum

from quotas import availability, charging, observing, scans
from quotas.models import Edge, LedgerEntry, Quota
from quotas.periods import Period, period_at
from quotas.refusals import Refused
from quotas.states import Verdict
from scheduler import pausing, recovering, running
from scheduler.models import Pause, QuotaWait, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import AttemptEnd
from scheduler.waits import owner_of
from tests.quotas.factories import audit, edges_of, make_daily, make_quota, now_is
from tests.scheduler.factories import DAY, WORKER, claim_of, launched, make_run, utc

pytestmark = pytest.mark.django_db

PAGE = Path(settings.BASE_DIR, "docs", "quotas.md").read_text()

Row = dict[str, str]
Step = Callable[[datetime], object]


def table(section: str, number: int = 0) -> list[Row]:
    """Return the rows of a table of the page, each by the names of its columns."""
    text = PAGE.partition(f"### {section}\n")[2].partition("\n### ")[0]
    head, _, *rows = re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)[number].splitlines()
    return [dict(zip(cells(head), cells(row), strict=True)) for row in rows]


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def amount(text: str) -> int:
    """Read an amount as the page writes it."""
    return int(text.replace(",", ""))


def play(rows: Sequence[Row], steps: Sequence[Step], compare: Callable[[Row, datetime], None], day: str = "") -> None:
    """Take each step at the instant of its row, and compare."""
    for row, step in zip(rows, steps, strict=True):
        now = utc(f"{day} {row['UTC']}".strip())
        step(now)
        compare(row, now)
        audit()


def wait(now: datetime) -> None:
    """Do nothing."""


class TestADailyBudgetOverADayWith25Hours:
    SECTION = "A daily budget over a day with 25 hours"

    def test_the_days_have_their_hours(self) -> None:
        quota = make_daily(1000, timezone="Europe/Berlin", now=utc("2026-10-24 10:00"))
        for row in table(self.SECTION):
            period = Period(utc(row["From (UTC)"]), utc(row["To (UTC)"]))
            assert period_at(quota.reset_rule(), period.start) == period
            assert period_at(quota.reset_rule(), period.end - timedelta(seconds=1)) == period
            assert (period.end - period.start) / timedelta(hours=1) == float(row["Hours"])
            assert period.start + DAY / 2 in period
            assert f"{(period.start + DAY / 2):%Y-%m-%d}" == row["Day"]

    def test_the_budget_is_spent_comes_back_and_lasts_for_25_hours(self) -> None:
        quota = make_daily(1000, timezone="Europe/Berlin", now=utc("2026-10-24 10:00"))
        run = make_run(RunState.RUNNING)

        def compare(row: Row, now: datetime) -> None:
            found = now_is(quota)
            assert availability.used_at(found, now) == amount(row["Used"]), row
            assert availability.available(found, now) == amount(row["Available"]), row
            assert found.verdict == row["Verdict"], row

        def ask_for_more(now: datetime) -> None:
            refuse_and_pause(run, quota, 50, now)
            assert QuotaWait.objects.get(run=run).expected_at == utc("2026-10-24 22:00")

        def reset(now: datetime) -> None:
            assert look(now) == 1
            assert state_of(run) == RunState.RESUMING

        steps: list[Step] = [
            lambda now: charge(quota, 950, now),
            lambda now: charge(quota, 50, now),
            ask_for_more,
            reset,
            lambda now: charge(quota, 50, now, owner=owner_of(run.pk)),
            lambda now: charge(quota, 700, now),
            look,
        ]
        play(table(self.SECTION, 1), steps, compare)
        assert edges_of(quota) == ["reset"]


class TestACreditThatIsToppedUp:
    def test_runs_go_on_by_what_each_needs_and_a_debt_is_kept(self) -> None:
        quota = make_quota(500, now=utc("2026-06-01 11:00"))
        a, b = make_run(RunState.RUNNING), make_run(RunState.RUNNING)

        def compare(row: Row, now: datetime) -> None:
            found = now_is(quota)
            shown = (found.limit, found.used, found.reserved, availability.available(found, now))
            assert shown == tuple(amount(row[name]) for name in ("Limit", "Used", "Reserved", "Available")), row
            entries = LedgerEntry.objects.filter(quota=quota)
            assert entries.aggregate(Sum("amount"))["amount__sum"] == amount(row["Balance"]), row

        def both_wait(now: datetime) -> None:
            refuse_and_pause(a, quota, 300, now)
            refuse_and_pause(b, quota, 50, now)
            assert now_is(quota).verdict == Verdict.SUFFICIENT

        def top_up_for(run: TaskRun, units: int, now: datetime) -> None:
            charging.top_up(quota.key, units, now=now)
            assert look(now) == 1
            assert state_of(run) == RunState.RESUMING

        def both_charge(now: datetime) -> None:
            charge(quota, 300, now, owner=owner_of(a.pk))
            charging.charge(quota.key, 50, now=now, owner=owner_of(b.pk), attempt=1, refund_on_failure=True)

        def raise_the_limit(now: datetime) -> None:
            edges = Edge.objects.count()
            charging.set_limit(quota.key, 900, now=now)
            assert Edge.objects.count() == edges + 1

        steps: list[Step] = [
            lambda now: charge(quota, 480, now),
            both_wait,
            lambda now: top_up_for(b, 100, now),
            lambda now: top_up_for(a, 400, now),
            both_charge,
            lambda now: charging.set_limit(quota.key, 700, now=now),
            lambda now: charging.refund_unused([(owner_of(b.pk), 1, None)], now=now),
            raise_the_limit,
        ]
        play(table("A credit that is topped up"), steps, compare, "2026-06-01")


class TestAProvidersWindowOfFiveHours:
    def test_one_run_tries_before_the_crowd_goes_on(self) -> None:
        account = make_quota(None, now=utc("2026-06-01 11:00"))
        first, second = (make_run(RunState.RUNNING, quota=account) for _ in range(2))
        due = [make_run(quota=account) for _ in range(4)]

        def compare(row: Row, now: datetime) -> None:
            counted = Counter(TaskRun.objects.values_list("state", flat=True))
            for name in ("Paused", "Resuming", "Running", "Done"):
                assert counted[name.lower()] == int(row[name]), (row, counted)

        def hold_back(now: datetime) -> None:
            assert pausing.hold_back([launched(run, now=now) for run in due], now=now) == {run.pk for run in due}

        def end_all(now: datetime) -> None:
            for run in TaskRun.objects.filter(state=RunState.RUNNING):
                assert running.settle(run, Outcome(RunState.DONE, AttemptOutcome.DONE, spent=True), now=now)

        steps: list[Step] = [
            wait,
            lambda now: provider_refuses(first, account, 7200, now),
            lambda now: provider_refuses(second, account, 7199, now),
            hold_back,
            look,
            look,
            begin_all,
            lambda now: provider_refuses(the_running(), account, 60, now),
            look,
            begin_all,
            lambda now: (observing.observe(account.key, {}, status=200, now=now), look(now)),
            look,
            begin_all,
            end_all,
        ]
        play(table("A provider's window of five hours"), steps, compare, "2026-06-01")
        assert sum(Pause.objects.values_list("resume_count", flat=True)) == 7
        assert edges_of(account) == ["provider"]


def charge(quota: Quota, units: int, now: datetime, owner: str = "") -> None:
    charging.charge(quota.key, units, now=now, owner=owner)


def look(now: datetime) -> int:
    """Let the scan come; return how many runs it resumed."""
    scans.evaluate_due(now=now)
    return recovering.resume_by_events(now=now)


def refuse_and_pause(run: TaskRun, quota: Quota, units: int, now: datetime) -> None:
    with pytest.raises(Refused) as refused:
        charging.charge(quota.key, units, now=now)
    pause(run, refused.value, now)


def provider_refuses(run: TaskRun, quota: Quota, seconds: int, now: datetime) -> None:
    said = observing.understand({"Retry-After": str(seconds)}, status=429, now=now)
    refusal = observing.record(quota.key, said)
    assert refusal is not None
    pause(run, refusal, now)


def pause(run: TaskRun, refusal: Refused, now: datetime) -> None:
    end = AttemptEnd(AttemptOutcome.PAUSED)
    assert pausing.pause_running(claim_of(run), [refusal], attempt_end=end, progressed=False, now=now)
    assert state_of(run) == RunState.PAUSED


def begin_all(now: datetime) -> None:
    for run in TaskRun.objects.filter(state=RunState.RESUMING, due_at__lte=now):
        assert running.begin(launched(run, now=now), WORKER, now=now) is not None


def the_running() -> TaskRun:
    return TaskRun.objects.get(state=RunState.RUNNING)


def state_of(run: TaskRun) -> str:
    return TaskRun.objects.get(pk=run.pk).state
