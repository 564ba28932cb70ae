"""The small parts of which the lists and pages of the quotas are made."""

from calendar import day_name
from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from project.kit.admin import DASH, absolute, badge, relative
from quotas import availability
from quotas.models import LedgerEntry, Quota
from quotas.owners import page_of
from quotas.periods import Preset
from quotas.states import COLOURS, EntryKind, Kind, ReservationState, Verdict

ENTRY_COLOURS = {
    EntryKind.CHARGE: "blue",
    EntryKind.REFUND: "green",
    EntryKind.TOP_UP: "green",
    EntryKind.LIMIT: "violet",
    EntryKind.RESET: "grey",
    EntryKind.REFILL: "grey",
}
RESERVATION_COLOURS = {
    ReservationState.HELD: "blue",
    ReservationState.SETTLED: "green",
    ReservationState.RELEASED: "grey",
    ReservationState.EXPIRED: "amber",
}
WEEKDAYS = tuple(map(gettext_lazy, day_name))
LOW_PERCENT = 20


def owner(key: str) -> SafeString:
    """Return for whom something is, as a link where it has a page."""
    address = page_of(key)
    return format_html('<a href="{}">{}</a>', address, key) if address else format_html("{}", key)


def amount(units: int | None, unit: str = "") -> str:
    """Return an amount with its unit; what has no limit is unlimited."""
    if units is None:
        return _("unlimited")
    return f"{units:,} {unit}".rstrip()


def asked(entry: LedgerEntry) -> str:
    """Return what an entry's maker asked for, with its unit."""
    return amount(None if entry.units < 0 else entry.units, entry.quota.unit)  # of limits only: charging.UNLIMITED


def bar(quota: Quota, now: datetime) -> SafeString:
    """Return what is available of the limit, as a bar with figures."""
    left = availability.available(quota, now)
    if left is None:
        return format_html('<span class="figures">{}</span>', _("unlimited"))
    total = max(quota.limit if quota.limit is not None else left, left)
    percent = left * 100 // total if total else 0
    level = "level-empty" if not left else "level-low" if percent < LOW_PERCENT else ""
    figures = f"{left:,} / {amount(quota.limit, quota.unit)}"
    return format_html(
        '<span class="progress level {}"><progress max="100" value="{}">{} %</progress>'
        '<span class="figures">{}</span></span>',
        level,
        *[percent] * 2,
        figures,
    )


def verdict_badges(quota: Quota) -> SafeString:
    """Return the verdict, and what makes it special: a limit of 0, an unverified provider, shadow mode."""
    known = Verdict(quota.verdict)
    badges = [badge(known.label, COLOURS[known])]
    if quota.limit == 0:
        badges.append(badge(_("blocked"), "red", _("Its limit is 0: nothing can be charged.")))
    if quota.provider_unverified:
        badges.append(badge(_("unverified"), "violet", _("Nobody has seen its provider answer again.")))
    if quota.shadow:
        badges.append(badge(_("shadow"), "grey", _("It counts and reports, and blocks nothing.")))
    return format_html(" ".join(["{}"] * len(badges)), *badges)


def entry_badge(entry: LedgerEntry) -> SafeString:
    """Return what a ledger entry records as a badge; a charge beyond the limit is said."""
    kind = EntryKind(entry.kind)
    said = badge(kind.label, ENTRY_COLOURS[kind])
    if not entry.over_limit:
        return said
    return format_html("{} {}", said, badge(_("over the limit"), "amber", _("Granted in shadow mode only.")))


def reservation_badge(state: str) -> SafeString:
    """Return what became of a reservation as a badge."""
    known = ReservationState(state)
    return badge(known.label, RESERVATION_COLOURS[known])


def change(units: int) -> SafeString:
    """Return a change of a balance with its sign."""
    return format_html(
        '<span class="figures {}">{}</span>', "gain" if units > 0 else "", f"{units:+,}".replace("-", "−")
    )


def both(instant: datetime | None, now: datetime) -> SafeString:
    """Return an instant by the viewer's clocks, and how far it is; a dash where there is none."""
    if instant is None:
        return DASH
    shown = f"{timezone.localtime(instant):%Y-%m-%d %H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time> <span class="quiet">{}</span>',
        instant.isoformat(),
        absolute(instant),
        shown,
        relative(instant, now),
    )


def by_own_clock(quota: Quota, instant: datetime) -> str:
    """Return an instant by the clocks of the quota's own zone."""
    return f"{instant.astimezone(ZoneInfo(quota.timezone)):%Y-%m-%d %H:%M} {quota.timezone}"


def full_again(quota: Quota) -> datetime | None:
    """Return when a rate is full again, if nobody takes any before; None: it is, or it is no rate."""
    if quota.kind == Kind.RATE and quota.limit and quota.used:
        return availability.refills_at(quota, quota.limit)
    return None


def rule(quota: Quota) -> str:
    """Return in words how what was spent comes back."""
    if quota.kind == Kind.CAPACITY:
        return "" if quota.limit is None else _("when it is topped up")
    if quota.kind == Kind.RATE:
        return _("%(amount)s each %(seconds)s s") % {
            "amount": f"{quota.refill_amount or 0:,}",
            "seconds": f"{quota.refill_seconds or 0:,}",
        }
    return _periodic_rule(quota)


def _periodic_rule(quota: Quota) -> str:
    at = f"{quota.reset_time:%H:%M}" if quota.reset_time else "00:00"
    match Preset(quota.reset_preset):
        case Preset.HOUR:
            return _("each hour at minute %(minute)s") % {"minute": at[3:]}
        case Preset.DAY:
            return _("each day at %(at)s") % {"at": at}
        case Preset.WEEK:
            return _("each %(day)s at %(at)s") % {"day": WEEKDAYS[quota.reset_weekday], "at": at}
        case Preset.MONTH:
            return _("each month on day %(day)s at %(at)s") % {"day": quota.reset_day, "at": at}
        case Preset.CRON:
            return _("cron %(expression)s") % {"expression": quota.reset_cron}


def goes_on_above(quota: Quota) -> str:
    """Return what has to be available for paused work to go on, as a sentence."""
    bar = availability.bar(quota)
    if not bar:
        return _("Paused work goes on once anything is available.")
    return _("Paused work goes on once more than %(bar)s are available.") % {"bar": f"{bar:,}"}


def some_time(quota: Quota) -> str:
    """Return what to say where nobody knows when the quota is back."""
    return _("when it is topped up") if quota.kind == Kind.CAPACITY else _("unknown")


def waiting(count: int, since: datetime | None, now: datetime) -> SafeString:
    """Return how many wait, or where nobody counts them since when the oldest does."""
    if count:
        text = ngettext("%(count)s waits", "%(count)s wait", count)
        return format_html('<span class="figures">{}</span>', text % {"count": f"{count:,}"})
    if since is not None:
        return format_html('<span class="quiet">{}</span>', _("since %(when)s") % {"when": relative(since, now)})
    return SafeString()
