"""Real clients of a real Redis: many calls in one go, scripts that the server forgot, asyncio, and Redis away."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from redis import ConnectionError as RedisIsAway
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.crc import key_slot
from redis.exceptions import ResponseError

from project.services import Redis as Server
from quotas.ratelimit import Window
from scheduler.polling.queue import (
    MOST_CARDS,
    AsyncQueue,
    Call,
    Card,
    Claim,
    Finish,
    Queue,
    Requested,
    Round,
    calls,
)
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.queue import NAMES
from scheduler.polling.states import CheckType
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    MINUTE,
    USAGE,
    claim,
    counter,
    forget,
    put_due,
    server_now,
)

WINDOWS = [Window(100, 1), Window(2000, 300)]


def claim_call(account: int, windows: list[Window] | None = None) -> Call[Round]:
    """A call that claims."""
    share = Decimal("0.5")
    arguments: dict[str, Any] = {"most": 50, "inflight_limit": 100, "lease": LEASE, "priority_share": share}
    return calls.claim(account, windows=windows or [], **arguments)


def every_call(account: int, claims: tuple[Claim, ...], client: Redis) -> dict[str, Call[Any]]:
    """A call of each script."""
    later, held = server_now(client) + HOUR, [(each.card_id, each.token) for each in claims]
    return {
        "start": calls.start(account, "poller", LEASE, held),
        "renew": calls.renew(account, "poller", LEASE, held),
        "request": calls.request(account, [1, 2], [USAGE], scene="page", cooldown=MINUTE),
        "finish": calls.finish(account, [Finish(*held[0], {USAGE: later}, {USAGE: 1})]),
        "release": calls.release(account, held),
        "take": calls.take(account, [4], LEASE),
        "drain": calls.drain(account),
        "put": calls.put(account, [Card(3, {USAGE: later}, {})]),
        "look": calls.look(account, 1),
        "count": calls.count(account),
        "note_traffic": calls.note_traffic(account, made=5, waits=1, waited=timedelta(seconds=1), timeouts=1),
        "traffic": calls.traffic(account),
        "remove": calls.remove(account, [3]),
        "begin_rebuild": calls.begin_rebuild(account),
        "complete_rebuild": calls.complete_rebuild(account, "second", 0),
        "claim": claim_call(account, WINDOWS),
    }


def test_calls_of_many_accounts_are_one_round_trip(queue: Queue, account: int, client: Redis) -> None:
    accounts = [account + 20_000_000 + number for number in range(100)]
    for each in accounts:
        put_due(queue, each, [1, 2])
    queue.ask(claim_call(account))  # the server knows the script
    with Redis.from_url(settings.REDIS_URL) as counted:
        sent: list[bytes] = []
        connection = counted.connection_pool.get_connection()
        send = connection.send_packed_command

        def count(command: Any, *args: Any, **kwargs: Any) -> None:
            sent.append(command)
            send(command, *args, **kwargs)

        connection.send_packed_command = count
        counted.connection_pool.release(connection)
        rounds = Queue(counted).perform([claim_call(each, WINDOWS) for each in accounts])
    assert len(sent) == 1
    assert [len(each.claims) for each in rounds if isinstance(each, Round)] == [2] * 100
    for each in accounts:
        forget(client, each)


def test_many_cards_of_many_accounts_finish_in_one_round_trip(queue: Queue, account: int, client: Redis) -> None:
    accounts = [account + 30_000_000 + number for number in range(3)]
    finishes = []
    for each in accounts:
        put_due(queue, each, range(1, 21))
        due = {USAGE: server_now(client) + HOUR}
        finishes.append(calls.finish(each, [Finish(one.card_id, one.token, due, {}) for one in claim(queue, each)]))
    assert queue.perform(finishes) == [[True] * 20] * 3
    for each in accounts:
        forget(client, each)


def test_an_account_that_the_server_refuses_stops_no_other(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    broken = account + 40_000_000
    put_due(queue, broken, [1])
    client.delete(key_of(broken, "running"))
    client.set(key_of(broken, "running"), "no sorted set")
    error, round_ = queue.perform([claim_call(broken), claim_call(account)])
    assert isinstance(error, ResponseError)
    assert isinstance(round_, Round)
    assert len(round_.claims) == 1
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        queue.ask(calls.count(broken))
    forget(client, broken)


@pytest.mark.parametrize("decodes", [False, True])
def test_answers_are_the_same_whether_the_client_decodes_texts(account: int, client: Redis, decodes: bool) -> None:
    with Redis.from_url(settings.REDIS_URL, decode_responses=decodes) as redis:
        queue = Queue(redis)
        put_due(queue, account, [1, 2])
        claims = claim(queue, account)
        answers = {name: queue.ask(call) for name, call in every_call(account, claims, client).items()}
        assert [each.card_id for each in claims] == [1, 2]
        assert (answers["start"], answers["finish"], answers["release"]) == ([True] * 2, [True], [False, True])
        assert (answers["look"].failures[USAGE], answers["count"].epoch) == (1, "first")
        assert list(queue.cards(account)) == []


def test_scripts_that_the_server_forgot_are_sent_again(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2])
    claims = claim(queue, account)
    wanted = every_call(account, claims, client)
    assert set(wanted) == set(NAMES)
    for call in wanted.values():
        client.script_flush()
        queue.ask(call)
    client.script_flush()
    put_due(queue, account, range(11, 61))
    client.script_flush()
    asked = queue.perform([calls.request(account, [card], [USAGE]) for card in range(11, 61)])
    assert asked == [[Requested.ASKED]] * 50
    assert counter(queue, account, "cards") == 50


def test_a_server_that_forgets_in_the_middle_is_asked_once_more(account: int, client: Redis) -> None:
    class Forgetful(Queue):
        """Loses the scripts between the calls of one go, too, the first three times."""

        times = 0

        def _send(self, commands: list[Any]) -> list[Any]:
            self.times += 1
            if self.times > 3:
                return super()._send(commands)
            forgetting = [part for command in commands for part in (command, ("SCRIPT FLUSH",))]
            return super()._send(forgetting)[::2]

    queue = Forgetful(client)
    client.script_flush()
    put_due(Queue(client), account, range(1, 4))
    client.script_flush()
    asked = queue.perform([calls.request(account, [card], [USAGE]) for card in range(1, 4)])
    assert asked == [[Requested.ASKED]] * 3
    assert queue.times == 4


def test_scripts_touch_only_keys_that_they_declare_and_all_lie_in_one_slot_of_a_cluster(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2])
    claims = claim(queue, account)
    declared = {key.decode() for call in every_call(account, claims, client).values() for key in call.keys}
    assert len({key_slot(key.encode()) for key in declared}) == 1
    with client.monitor() as monitor:
        queue.perform(list(every_call(account, claims, client).values()))
        client.echo("over")
        inside: list[list[str]] = []
        while "ECHO" not in (told := monitor.next_command())["command"]:
            if told["client_type"] == "lua":
                inside.append(told["command"].split(" "))
    without_keys = {"TIME"}
    assert inside
    for command in inside:
        assert command[0] in without_keys or command[1] in declared, command


def test_asyncio_does_the_same(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2])
    first, second = claim(queue, account)

    async def work() -> tuple[Any, ...]:
        async with AsyncRedis.from_url(settings.REDIS_URL) as redis:
            asynchronous = AsyncQueue(redis)
            await redis.script_flush()
            held = [(each.card_id, each.token) for each in (first, second)]
            start, renew = await asynchronous.perform(
                [
                    calls.start(account, "poller", LEASE, held),
                    calls.renew(account, "poller", LEASE, [held[1], (99, 1)]),
                ]
            )
            return start, renew, await asynchronous.ask(calls.release(account, held))

    assert asyncio.run(work()) == ([True, True], [True, False], [True, True])


def test_while_redis_is_away_the_caller_hears_of_it(redis_server: Server) -> None:
    with Redis.from_url(redis_server.url, retry=None) as client:
        queue = Queue(client)
        put_due(queue, 1, [1])
        redis_server.stop()
        with pytest.raises(RedisIsAway):
            queue.ask(calls.count(1))
        with pytest.raises(RedisIsAway):
            queue.perform([calls.count(1), claim_call(1)])


def test_no_call_takes_more_cards_than_a_script_can_handle(account: int) -> None:
    many = range(MOST_CARDS + 1)
    held = [(card, 1) for card in many]
    makers = [
        lambda: calls.start(account, "poller", LEASE, held),
        lambda: calls.renew(account, "poller", LEASE, held),
        lambda: calls.release(account, held),
        lambda: calls.finish(account, [Finish(card, 1, {}, {}) for card in many]),
        lambda: calls.request(account, many, [USAGE]),
        lambda: calls.put(account, [Card(card, {}, {}) for card in many]),
        lambda: calls.remove(account, many),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="take 1 to 1,000 at once, not 1,001"):
            make()


def test_as_many_cards_as_a_call_takes_pass_every_script(queue: Queue, account: int, client: Redis) -> None:
    cards = range(1, MOST_CARDS + 1)
    put_due(queue, account, cards, types=tuple(CheckType))
    everything = queue.ask(calls.request(account, cards, list(CheckType), scene="s", cooldown=MINUTE))
    claims = claim(queue, account, most=MOST_CARDS)
    held = [(each.card_id, each.token) for each in claims]
    assert len(everything) == len(claims) == MOST_CARDS
    assert all(queue.ask(calls.start(account, "poller", LEASE, held)))
    assert all(queue.ask(calls.release(account, held)))
    claims = claim(queue, account, most=MOST_CARDS)
    due = {USAGE: server_now(client) + HOUR}
    finishes = [Finish(each.card_id, each.token, due, {}) for each in claims]
    assert all(queue.ask(calls.finish(account, finishes)))
    assert queue.ask(calls.remove(account, cards)) == MOST_CARDS
