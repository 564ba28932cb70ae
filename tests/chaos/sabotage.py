"""The trial of the audit itself: every book is broken once, and has to be found wrong. All of it is rolled back."""

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet

from alerts.models import Alert
from alerts.states import AlertState
from quotas.models import Edge, LedgerEntry, Quota
from scheduler.models import Approval, Fire, RunEvent, TaskRun
from scheduler.polling.models import Card, CardCheck
from scheduler.states import EventTrigger, FireOutcome, RunState
from tests.chaos.books import Audit
from tests.chaos.report import judged
from tests.chaos.site import FREE, LIMITED
from tests.chaos.work import CREDIT, SCARCE

Sabotage = Callable[[Audit], object]
CHECKS = """
SELECT conrelid::regclass, quote_ident(conname) FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'public'::regnamespace
"""


def tried(audit: Audit) -> dict[str, bool]:
    """Break one book after another, and return of each way to break it whether the audit noticed."""
    each = [(book, sabotage) for book, sabotages in SABOTAGES.items() for sabotage in sabotages]
    return {sabotage.__name__: _is_noticed(audit, book, sabotage) for book, sabotage in each}


def _is_noticed(audit: Audit, book: str, sabotage: Sabotage) -> bool:
    broken = _with_evidence_of_its_own(audit)
    with transaction.atomic():
        _let_everything_be_written()
        sabotage(broken)
        noticed = bool(judged(book, "", getattr(broken, book)).fault)
        transaction.set_rollback(True)
    return noticed


def _with_evidence_of_its_own(audit: Audit) -> Audit:
    own = copy.copy(audit)
    own.marks, own.stats = copy.deepcopy(audit.marks), copy.deepcopy(audit.stats)
    own.taken, own.watch = [*audit.taken], copy.deepcopy(audit.watch)
    return own


def _let_everything_be_written() -> None:
    """Take away what PostgreSQL itself would refuse: triggers, checks, and that one alert is open."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(CHECKS)
        for table, check in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {check}")
        cursor.execute("DROP INDEX alert_open_once")


def _one(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.filter(pk=rows.earliest("pk").pk)


def forget_a_fire(_: Audit) -> None:
    """An instant was due, and the record that should tell of it tells of another."""
    _one(Fire.objects.filter(outcome=FireOutcome.STARTED)).update(fire_at=F("fire_at") + timedelta(milliseconds=1))


def fail_what_was_done(_: Audit) -> None:
    """A run has another outcome than its history tells."""
    _one(TaskRun.objects.filter(state=RunState.DONE)).update(state=RunState.CANCELLED)


def do_what_was_saved(audit: Audit) -> None:
    """An item was done once more after it had been saved."""
    run = TaskRun.objects.filter(job="test.items", state=RunState.DONE).earliest("pk")
    marks = audit.marks[run.pk]
    marks.append(next(mark for mark in marks if "item" in mark))


def go_back(audit: Audit) -> None:
    """A run stands at an earlier item than it did."""
    audit.watch.look()
    _one(TaskRun.objects.filter(progress_done__gt=1)).update(progress_done=F("progress_done") - 1)
    audit.watch.look()


def move_a_run_unasked(_: Audit) -> None:
    """An answer moved a run twice."""
    event = RunEvent.objects.filter(trigger=EventTrigger.APPROVAL).earliest("pk")
    event.pk = None
    RunEvent.objects.bulk_create([event])


def ask_without_answer(_: Audit) -> None:
    """A question was left open."""
    _one(Approval.objects.all()).update(answer="")


def pay_twice(_: Audit) -> None:
    """An item was paid for twice."""
    Quota.objects.filter(key=CREDIT).update(spent_total=F("spent_total") + 1)


def lose_an_entry(_: Audit) -> None:
    """The balance is not what the entries add up to."""
    _one(LedgerEntry.objects.filter(quota__key=SCARCE)).delete()


def forget_a_pause(_: Audit) -> None:
    """A run is paused, and nothing will resume it."""
    _one(TaskRun.objects.all()).update(state=RunState.PAUSED, finished_at=None)


def forget_an_edge(_: Audit) -> None:
    """A quota came back, and nobody has done anything about it."""
    _one(Edge.objects.all()).update(handled_at=None)


def lose_a_card(_: Audit) -> None:
    """A card is polled in the order of another account than its own."""
    card = Card.objects.earliest("pk")
    other = Card.objects.exclude(account=card.account_id).earliest("pk").account_id
    Card.objects.filter(pk=card.pk).update(account=other)


def ask_twice_at_once(audit: Audit) -> None:
    """The carrier was asked about a card while it still answered."""
    audit.stats[FREE]["card_asked_twice_at_once"] += 1


def call_too_often(audit: Audit) -> None:
    """The limit was passed in a time in which the limiter knew of every call."""
    counted = audit.stats[LIMITED]
    counted["by_second"] = [2 * calls + 10 for calls in counted["by_second"]]


def blame_a_card(_: Audit) -> None:
    """Trouble of ours was counted for a card."""
    _one(CardCheck.objects.all()).update(error_class="transient", error="It did not answer.")


def write_what_was_lost(audit: Audit) -> None:
    """A check was written by who had lost its card."""
    audit.watch.look()
    _one(CardCheck.objects.filter(token__gt=0)).update(token=F("token") - 1)
    audit.watch.look()


def open_it_twice(_: Audit) -> None:
    """Two alerts are open of one problem."""
    pair = Alert.objects.order_by("pk")[:2]
    Alert.objects.filter(pk__in=pair).update(fingerprint="x", state=AlertState.OPEN, resolved_at=None)


def tell_it_twice(audit: Audit) -> None:
    """A message arrived twice."""
    audit.taken.append(audit.taken[0])


# By the name of the figure that has to turn wrong.
SABOTAGES: dict[str, tuple[Sabotage, ...]] = {
    "due_instants": (forget_a_fire,),
    "outcomes": (fail_what_was_done,),
    "effects": (do_what_was_saved,),
    "progress": (go_back,),
    "questions": (move_a_run_unasked, ask_without_answer),
    "payments": (pay_twice,),
    "ledger": (lose_an_entry,),
    "pauses": (forget_a_pause,),
    "edges": (forget_an_edge,),
    "cards": (lose_a_card,),
    "calls_at_once": (ask_twice_at_once,),
    "calls_within_limits": (call_too_often,),
    "checks": (blame_a_card, write_what_was_lost),
    "alerts": (open_it_twice,),
    "messages": (tell_it_twice,),
}
