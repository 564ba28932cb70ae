"""Whatever happens to a queue, and in whatever order, it is as on paper: no card is lost or claimed by two.

Hypothesis draws claims, starts, renewals, finishes, releases, requests, cards that come, change and go, the passing of
time, the loss of everything and rebuilds; after each step all that Redis keeps is compared with a plain model.
`TIDELINE_TEST_EXAMPLES=5000` draws as many examples as that, and looks for the shortest way to what fails.

Time passes in whole minutes, by moving all instants into the past. Cards are due at half minutes, so that the fraction
of a second that a step takes decides nothing.
"""

import os
from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from hypothesis import HealthCheck, Phase
from hypothesis import settings as thoroughness
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from redis import Redis

from quotas.ratelimit import Window
from scheduler.polling.queue import Card, Finish, Queue, RoundState, Sight, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import instant, milliseconds
from scheduler.polling.states import CheckType
from tests.scheduler.polling.queue.model import PlainCard, PlainClaim, PlainQueue, Taken
from tests.scheduler.polling.queue.states import begin_second, claim_round, forget, let_pass, look, server_now

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("TIDELINE_TEST_EXAMPLES", "25"))
LONG = EXAMPLES > 1000
ACCOUNTS = count(50_000_000)

MINUTE = 60_000  # milliseconds
CARD = st.integers(101, 108)
CARDS = st.lists(CARD, min_size=1, max_size=4, unique=True)
TYPES = st.sets(st.sampled_from(CheckType), min_size=1)
MINUTES = st.integers(-3, 8)
PICK = st.integers(0, 1_000)
EXECUTOR = st.sampled_from(["one", "other"])
LEASES = st.integers(1, 3)


class Polling(RuleBasedStateMachine):
    """A queue, its plain counterpart, and all claims that were ever made.

    The model's clock starts with the server's and goes on by itself: what was moved in Redis by so many minutes has
    become so many minutes older there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client = Redis.from_url(settings.REDIS_URL)
        self.account, self.queue, self.plain = next(ACCOUNTS), Queue(self.client), PlainQueue(is_ready=True)
        self.begin, self.passed = milliseconds(server_now(self.client)), 0
        self.made: list[Taken] = []
        self.queue.ask(calls.complete_rebuild(self.account, "first", 0))
        self.put_cards(cards=list(range(101, 107)), due={CheckType.USAGE: -1, CheckType.PACKAGE: 2}, failures=1)

    def teardown(self) -> None:
        try:
            self._every_card_comes_again()
        finally:
            forget(self.client, self.account)
            self.client.close()

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(minutes=st.integers(1, 4))
    def time_passes(self, minutes: int) -> None:
        let_pass(self.client, self.account, timedelta(minutes=minutes))
        self.passed += minutes * MINUTE

    @rule(
        most=st.integers(1, 5),
        limit=st.integers(1, 6),
        lease=LEASES,
        share=st.sampled_from([1, 30, 50, 99]),
        windows=st.sampled_from([None, 1, 3]),
    )
    def claim(self, most: int, limit: int, lease: int, share: int, windows: int | None) -> None:
        begin_second(self.client, self.account)
        round_ = claim_round(
            self.queue,
            self.account,
            most=most,
            inflight_limit=limit,
            lease=timedelta(minutes=lease),
            priority_share=Decimal(share) / 100,
            windows=[Window(windows, 3600)] if windows else [],
        )
        if not self.plain.is_ready:
            assert round_.state is RoundState.NOT_READY
            return
        token = round_.claims[0].token if round_.claims else 0
        assert not token or token > self.plain.last_token
        expected = self.plain.claim(self._now(), most, limit, lease * MINUTE, share, windows or 99, token)
        assert [Taken(each.card_id, each.token, each.types) for each in round_.claims] == expected
        for each in round_.claims:
            assert each.failures == dict.fromkeys(CheckType, 0) | self.plain.cards[each.card_id].failures
        self.made += expected
        assert not expected or sum(card.claim is not None for card in self.plain.cards.values()) <= limit

    @precondition(lambda self: self.made)
    @rule(pick=PICK, executor=EXECUTOR, lease=LEASES)
    def start(self, pick: int, executor: str, lease: int) -> None:
        self._hold(self._made(pick), executor, lease, starts=True)

    @precondition(lambda self: self.made)
    @rule(pick=PICK, executor=EXECUTOR, lease=LEASES)
    def renew(self, pick: int, executor: str, lease: int) -> None:
        self._hold(self._made(pick), executor, lease, starts=False)

    @precondition(lambda self: self.made)
    @rule(
        picks=st.lists(PICK, min_size=1, max_size=3, unique=True),
        due=st.dictionaries(st.sampled_from(CheckType), st.one_of(st.none(), st.integers(1, 8))),
        failures=st.dictionaries(st.sampled_from(CheckType), st.integers(0, 3)),
    )
    def finish(self, picks: list[int], due: dict[CheckType, int | None], failures: dict[CheckType, int]) -> None:
        news = {type_: None if minutes is None else self._due(minutes) for type_, minutes in due.items()}
        told = {type_: None if at is None else self._told(at) for type_, at in news.items()}
        ended = [self._made(pick) for pick in picks]
        finishes = [Finish(each.card, each.token, told, failures) for each in ended]
        assert self.queue.ask(calls.finish(self.account, finishes)) == [
            self.plain.finish(each.card, each.token, news, failures) for each in ended
        ]

    @precondition(lambda self: self.made)
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        made = self._made(pick)
        answer = self.queue.ask(calls.release(self.account, [(made.card, made.token)]))
        assert answer == [self.plain.release(made.card, made.token)]

    @rule(
        card=CARD,
        types=TYPES,
        delay=st.sampled_from([0, 0, 1, 3]),
        scene=st.sampled_from(["paid", "page"]),
        cooldown=st.sampled_from([0, 2]),
    )
    def request(self, card: int, types: set[CheckType], delay: int, scene: str, cooldown: int) -> None:
        wanted = calls.request(
            self.account,
            [card],
            types,
            scene=scene,
            cooldown=timedelta(minutes=cooldown),
            delay=timedelta(minutes=delay),
        )
        (outcome,) = self.queue.ask(wanted)
        asked = {}
        if card in self.plain.cards:
            sight = look(self.queue, self.account, card)
            asked = {type_: milliseconds(at) + self.passed for type_, at in sight.asked.items()}
        now = self._now()
        at = now + delay * MINUTE
        assert outcome.name == self.plain.request(now, card, types, at, scene, cooldown * MINUTE)
        self._adopt(card, asked)

    @rule(cards=CARDS, due=st.dictionaries(st.sampled_from(CheckType), MINUTES), failures=st.integers(0, 2))
    def put_cards(self, cards: list[int], due: dict[CheckType, int], failures: int) -> None:
        by_type, known = {type_: self._due(minutes) for type_, minutes in due.items()}, dict.fromkeys(due, failures)
        told = {type_: self._told(at) for type_, at in by_type.items()}
        new = self.queue.ask(calls.put(self.account, [Card(card, told, known) for card in cards]))
        assert new == len(set(cards) - set(self.plain.cards))
        for card in cards:
            self.plain.put(card, dict(by_type), dict(known))

    @rule(cards=CARDS)
    def remove(self, cards: list[int]) -> None:
        gone = [card for card in cards if self.plain.cards.pop(card, None)]
        assert self.queue.ask(calls.remove(self.account, cards)) == len(gone)

    @rule()
    def rebuild(self) -> None:
        self.queue.ask(calls.begin_rebuild(self.account))
        self._put_again_and_complete()

    @precondition(lambda self: len(self.made) > 5)
    @rule()
    def everything_is_lost_and_rebuilt(self) -> None:
        forget(self.client, self.account)
        for card in self.plain.cards.values():
            card.claim, card.asked = None, {}
        self.plain.cooldowns, self.plain.credit = {}, 0
        self.plain.lease_expired = self.plain.stale_finish = 0
        self.plain.is_ready = False
        self.claim(most=5, limit=5, lease=1, share=50, windows=None)
        self._put_again_and_complete()

    # --- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def the_test_is_quick_enough_for_its_minutes(self) -> None:
        assert milliseconds(server_now(self.client)) - self.begin < MINUTE / 2

    @invariant()
    def all_is_as_on_paper(self) -> None:
        cards = self.plain.cards
        claimed = {card_id for card_id, card in cards.items() if card.claim}
        asked = {card_id for card_id, card in cards.items() if card.asked}
        members = self._members()
        assert members["queue"] == members["cards"] == set(cards)
        assert members["running"] == members["claims"] == claimed
        assert members["asked"] == asked
        assert members["priority"] == asked - claimed
        *sights, counts = self.queue.perform(
            [
                *(calls.look(self.account, card_id) for card_id in cards),
                calls.count(self.account),
            ]
        )
        for card, sight in zip(cards.values(), sights, strict=True):
            self._is_as_on_paper(card, sight)
        assert (counts.cards, counts.running) == (len(cards), len(claimed))
        assert (counts.lease_expired, counts.stale_finish) == (self.plain.lease_expired, self.plain.stale_finish)

    def _is_as_on_paper(self, card: PlainCard, sight: Sight) -> None:
        assert {type_: self._heard(at) for type_, at in sight.due.items() if at is not None} == card.due
        assert {type_: self._heard(at) for type_, at in sight.asked.items()} == card.asked
        assert sight.failures == dict.fromkeys(CheckType, 0) | card.failures
        assert sight.priority is None or self._heard(sight.priority) == min(card.asked.values())
        if card.claim is None:
            assert (sight.token, sight.lease_end, sight.executor) == (0, None, "")
            assert (sight.turn and self._heard(sight.turn)) == min(card.due.values(), default=None)
        else:
            assert (sight.token, sight.executor) == (card.claim.token, card.claim.executor)
            assert sight.turn == sight.lease_end is not None
            self._adopt_lease(card.claim, self._heard(sight.lease_end))

    def _every_card_comes_again(self) -> None:
        """With nothing but time and rounds, whatever is checked at all is claimed."""
        self.time_passes(minutes=60)
        wanted = {
            card_id
            for card_id, card in self.plain.cards.items()
            if card.due or card.asked or (card.claim and card.claim.asked)
        }
        taken: set[int] = set()
        for _ in range(2 * len(wanted)):
            self.made = []
            self.claim(most=5, limit=100, lease=100, share=50, windows=None)
            taken |= {each.card for each in self.made}
        assert taken == wanted

    # --- helpers -------------------------------------------------------------------------------------------------

    def _hold(self, made: Taken, executor: str, lease: int, *, starts: bool) -> None:
        call = calls.start if starts else calls.renew
        held = [(made.card, made.token)]
        answer = self.queue.ask(call(self.account, executor, timedelta(minutes=lease), held))
        lease_end = self._now() + lease * MINUTE
        assert answer == [self.plain.hold(made.card, made.token, executor, lease_end, starts=starts)]

    def _put_again_and_complete(self) -> None:
        """From the rows, which are what the model knows."""
        for card_id, card in self.plain.cards.items():
            due = {type_: self._told(at) for type_, at in card.due.items()}
            self.queue.ask(calls.put(self.account, [Card(card_id, due, card.failures)]))
        self.queue.ask(calls.complete_rebuild(self.account, "again", self.plain.last_token))
        self.plain.is_ready = True

    def _adopt(self, card_id: int, asked: dict[CheckType, int]) -> None:
        """Take the server's instants for the requests, which the model knows to the second."""
        if card_id in self.plain.cards:
            card = self.plain.cards[card_id]
            assert asked.keys() == card.asked.keys()
            assert all(0 <= card.asked[type_] - at < MINUTE / 2 for type_, at in asked.items())
            card.asked = asked

    def _adopt_lease(self, claim: PlainClaim, lease_end: int) -> None:
        assert abs(claim.lease_end - lease_end) < MINUTE / 2
        claim.lease_end = lease_end

    def _made(self, pick: int) -> Taken:
        """Return one of the latest claims: of cards that are claimed, and one time in five of any card."""
        claimed = [made for made in self.made if made.card in self.plain.cards and self.plain.cards[made.card].claim]
        latest = (claimed if claimed and pick % 5 else self.made)[-10:]
        return latest[-1 - pick // 5 % len(latest)]

    def _members(self) -> dict[str, set[int]]:
        hashes, sets = ("cards", "asked", "claims"), ("queue", "priority", "running")
        with self.client.pipeline() as pipeline:
            for name in hashes:
                pipeline.hkeys(key_of(self.account, name))
            for name in sets:
                pipeline.zrange(key_of(self.account, name), 0, -1)
            return {name: set(map(int, cards)) for name, cards in zip(hashes + sets, pipeline.execute(), strict=True)}

    def _now(self) -> int:
        return milliseconds(server_now(self.client)) + self.passed

    def _due(self, minutes: int) -> int:
        """Return the instant half a minute before so many minutes from the last whole one, on the model's clock."""
        return self.begin + self.passed + minutes * MINUTE - MINUTE // 2

    def _told(self, at: int) -> Any:
        """Return an instant of the model on the server's clock."""
        return instant(at - self.passed)

    def _heard(self, at: Any) -> int:
        """Return an instant of the server on the model's clock."""
        return milliseconds(at) + self.passed


@pytest.mark.timeout(300 if not LONG else 0)
def test_whatever_happens_to_a_queue_it_is_as_on_paper() -> None:
    profile = thoroughness(
        max_examples=EXAMPLES,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        phases=Phase if LONG else [Phase.generate],
    )
    run_state_machine_as_test(Polling, settings=profile)
