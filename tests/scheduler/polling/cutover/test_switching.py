"""Cut-overs there and back, in this process: each phase, a crash in each, two that advance at once, and who writes what
meanwhile.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from redis import Redis

from project.kit.clock import database_now
from scheduler.polling import system_settings
from scheduler.polling.cutover import carrier_side, legacy_side, rounds, sets, standing, structure, switching
from scheduler.polling.fleet import initializing, lifecycle
from scheduler.polling.fleet.initializing import Outcome
from scheduler.polling.models import Card, CardCheck, CarrierAccount, Cutover, SystemSetting
from scheduler.polling.queue import Queue, Requested, calls
from scheduler.polling.states import CheckType, CutoverPhase
from scheduler.polling.system_settings import Mode
from tests.scheduler.polling.factories import make_account, make_cards, make_tier
from tests.scheduler.polling.fleets import USAGE, claimed

pytestmark = pytest.mark.django_db(transaction=True)

HOUR, MILLISECOND = timedelta(hours=1), timedelta(milliseconds=1)


@pytest.fixture
def account(redis: Redis) -> CarrierAccount:
    """An account of thirty cards whose usage is checked each hour, in order, in the way of accounts."""
    make_tier(usage_seconds=3600, card_status_seconds=None)
    account = make_account()
    make_cards(account, 30)
    initializing.rebuild(redis, account.pk, by="ann", now=database_now())
    return account


def cut_over(redis: Redis, wanted: Mode) -> Cutover:
    """Lead a cut-over to its end."""
    row = switching.start(wanted, actor="ann", now=database_now())
    assert switching.advance(redis, now=database_now()) is None
    row.refresh_from_db()
    return row


def ids(account: CarrierAccount) -> set[int]:
    return set(account.cards.values_list("pk", flat=True))


def sides(redis: Redis, account: CarrierAccount) -> dict[Mode, set[int]]:
    """Return which cards are in which structure."""
    return {Mode.CARRIER: set(Queue(redis).cards(account.pk)), Mode.LEGACY: sets.cards(redis)}


# --- there and back --------------------------------------------------------------------------------------------


def test_there_and_back_every_card_is_in_exactly_one_structure_and_the_row_tells_how_many(
    redis: Redis, account: CarrierAccount
) -> None:
    cards = ids(account)
    for wanted, other in ((Mode.LEGACY, Mode.CARRIER), (Mode.CARRIER, Mode.LEGACY), (Mode.LEGACY, Mode.CARRIER)):
        row = cut_over(redis, wanted)
        assert sides(redis, account) == {wanted: cards, other: set()}
        assert standing.now_holds() == standing.Standing(wanted)
        assert (row.phase, row.note, row.ended_at is not None) == (CutoverPhase.DONE, "", True)
        assert row.progress == {"at_work": 0, "cards": 30, "to_build": 0, "mended": 0, "astray": 0, "twice": 0}


def test_each_check_is_due_on_the_other_side_when_the_rows_say(redis: Redis, account: CarrierAccount) -> None:
    due = database_now() + HOUR / 2
    CardCheck.objects.bulk_create(CardCheck(card=card, type=USAGE, due_at=due) for card in account.cards.all())
    cut_over(redis, Mode.LEGACY)
    there = sets.due(redis, sorted(ids(account)))
    assert {abs(checks[USAGE] - due) < MILLISECOND for checks in there.values()} == {True}
    cut_over(redis, Mode.CARRIER)
    sight = Queue(redis).ask(calls.look(account.pk, min(there)))
    assert sight is not None
    assert abs(sight.due[USAGE] - due) < MILLISECOND
    assert sight.asked == {}


def test_what_was_asked_for_and_not_made_yet_goes_along_there_and_back(redis: Redis, account: CarrierAccount) -> None:
    card, *_ = cards = sorted(ids(account))
    due = database_now() + HOUR
    CardCheck.objects.bulk_create(CardCheck(card_id=each, type=USAGE, due_at=due) for each in cards)
    assert structure.request(redis, account.pk, [card], [USAGE], delay=HOUR / 4) == [Requested.ASKED]
    cut_over(redis, Mode.LEGACY)
    assert sets.due(redis, [card])[card][USAGE] < due - HOUR / 2
    assert structure.request(redis, account.pk, [card], [CheckType.PACKAGE], scene="page") == [Requested.ASKED]
    cut_over(redis, Mode.CARRIER)
    sight = Queue(redis).ask(calls.look(account.pk, card))
    assert sight is not None
    assert set(sight.asked) == {USAGE, CheckType.PACKAGE}


# --- nobody claims meanwhile -----------------------------------------------------------------------------------


def test_work_in_progress_is_waited_for_and_nothing_is_claimed(redis: Redis, account: CarrierAccount) -> None:
    card, *_ = sorted(ids(account))
    structure.request(redis, account.pk, [card], [USAGE])
    (claim,) = claimed(account)
    switching.start(Mode.LEGACY, actor="ann", now=database_now())
    row = switching.advance(redis, now=database_now())
    assert row is not None
    assert (row.phase, row.progress, "1 cards are worked on" in row.note) == ("draining", {"at_work": 1}, True)
    assert claimed(account) == ()
    said = rounds.dispatch(redis, now=database_now())
    assert (said.cards, said.not_ready, said.note) == (
        0,
        (),
        "A cut-over to legacy is under way: no card is claimed until it is done.",
    )
    Queue(redis).ask(calls.release(account.pk, [(claim.card_id, claim.token)]))
    assert switching.advance(redis, now=database_now()) is None


def test_a_claim_whose_lease_is_over_is_given_back_and_cannot_be_started_any_more(
    redis: Redis, account: CarrierAccount
) -> None:
    structure.request(redis, account.pk, sorted(ids(account))[:3], [USAGE])
    claims = claimed(account, lease=0)
    cut_over(redis, Mode.LEGACY)
    cut_over(redis, Mode.CARRIER)
    held = [(claim.card_id, claim.token) for claim in claims]
    assert Queue(redis).ask(calls.start(account.pk, "late", HOUR, held)) == [False] * 3


def test_work_of_the_simple_way_is_waited_for_and_its_messages_end_by_themselves(
    redis: Redis, account: CarrierAccount
) -> None:
    cut_over(redis, Mode.LEGACY)
    structure.request(redis, account.pk, sorted(ids(account))[:2], [USAGE])
    begun, waiting = sets.take_due(redis, 9)
    until = sets.begin(redis, begun, HOUR)
    switching.start(Mode.CARRIER, actor="ann", now=database_now())
    row = switching.advance(redis, now=database_now())
    assert row is not None
    assert row.phase == CutoverPhase.DRAINING
    assert not sets.begin(redis, waiting, HOUR)
    sets.end(redis, begun, until, {USAGE: database_now() + HOUR})
    assert switching.advance(redis, now=database_now()) is None
    assert not sets.begin(redis, waiting, HOUR)


def test_whoever_began_to_rebuild_before_the_switch_cannot_let_claiming_begin(
    redis: Redis, account: CarrierAccount
) -> None:
    told: list[int] = []

    def tell(done: int, total: int) -> None:
        told.append(done)
        cut_over(redis, Mode.LEGACY)

    late = initializing.rebuild(redis, account.pk, by="ann", now=database_now(), tell=tell)
    assert (late.outcome, told) == (Outcome.OVERTAKEN, [30])
    assert claimed(account) == ()


def test_the_live_order_of_an_account_is_not_built_while_the_simple_way_decides(
    redis: Redis, account: CarrierAccount
) -> None:
    cut_over(redis, Mode.LEGACY)
    rounds.build_if_lost(redis, account.pk, now=database_now())
    rounds.reconcile(redis, now=database_now())
    assert initializing.rebuild(redis, account.pk, by="ann", now=database_now()).outcome is Outcome.NOT_IN_USE
    assert sides(redis, account)[Mode.CARRIER] == set()


# --- crashes and races -----------------------------------------------------------------------------------------


class Crash(Exception):
    """The process dies here."""


STEPS = [
    (carrier_side, "close"),
    (legacy_side, "close"),
    (carrier_side, "at_work"),
    (legacy_side, "build_if_lost"),
    (sets, "put"),
    (sets, "hurry"),
    (legacy_side, "mend"),
    (carrier_side, "empty"),
    (legacy_side, "astray"),
    (system_settings, "set_mode"),
]


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(("module", "step"), STEPS, ids=[f"{module.__name__}.{step}" for module, step in STEPS])
def test_a_crash_at_any_step_loses_no_card_and_the_next_scan_goes_on(
    redis: Redis, account: CarrierAccount, monkeypatch: pytest.MonkeyPatch, module: object, step: str, *, before: bool
) -> None:
    once = getattr(module, step)

    def crashing(*arguments: object, **options: object) -> object:
        if not before:
            once(*arguments, **options)
        raise Crash

    switching.start(Mode.LEGACY, actor="ann", now=database_now())
    with monkeypatch.context() as patched:
        patched.setattr(module, step, crashing)
        with pytest.raises(Crash):
            switching.advance(redis, now=database_now())
    assert set.union(*sides(redis, account).values()) == ids(account)
    assert switching.advance(redis, now=database_now()) is None
    assert sides(redis, account) == {Mode.CARRIER: set(), Mode.LEGACY: ids(account)}
    assert standing.now_holds().claims is Mode.LEGACY


@pytest.mark.parametrize("phase", [phase for phase in CutoverPhase if phase is not CutoverPhase.DONE])
def test_of_two_that_advance_at_once_one_writes_each_phase_and_both_reach_the_end(
    redis: Redis, account: CarrierAccount, monkeypatch: pytest.MonkeyPatch, phase: CutoverPhase
) -> None:
    step = switching._STEPS[phase]
    ended: list[Cutover | None] = []

    def overtaken(*arguments: object) -> object:
        if not ended:
            ended.append(None)
            ended.append(switching.advance(redis, now=database_now()))
        return step(*arguments)  # type: ignore[arg-type]

    monkeypatch.setitem(switching._STEPS, phase, overtaken)
    row = cut_over(redis, Mode.LEGACY)
    assert ended == [None, None]
    assert row.version == 5
    assert SystemSetting.objects.get().version == 1


def test_redis_that_is_emptied_in_the_middle_is_built_again(
    redis: Redis, account: CarrierAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    mend = legacy_side.mend
    flushed: list[bool] = []

    def flush(*arguments: Redis, now: object) -> int:
        if not flushed:
            flushed.append(bool(redis.delete(*redis.scan_iter("tideline:polling:*"))))
        return mend(*arguments, now=database_now())

    monkeypatch.setattr(legacy_side, "mend", flush)
    switching.start(Mode.LEGACY, actor="ann", now=database_now())
    while switching.advance(redis, now=database_now()) is not None:
        pass
    assert sides(redis, account) == {Mode.CARRIER: set(), Mode.LEGACY: ids(account)}
    assert sets.is_ready(redis)


def test_sets_that_are_lost_are_built_again_and_from_before_a_change_of_tiers_too(
    redis: Redis, account: CarrierAccount
) -> None:
    cut_over(redis, Mode.LEGACY)
    for lost in (redis.flushdb, make_tier):
        lost()
        for order in rounds.dispatch(redis, now=database_now()).not_ready:
            rounds.build_if_lost(redis, order, now=database_now())
        rounds.reconcile(redis, now=database_now())
        assert sets.is_ready(redis)
        assert sets.cards(redis) == ids(account)


# --- who writes what -------------------------------------------------------------------------------------------


def come_and_go(account: CarrierAccount) -> Card:
    """Let one card come and another go, and return the one that came."""
    lifecycle.disable([min(ids(account))], now=database_now())
    return lifecycle.add_cards([make_new(account)], now=database_now())[0]


def make_new(account: CarrierAccount) -> Card:
    (card,) = make_cards(account, 1)
    iccid = card.iccid
    card.delete()
    return Card(iccid=iccid, account=account)


@pytest.mark.parametrize("mode", Mode)
def test_cards_that_come_and_go_do_so_in_the_structure_of_whoever_decides(
    redis: Redis, account: CarrierAccount, mode: Mode
) -> None:
    if mode is Mode.LEGACY:
        cut_over(redis, mode)
    come_and_go(account)
    polled = set(account.cards.filter(polling_enabled=True).values_list("pk", flat=True))
    assert sides(redis, account) == {mode: polled, standing.other(mode): set()}
    assert rounds.reconcile(redis, now=database_now()) == ""


@pytest.mark.parametrize("wanted", Mode)
def test_amid_a_cut_over_cards_come_and_go_and_requests_are_made_and_nothing_is_lost(
    redis: Redis, account: CarrierAccount, wanted: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wanted is Mode.CARRIER:
        cut_over(redis, Mode.LEGACY)
    for phase, step in list(switching._STEPS.items()):
        monkeypatch.setitem(switching._STEPS, phase, meanwhile(step, lambda: come_and_go(account)))
    asked = max(ids(account))
    monkeypatch.setattr(
        switching.SIDES[wanted],
        "mend",
        meanwhile(switching.SIDES[wanted].mend, lambda: structure.request(redis, account.pk, [asked], [USAGE])),
    )
    switching.start(wanted, actor="ann", now=database_now())
    while (row := switching.advance(redis, now=database_now())) is not None:
        assert row.phase == CutoverPhase.PROVING
    polled = set(account.cards.filter(polling_enabled=True).values_list("pk", flat=True))
    assert sides(redis, account) == {wanted: polled, standing.other(wanted): set()}
    assert is_asked(redis, account, asked, wanted)


def meanwhile(step: Callable[..., object], happens: Callable[[], object]) -> Callable[..., object]:
    """Return the step, with something that happens before it and after it, the first time."""
    times: Iterator[bool] = iter([True])

    def with_it(*arguments: object, **options: object) -> object:
        first = next(times, False)
        if first:
            happens()
        result = step(*arguments, **options)
        if first:
            happens()
        return result

    return with_it


def is_asked(redis: Redis, account: CarrierAccount, card_id: int, mode: Mode) -> bool:
    if mode is Mode.LEGACY:
        return sets.due(redis, [card_id])[card_id][USAGE] <= database_now()
    sight = Queue(redis).ask(calls.look(account.pk, card_id))
    return sight is not None and USAGE in sight.asked


# --- who may begin one -----------------------------------------------------------------------------------------


def test_one_cut_over_at_a_time_and_none_to_the_way_that_decides(redis: Redis, account: CarrierAccount) -> None:
    with pytest.raises(ValidationError, match="decides already"):
        switching.start(Mode.CARRIER, actor="ann", now=database_now())
    switching.start(Mode.LEGACY, actor="ann", now=database_now())
    for wanted in Mode:
        with pytest.raises(ValidationError, match="under way already"):
            switching.start(wanted, actor="bob", now=database_now())
