"""The small parts of which the lists and pages of the polling are made."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from project.kit.admin import DASH, Text, badge, relative, short, span
from quotas.ratelimit import Window
from scheduler.polling.admin.live import Live
from scheduler.polling.fleet.rebuilds import Progress
from scheduler.polling.models import Card, CardCheck, CarrierAccount, PollingTier
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

CARD_COLOURS = {
    CardState.UNKNOWN: "grey",
    CardState.STOCK: "grey",
    CardState.TESTING: "blue",
    CardState.READY: "blue",
    CardState.ACTIVE: "green",
    CardState.STOPPED: "amber",
    CardState.DORMANT: "violet",
    CardState.EXPIRED: "red",
    CardState.CANCELLED: "red",
}
REAL_NAME_COLOURS = {
    RealName.UNKNOWN: "grey",
    RealName.NEEDED: "amber",
    RealName.VERIFIED: "green",
    RealName.NOT_NEEDED: "grey",
}
# A check that is due for longer than this is late: rounds come each second.
PATIENCE = timedelta(minutes=1)
NEARLY_USED_PERCENT = 80
BYTES = "B"


def named(name: Text, cell: str | SafeString) -> SafeString:
    """Return the cell of a list with its name before it on narrow screens, where lists have no heads; none if empty."""
    return format_html('<span class="narrow-only quiet">{} </span>{}', name, cell) if cell else SafeString()


# --- accounts --------------------------------------------------------------------------------------------------


def is_held(account: CarrierAccount, now: datetime) -> bool:
    """Tell whether the account is left in peace now."""
    return account.held_until is not None and account.held_until > now


def account_badge(account: CarrierAccount, live: Live, now: datetime) -> SafeString:
    """Return how an account is doing as a badge: switched off, held, without its order, or polled."""
    if not account.active:
        return badge(_("off"), "grey", _("None of its cards is polled."))
    if is_held(account, now):
        return badge(pgettext("account", "held"), "amber", account.held_reason)
    if live.counts is None:
        return badge(_("not known"), "amber", _("Redis, where its live order is, does not answer."))
    if live.counts.epoch:
        return badge(_("polled"), "green")
    if live.progress is not None and live.progress.under_way:
        return badge(_("being rebuilt"), "blue", _("Nothing is claimed until all of its cards are in order."))
    return badge(_("no order"), "red", _("Its live order is lost. The dispatcher has it rebuilt."))


def held(account: CarrierAccount, now: datetime) -> SafeString:
    """Return until when an account is left in peace, and why; nothing where it is not."""
    if account.held_until is None or not is_held(account, now):
        return SafeString()
    until, why = relative(account.held_until, now), account.get_held_class_display() or _("by a person")
    return format_html('{} <span class="remark" title="{}">{}</span>', until, account.held_reason, why)


def rebuild_bar(progress: Progress) -> SafeString:
    """Return how far a rebuild is, as a bar with figures."""
    percent = progress.done * 100 // progress.total if progress.total else 100
    return format_html(
        '<span class="progress"><progress max="100" value="{}">{} %</progress>'
        '<span class="figures">{} / {}</span></span>',
        *[percent] * 2,
        f"{progress.done:,}",
        f"{progress.total:,}",
    )


def number(count: int | None) -> SafeString:
    """Return a number of the live order; a dash where Redis does not say."""
    return DASH if count is None else format_html('<span class="figures">{}</span>', f"{count:,}")


def rate(windows: Sequence[Window]) -> str:
    """Return rate windows in words: `5 each 1 s, 2,000 each 5 min`."""
    if not windows:
        return _("unlimited")
    each = _("%(limit)s each %(span)s")
    return ", ".join(
        each % {"limit": f"{window.limit:,}", "span": span(timedelta(seconds=window.seconds))} for window in windows
    )


# --- cards -----------------------------------------------------------------------------------------------------


def state_badge(state: str) -> SafeString:
    """Return a card's state as a badge."""
    known = CardState(state)
    return badge(known.label, CARD_COLOURS[known], _("its state at the carrier"))


def real_name_badge(state: str) -> SafeString:
    """Return as a badge whether the card's user has shown who he is."""
    known = RealName(state)
    return badge(known.label, REAL_NAME_COLOURS[known], _("whether its user has shown who he is"))


def polled_badge(card: Card) -> SafeString:
    """Return as a badge whether a card is polled."""
    if not card.polling_enabled:
        return badge(_("off"), "grey", _("It is not polled."))
    if not card.account.active:
        return badge(_("account off"), "grey", _("None of the account's cards is polled."))
    return badge(_("on"), "green")


def failing_badge(checks: Sequence[CardCheck]) -> SafeString:
    """Return as a badge which of a card's checks fail; nothing where none does."""
    failing = [check for check in checks if check.failures]
    if not failing:
        return SafeString()
    names = ", ".join(str(CheckType(check.type).label) for check in failing)
    return badge(names, "red", " ".join(check.error for check in failing))


def usage(card: Card) -> SafeString:
    """Return what is used of a card's allowance, as a bar with figures; nothing where that is not known."""
    used, allowance = card.used_bytes, card.allowance_bytes
    if used is None:
        return SafeString()
    if not allowance:
        return format_html('<span class="figures">{}</span>', volume(used))
    percent = min(100, used * 100 // allowance)
    return format_html(
        '<span class="progress level {}" title="{} %"><progress max="100" value="{}">{} %</progress>'
        '<span class="figures">{} / {}</span></span>',
        "level-low" if percent >= NEARLY_USED_PERCENT else "",
        used * 100 // allowance,
        *[percent] * 2,
        volume(used),
        volume(allowance),
    )


def volume(amount: int) -> str:
    """Return an amount of data in the largest unit of which there is at least one; a thousand is 1,000."""
    value, unit = float(amount), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 100 or value.is_integer() else f"{value:.1f} {unit}"


# --- checks ----------------------------------------------------------------------------------------------------


def check_badge(check: CardCheck, now: datetime) -> SafeString:
    """Return how a check is doing as a badge."""
    if check.failures:
        times = ngettext("failed %(count)s time", "failed %(count)s times", check.failures)
        return badge(times % {"count": f"{check.failures:,}"}, "red", check.error)
    if check.succeeded_at is None:
        return badge(_("not asked yet"), "grey")
    if check.due_at is None:
        return badge(_("not checked"), "grey", _("By its tier it is not due again."))
    if check.due_at < now - PATIENCE:
        return badge(_("late"), "amber", _("It is due, and waits for its turn."))
    return badge(_("well"), "green")


def value(check: CardCheck) -> SafeString:
    """Return what a check brought last, with its unit; words of ours by their names; nothing where it brought none."""
    known = check.value
    if known is None:
        return SafeString()
    if check.unit == BYTES and isinstance(known, int):
        return format_html('<span title="{} B">{}</span>', f"{known:,}", volume(known))
    words: Mapping[str, Any] = {CheckType.CARD_STATUS: CardState, CheckType.REAL_NAME: RealName}
    if check.type in words and known in words[check.type].values:
        return format_html("{}", words[check.type](known).label)
    return short(f"{known} {check.unit}".rstrip(), 60)


def error(check: CardCheck) -> SafeString:
    """Return why a check failed last, with the class of it before the sentence."""
    if not check.error_class and not check.error:
        return SafeString()
    label = ErrorClass(check.error_class).label if check.error_class else ""
    return format_html('{} <span class="remark">{}</span>', label, short(check.error, 160))


# --- tiers -----------------------------------------------------------------------------------------------------


def conditions(tier: PollingTier) -> str:
    """Return in words which cards a tier is for."""
    parts = [
        _condition(_("state"), [str(CardState(state).label) for state in tier.states]),
        _condition(_("real name"), [str(RealName(state).label) for state in tier.real_name_states]),
        _condition(_("package"), tier.packages),
        _share(tier),
    ]
    return " · ".join(filter(None, parts)) or _("every card")


def _condition(what: str, words: Sequence[str]) -> str:
    return f"{what}: {', '.join(words)}" if words else ""


def _share(tier: PollingTier) -> str:
    least, below = tier.usage_from_percent, tier.usage_below_percent
    if least is not None and below is not None:
        return _("%(least)s to below %(below)s %% used") % {"least": least, "below": below}
    if least is not None:
        return _("%(least)s %% used or more") % {"least": least}
    return "" if below is None else _("below %(below)s %% used") % {"below": below}


def each(seconds: int | None) -> SafeString:
    """Return how often something is checked; a dash where it is not."""
    return DASH if seconds is None else format_html("{}", span(timedelta(seconds=seconds)))
