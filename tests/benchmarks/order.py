"""A bulk order amid a soak: one business event that asks for checks of many cards, each looked at once more."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.benchmarks import servers

if TYPE_CHECKING:
    from scheduler.polling.models import CarrierAccount

SCENE = "order_paid"
LOOK_AGAIN_SECONDS = 20


def place(accounts: "Sequence[CarrierAccount]", cards: int) -> None:
    """Ask for usage and status of so many cards, as many of each account, and expect that they are active."""
    from project.kit.clock import database_now
    from scheduler.polling.models import Card, CheckScene
    from scheduler.polling.requesting import request_check
    from scheduler.polling.states import CheckType

    types = [CheckType.USAGE, CheckType.CARD_STATUS]
    CheckScene.objects.filter(pk=SCENE).update(types=types, confirm_delays=[LOOK_AGAIN_SECONDS], cooldown_seconds=0)
    each = cards // len(accounts)
    ordered = [
        card_id
        for account in accounts
        for card_id in Card.objects.filter(account=account).order_by("pk").values_list("pk", flat=True)[:each]
    ]
    expected = {CheckType.CARD_STATUS: "active"}
    request_check(SCENE, ordered, event_id="order:1", actor="soak", expected=expected, now=database_now())
    servers.refresh_statistics()


def judged() -> tuple[str, int]:
    """Return what became of the order in a sentence, and how many of its checks were looked at otherwise than the scene
    says: once too often, not often enough, or on after the expected was there.
    """
    from scheduler.polling.models import CheckRequest, Confirmation

    rows = list(Confirmation.objects.values_list("type", "state", "looks"))
    counted = Counter(rows)
    wrong = sum(count for (check, state, looks), count in counted.items() if not _is_right(check, state, looks))
    outcome = CheckRequest.objects.get().outcome
    shown = ", ".join(f"{check} {state} after {looks}: {count:,}" for (check, state, looks), count in counted.items())
    return f"the order: {outcome}; {shown}; wrong: {wrong}", wrong


def _is_right(check: str, state: str, looks: int) -> bool:
    if state == "over":
        return looks == 2
    return state == "confirmed" and check == "card_status" and looks in {1, 2}
