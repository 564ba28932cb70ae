"""What keeps a card from being asked, the strongest reason first: pure decisions over facts that were read."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _

from project.kit.sentences import together
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
        yield Reason(Situation.CARD_OFF, _("Its polling is switched off. Switch it on, and it is asked soon."))
    if not facts.account.active:
        yield Reason(
            Situation.ACCOUNT_OFF,
            _("Its account “%(account)s” is switched off, and with it the polling of its cards.")
            % {"account": facts.account},
        )


def _of_the_account(facts: CardFacts) -> Iterator[Reason]:
    account = facts.account
    if facts.held.wanted is not None:
        yield Reason(
            Situation.CUT_OVER,
            _(
                "A cut-over to %(mode)s is under way: no card is claimed until it is done. Its page shows what it "
                "waits for."
            )
            % {"mode": facts.held.wanted},
        )
    if facts.held.mode is Mode.LEGACY:
        yield Reason(
            Situation.LEGACY,
            _(
                "The setting polling.scheduler.mode says legacy: its checks are asked one message each, and the live "
                "order of its account decides nothing."
            ),
        )
    if facts.fault:
        text = _("Its account “%(account)s” cannot be used: %(fault)s") % {"account": account, "fault": facts.fault}
        yield Reason(Situation.BAD_SETTINGS, text)
    if account.held_until is not None and account.held_until > facts.now:
        yield Reason(Situation.HELD, _held(facts, account.held_until))


def _held(facts: CardFacts, until: datetime) -> str:
    account = facts.account
    text = _("Its account “%(account)s” is left in peace until %(when)s.")
    if account.held_class:
        text = _("Its account “%(account)s” is left in peace until %(when)s: %(why)s.")
    text %= {
        "account": account,
        "when": f"{facts.at(until)} ({from_now(until, facts.now)})",
        "why": ErrorClass(account.held_class).label if account.held_class else "",
    }
    in_a_row = _("It is hold number %(number)s in a row.") % {"number": account.hold_count}
    return together(f"{text}{sentence(account.held_reason)}", in_a_row if account.hold_count > 1 else "")


def _of_its_tier(facts: CardFacts) -> Iterator[Reason]:
    if facts.tier is None:
        text = _("No tier matches it (%(card)s): nothing is checked by schedule.")
        yield Reason(Situation.NO_TIER, text % {"card": _as_tiers_see_it(facts)})
    elif not facts.fault and facts.possible.isdisjoint(facts.tier.seconds):
        yield Reason(
            Situation.NOTHING_POSSIBLE,
            _("Its account “%(account)s” can make none of the checks that the tier “%(tier)s” asks for.")
            % {"account": facts.account, "tier": facts.tier.name},
        )


def _as_tiers_see_it(facts: CardFacts) -> str:
    card = facts.card
    used = _("share of usage not known")
    if card.used_bytes is not None and card.allowance_bytes:
        used = _("%(percent)s %% used") % {"percent": card.used_bytes * 100 // card.allowance_bytes}
    parts = [
        _("state %(state)s") % {"state": card.get_state_display()},
        _("real name %(state)s") % {"state": card.get_real_name_state_display()},
        _("package %(package)s") % {"package": card.package} if card.package else _("no package known"),
        used,
    ]
    return ", ".join(parts)


def _of_the_order(facts: CardFacts) -> Iterator[Reason]:
    order = facts.order
    if order is None:
        yield Reason(
            Situation.REDIS_AWAY,
            _("Redis, which holds the live order, cannot be reached: nothing is claimed until it is back."),
        )
    elif not order.counts.epoch:
        yield _not_ready(facts, order)
    elif order.sight is None:
        yield Reason(
            Situation.NOT_IN_ORDER,
            _(
                "It is missing in the live order of “%(account)s”, where it belongs. The next comparison of rows and "
                "order puts it in."
            )
            % {"account": facts.account},
        )


def _not_ready(facts: CardFacts, order: Order) -> Reason:
    progress = order.progress
    if progress is not None and progress.under_way:
        return Reason(
            Situation.ORDER_BEING_BUILT,
            _(
                "The live order of “%(account)s” is being built: %(done)s of %(total)s cards are in. Nothing is "
                "claimed until all are."
            )
            % {"account": facts.account, "done": f"{progress.done:,}", "total": f"{progress.total:,}"},
        )
    return Reason(
        Situation.ORDER_LOST,
        _("The live order of “%(account)s” is lost. The next round asks for it to be built from the rows.")
        % {"account": facts.account},
    )
