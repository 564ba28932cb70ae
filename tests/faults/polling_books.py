"""The audit of the polling: what is in the live orders held against the rows, and no check told by who had lost it."""

from collections import Counter
from datetime import datetime

from redis import Redis

from alerts.models import Alert
from scheduler.polling import connecting
from scheduler.polling.fleet.live_order import polled_cards
from scheduler.polling.models import CardCheck
from scheduler.polling.queue.keys import key_of


class Ledger:
    """What the rows of the checks said whenever it was looked at: none may ever go back to an earlier claim, or say
    that it failed, which its next answer would hide.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], tuple[int, datetime]] = {}
        self.writes = 0

    def look(self) -> None:
        """Assert that each check is as it was, or as a later claim has written it, and has not failed."""
        rows = CardCheck.objects.values_list("card_id", "type", "error", "token", "checked_at")
        for card, check, error, *written in rows:
            assert not error, (card, check, error)
            before = self._seen.get((card, check))
            now = (written[0], written[1])
            assert before is None or before == now or before[0] < now[0], (card, check, before, now)
            self.writes += before != now
            self._seen[card, check] = now


def audit_orders(*account_ids: int) -> None:
    """Assert that each polled card is in the order of its own account, once, and in no other; that nothing else is
    there; and that whatever is claimed has a lease, and whatever is leased a claim.
    """
    orders = {account_id: _order(connecting.client(), account_id) for account_id in account_ids}
    there = Counter(card for order in orders.values() for card in order["queue"])
    assert set(there.values()) <= {1}, "a card in two orders"
    for account_id, order in orders.items():
        polled = set(polled_cards().filter(account=account_id).values_list("pk", flat=True))
        assert order["queue"] == order["cards"] == polled, account_id
        assert order["running"] == order["claims"] <= polled, account_id
        assert order["priority"] <= order["asked"] <= polled, account_id


def _order(redis: Redis, account_id: int) -> dict[str, set[int]]:
    """Return the cards in each structure of the order, all read at one moment."""
    sorted_sets, hashes = ("queue", "running", "priority"), ("cards", "claims", "asked")
    with redis.pipeline(transaction=True) as pipeline:
        for name in sorted_sets:
            pipeline.zrange(key_of(account_id, name), 0, -1)
        for name in hashes:
            pipeline.hkeys(key_of(account_id, name))
        return {
            name: set(map(int, cards)) for name, cards in zip(sorted_sets + hashes, pipeline.execute(), strict=True)
        }


def audit_no_failure() -> None:
    """Assert that no trouble of ours was taken for a failure of a card or its account."""
    failed = CardCheck.objects.exclude(error_class="").values_list("card", "type", "error_class", "error")
    assert not list(failed)
    assert not Alert.objects.filter(kind__in=("card_check_failing", "cards_failing", "account_failing")).exists()


def answered_since(instant: datetime) -> int:
    """Return how many checks were answered after the instant."""
    return CardCheck.objects.filter(succeeded_at__gt=instant).count()
