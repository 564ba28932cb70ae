"""What keeps a card from being asked, the strongest reason first: pure decisions over facts that were read."""

from collections.abc import Iterator
from datetime import datetime

from scheduler.explaining import from_now
from scheduler.explaining.run_facts import sentence
from scheduler.polling.explaining import schedules, turns
from scheduler.polling.explaining.explanation import Explanation, Reason, Situation
from scheduler.polling.explaining.facts import CardFacts, Order
from scheduler.polling.states import ErrorClass
from scheduler.polling.system_settings import Mode


def explained(facts: CardFacts) -> Explanation:
    """Say what keeps the card from being asked, when each of its checks is due, and when it may be asked next."""
    off = next(_switched_off(facts), None)
    if off is not None:
        return Explanation((off,), (), None)
    reasons = (*_of_the_account(facts), *_of_its_tier(facts), *_of_the_order(facts), *turns.reasons(facts))
    return Explanation(reasons, tuple(schedules.lines(facts)), schedules.next_at(facts))


def _switched_off(facts: CardFacts) -> Iterator[Reason]:
    if not facts.card.polling_enabled:
        yield Reason(Situation.CARD_OFF, "Its polling is switched off. Switch it on, and it is asked soon.")
    if not facts.account.active:
        yield Reason(
            Situation.ACCOUNT_OFF,
            f"Its account “{facts.account}” is switched off, and with it the polling of its cards.",
        )


def _of_the_account(facts: CardFacts) -> Iterator[Reason]:
    account = facts.account
    if facts.held.wanted is not None:
        yield Reason(
            Situation.CUT_OVER,
            f"A cut-over to {facts.held.wanted} is under way: no card is claimed until it is done. Its page shows what"
            " it waits for.",
        )
    if facts.held.mode is Mode.LEGACY:
        yield Reason(
            Situation.LEGACY,
            "The setting polling.scheduler.mode says legacy: its checks are asked one message each, and the live order"
            " of its account decides nothing.",
        )
    if facts.fault:
        yield Reason(Situation.BAD_SETTINGS, f"Its account “{account}” cannot be used: {facts.fault}")
    if account.held_until is not None and account.held_until > facts.now:
        yield Reason(Situation.HELD, _held(facts, account.held_until))


def _held(facts: CardFacts, until: datetime) -> str:
    account = facts.account
    why = f": {ErrorClass(account.held_class).label}" if account.held_class else ""
    in_a_row = f" It is hold number {account.hold_count} in a row." if account.hold_count > 1 else ""
    when = f"{facts.at(until)} ({from_now(until, facts.now)})"
    return f"Its account “{account}” is left in peace until {when}{why}.{sentence(account.held_reason)}{in_a_row}"


def _of_its_tier(facts: CardFacts) -> Iterator[Reason]:
    if facts.tier is None:
        yield Reason(
            Situation.NO_TIER, f"No tier matches it ({_as_tiers_see_it(facts)}): nothing is checked by schedule."
        )
    elif not facts.fault and facts.possible.isdisjoint(facts.tier.seconds):
        yield Reason(
            Situation.NOTHING_POSSIBLE,
            f"Its account “{facts.account}” can make none of the checks that the tier “{facts.tier.name}” asks for.",
        )


def _as_tiers_see_it(facts: CardFacts) -> str:
    card = facts.card
    parts = [f"state {card.get_state_display()}", f"real name {card.get_real_name_state_display()}"]
    parts.append(f"package {card.package}" if card.package else "no package known")
    if card.used_bytes is None or not card.allowance_bytes:
        return ", ".join([*parts, "share of usage not known"])
    return ", ".join([*parts, f"{card.used_bytes * 100 // card.allowance_bytes} % used"])


def _of_the_order(facts: CardFacts) -> Iterator[Reason]:
    order = facts.order
    if order is None:
        yield Reason(
            Situation.REDIS_AWAY,
            "Redis, which holds the live order, cannot be reached: nothing is claimed until it is back.",
        )
    elif not order.counts.epoch:
        yield _not_ready(facts, order)
    elif order.sight is None:
        yield Reason(
            Situation.NOT_IN_ORDER,
            f"It is missing in the live order of “{facts.account}”, where it belongs. The next comparison of rows and"
            " order puts it in.",
        )


def _not_ready(facts: CardFacts, order: Order) -> Reason:
    progress = order.progress
    if progress is not None and progress.under_way:
        return Reason(
            Situation.ORDER_BEING_BUILT,
            f"The live order of “{facts.account}” is being built: {progress.done:,} of {progress.total:,} cards are in."
            " Nothing is claimed until all are.",
        )
    return Reason(
        Situation.ORDER_LOST,
        f"The live order of “{facts.account}” is lost. The next round asks for it to be built from the rows.",
    )
