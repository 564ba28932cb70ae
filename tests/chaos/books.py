"""The audit of all books after a campaign: each promise, and for how many rows, marks, calls or messages it holds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Sum

from alerts.models import Alert, Delivery, Event
from alerts.states import DeliveryState
from quotas.models import Edge, LedgerEntry, Quota
from scheduler.models import Approval, Attempt, Fire, RunEvent, TaskRun
from scheduler.polling.models import Card, CardCheck, Cutover
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from tests.audit import audit_quotas, audit_schedule, forgotten
from tests.benchmarks.polled import stats
from tests.chaos.blows import Struck
from tests.chaos.people import People
from tests.chaos.report import Figure, judged
from tests.chaos.site import CALLS_A_SECOND, FREE, LIMITED, Site
from tests.chaos.watch import Watch
from tests.chaos.work import CREDIT, SCARCE, Plan, Work
from tests.faults.books import audit_marks, audit_runs
from tests.faults.outbox_books import RAISED, audit_told
from tests.faults.polling_books import audit_no_failure, audit_orders

# What makes the limiters forget the calls that were made.
FORGETFUL = ("empty_the_broker", "restart_the_broker_empty", "forget_the_limits")
# After it, within a window an account may be asked twice its limit; a second more, for seconds are counted from full to
# full ones, and one for the way.
FORGOTTEN_SECONDS = 3.0
# A call that leaves in time arrives when this machine, on which all the others run, lets it: what was allowed in one
# second may come in the next, and what was allowed once more because the first was forgotten as well.
MOST_IN_A_SECOND = 2 * CALLS_A_SECOND
MOST_WITHOUT_MEMORY = 3 * CALLS_A_SECOND
# Over longer it comes to the same.
SPAN_SECONDS = 10
MOST_IN_A_SPAN = (SPAN_SECONDS + 1) * CALLS_A_SECOND
WITH_ITEMS = ("test.items", "test.spends", "test.asks")


class Audit:
    """The audit of a campaign that is over: nothing works any more.

    Attributes:
        marks: what the jobs did, by run.
        stats: what the carrier counted, by account.
        taken: the messages that the receiver took.
        watch: what was seen meanwhile.
    """

    def __init__(self, site: Site, work: Work, people: People, watch: Watch, struck: Sequence[Struck]) -> None:
        self._work, self._people, self._struck = work, people, struck
        self.marks, self.stats = site.marks_by_run(), stats(site.carrier)
        self.taken, self.watch = list(site.receiver.taken), watch

    def figures(self) -> list[Figure]:
        """Return one figure for each promise."""
        return [
            judged("each has one fire or one recorded skip", "due instants", self.due_instants),
            judged("each has one outcome, and a history without a gap", "runs", self.outcomes),
            judged("none is done again once it was saved, none by who had lost the run", "side effects", self.effects),
            judged("none went back", "looks at a run's progress", self.progress),
            judged("each is answered once, and moved its run once", "questions", self.questions),
            judged("each is paid for once", "items that cost", self.payments),
            judged("their sum is the balance", "ledger entries", self.ledger),
            judged("each came to its end", "pauses", self.pauses),
            judged("each is handled", "edges", self.edges),
            judged("none is lost, none is in two orders", "cards", self.cards),
            judged("no card was asked twice at once", "calls", self.calls_at_once),
            judged("none was above the limit while the limiter knew it", "limited calls", self.calls_within_limits),
            judged("none was written by who had lost it, or failed by our fault", "checks written", self.checks),
            judged("one at most is open of a fingerprint", "alerts", self.alerts),
            judged("none came twice, and none is lost without being marked", "messages taken", self.messages),
        ]

    # --- runs ----------------------------------------------------------------------------------------------------

    def due_instants(self) -> int:
        return sum(self._instants_of(plan) for plan in self._work.plans.values())

    def _instants_of(self, plan: Plan) -> int:
        stretches = plan.stretches()
        audit_schedule(plan.schedule, stretches)
        return sum(1 for stretch in stretches for _ in stretch.due())

    def outcomes(self) -> int:
        audit_runs()
        ends = Counter(TaskRun.objects.values_list("job", "state"))
        wanted = {("test.raises", RunState.FAILED), ("test.asks", RunState.CANCELLED)}
        strange = {end: count for end, count in ends.items() if end not in wanted and end[1] != RunState.DONE}
        assert not strange, strange
        return sum(ends.values())

    def effects(self) -> int:
        for run in TaskRun.objects.filter(job__in=WITH_ITEMS, state=RunState.DONE):
            audit_marks(run, self.marks.get(run.pk, []))
        for run in TaskRun.objects.filter(state=RunState.CANCELLED):
            taken = {mark["item"] for mark in self.marks.get(run.pk, []) if "item" in mark}
            assert max(taken) < run.params["ask_before"], f"{run} went on though it was refused: {taken}"
        for run in TaskRun.objects.filter(job="test.one"):
            tokens = [mark["token"] for mark in self.marks.get(run.pk, [])]
            assert 1 <= len(tokens) <= run.attempt_count, f"{run}: {len(tokens)} marks of {run.attempt_count} attempts"
            assert tokens == sorted(set(tokens)), f"{run}: {tokens}"
        return sum("item" in mark for marks in self.marks.values() for mark in marks)

    def progress(self) -> int:
        assert not self.watch.gone_back, self.watch.gone_back[0]
        return self.watch.looks

    def questions(self) -> int:
        answered = Counter(Approval.objects.exclude(answer="").values_list("run", flat=True))
        moved = Counter(RunEvent.objects.filter(trigger=EventTrigger.APPROVAL).values_list("run", flat=True))
        assert answered == moved
        assert not Approval.objects.filter(answer="").exists()
        return answered.total()

    # --- quotas --------------------------------------------------------------------------------------------------

    def payments(self) -> int:
        paid = sum(self._payments_of(key) for key in (SCARCE, CREDIT))
        assert paid > 0
        return paid

    def _payments_of(self, key: str) -> int:
        runs = TaskRun.objects.filter(job="test.spends", params__of=key).values_list("pk", flat=True)
        items = {(run, mark["item"]) for run in runs for mark in self.marks.get(run, []) if "item" in mark}
        spent = Quota.objects.get(key=key).spent_total
        assert spent == len(items), f"{key}: {spent} were paid for {len(items)} items"
        return len(items)

    def ledger(self) -> int:
        audit_quotas()
        return LedgerEntry.objects.count()

    def pauses(self) -> int:
        assert not forgotten().exists()
        assert not TaskRun.objects.filter(finished_at__isnull=True).exists()
        pauses = RunEvent.objects.filter(to_state=RunState.PAUSED).count()
        assert pauses > 0
        return pauses

    def edges(self) -> int:
        unhandled = Edge.objects.filter(handled_at__isnull=True).values_list("quota__key", "at")
        assert not list(unhandled), list(unhandled)
        return Edge.objects.count()

    # --- cards ---------------------------------------------------------------------------------------------------

    def cards(self) -> int:
        audit_orders(*(account.pk for account in self._work.accounts))
        astray = Cutover.objects.exclude(progress__astray=0, progress__twice=0).values_list("pk", "progress")
        assert not list(astray), list(astray)
        return Card.objects.count()

    def calls_at_once(self) -> int:
        twice = {name: self.stats[name]["card_asked_twice_at_once"] for name in (LIMITED, FREE)}
        assert not any(twice.values()), twice
        return sum(sum(self.stats[name]["calls"].values()) for name in (LIMITED, FREE))

    def calls_within_limits(self) -> int:
        counted = self.stats[LIMITED]
        (window,) = counted["windows"]
        assert window["most"] <= MOST_WITHOUT_MEMORY, f"{window['most']} in a trailing second"
        excused, by_second = self._seconds_without_memory(), counted["by_second"]
        for second, calls in enumerate(by_second):
            allowed = MOST_WITHOUT_MEMORY if second in excused else MOST_IN_A_SECOND
            assert calls <= allowed, f"{calls} calls in second {second}, where {allowed} may come"
        for begin in range(len(by_second) - SPAN_SECONDS):
            span = range(begin, begin + SPAN_SECONDS)
            calls = sum(by_second[begin : begin + SPAN_SECONDS])
            assert calls <= MOST_IN_A_SPAN or excused & set(span), f"{calls} calls in {SPAN_SECONDS} s from {begin} on"
        return sum(counted["calls"].values())

    def _seconds_without_memory(self) -> set[int]:
        """Return the seconds, as the carrier numbers them, in which the limiter may not have known earlier calls."""
        began = self._work.counting_since
        lost = [blow for blow in self._struck if blow.name in FORGETFUL]
        return {
            second
            for blow in lost
            for second in range(int(blow.began - began) - 1, int(blow.ended - began + FORGOTTEN_SECONDS) + 1)
        }

    def checks(self) -> int:
        audit_no_failure()
        assert not self.watch.wrong_checks, self.watch.wrong_checks[0]
        assert not CardCheck.objects.filter(succeeded_at=None, type__in=("usage", "card_status")).exists()
        return self.watch.ledger.writes

    # --- alerts --------------------------------------------------------------------------------------------------

    def alerts(self) -> int:
        unresolved = Alert.objects.filter(resolved_at__isnull=True)
        doubled = unresolved.values("fingerprint").annotate(number=Count("pk")).filter(number__gt=1)
        assert not list(doubled), list(doubled)
        return Alert.objects.count()

    def messages(self) -> int:
        audit_told(self._work.channel, self.taken)
        opened = Event.objects.filter(alert__fingerprint__startswith=RAISED, telling="opened")
        assert opened.count() == self._people.raised, f"{opened.count()} of {self._people.raised} became events"
        untold = opened.exclude(deliveries__channel=self._work.channel)
        assert not list(untold), list(untold)
        return len(self.taken)


def work_done(marks: Mapping[int, list[dict[str, Any]]]) -> dict[str, int]:
    """Return what was done and lost, as numbers with their names."""
    attempts = Counter(Attempt.objects.values_list("outcome", flat=True))
    items = Counter(
        (run, mark["item"]) for run, of_run in marks.items() for mark in of_run if isinstance(mark.get("item"), int)
    )
    return {
        "runs that ended well": TaskRun.objects.filter(state=RunState.DONE).count(),
        "fires recorded": Fire.objects.count(),
        "attempts": attempts.total(),
        "attempts that lost their worker": attempts[AttemptOutcome.LOST],
        "items done again, for they had not been saved": items.total() - len(items),
        "runs resumed": RunEvent.objects.filter(to_state=RunState.RESUMING).count(),
        "runs resumed by edges": Edge.objects.aggregate(total=Sum("resumed_count", default=0))["total"],
        "cut-overs": Cutover.objects.count(),
        "deliveries in doubt": Delivery.objects.filter(state=DeliveryState.UNKNOWN).count(),
    }
