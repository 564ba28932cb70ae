"""What a channel's page shows: where it leads, how it is doing, what it was told lately, and each try."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from alerts.admin import cells
from alerts.kinds import kind_label
from alerts.models import Channel, Delivery, DeliveryTry
from alerts.states import DeliveryState
from project.kit.admin import row_link, when

DELIVERIES_SHOWN = 30
# Counted no further: so many that wait are many.
MOST_COUNTED = 1000


def overview(channel: Channel, now: datetime) -> dict[str, Any]:
    """Return what the page shows of the channel."""
    return {
        "badge": cells.channel_badge(channel, now),
        "next_step": _next_step(channel),
        "standing_facts": _standing_facts(channel, now),
        "facts": _facts(channel, now),
        "deliveries": [_delivery_line(delivery, now) for delivery in _latest_deliveries(channel)],
    }


def _next_step(channel: Channel) -> str:
    """Return what is expected of a person, as a sentence; empty where nothing is."""
    if not channel.enabled:
        return _("It is off, and told nothing.")
    if channel.failures:
        failed = ngettext("The last message failed.", "The last %(count)s messages failed.", channel.failures)
        return " ".join((failed % {"count": f"{channel.failures:,}"}, channel.last_error))
    if channel.last_sent_at is None:
        return _("Nothing was ever sent there. Send a test message.")
    return ""


def _standing_facts(channel: Channel, now: datetime) -> list[tuple[str, Any]]:
    """Return how the channel is doing, as labels and values; what does not apply is left out."""
    waits = channel.not_before is not None and channel.not_before > now
    facts: list[tuple[str, Any]] = [
        (_("last sent"), when(channel.last_sent_at, now)),
        (_("failures in a row"), f"{channel.failures:,}"),
        (_("last error"), channel.last_error),
        (_("waits until"), when(channel.not_before, now) if waits else ""),
        (_("deliveries that wait"), _waiting(channel)),
    ]
    return [fact for fact in facts if fact[1]]


def _waiting(channel: Channel) -> str:
    waiting = Delivery.objects.filter(channel=channel, state__in=[DeliveryState.WAITING, DeliveryState.SENDING])
    count = waiting[: MOST_COUNTED + 1].count()
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def _facts(channel: Channel, now: datetime) -> list[tuple[str, Any]]:
    """Return what the channel is, as labels and values; what does not apply is left out."""
    facts: list[tuple[str, Any]] = [
        (_("goes to"), channel.address_shown),
        (_("format"), cells.format_label(channel.format)),
        (_("signing secrets"), _("stored") if channel.secrets else _("none")),
        (_("keyword"), channel.keyword),
        (_("kinds"), ", ".join(map(kind_label, channel.kinds)) or _("every problem")),
        (_("from this severity"), cells.severity_badge(channel.least_severity)),
        (_("labels"), cells.labels(channel.labels) if channel.labels else ""),
        (_("repeats while open"), _repeats(channel)),
        (_("quiet hours"), _quiet(channel)),
        (_("when unknown"), _("tries again; it may arrive twice") if channel.retry_ambiguous else _("tries no more")),
        (_("changed"), when(channel.updated_at, now)),
    ]
    return [fact for fact in facts if fact[1]]


def _repeats(channel: Channel) -> str:
    if not channel.repeat_hours:
        return _("never")
    return _("each %(hours)s h") % {"hours": channel.repeat_hours}


def _quiet(channel: Channel) -> str:
    if channel.quiet_from is None or channel.quiet_until is None:
        return ""
    return f"{channel.quiet_from:%H:%M}–{channel.quiet_until:%H:%M} {channel.timezone}"


# --- what it was told ----------------------------------------------------------------------------------------------


def _latest_deliveries(channel: Channel) -> QuerySet[Delivery]:
    latest = Delivery.objects.filter(channel=channel).select_related("event__alert", "told_by")
    return latest.prefetch_related("attempts").order_by("-id")[:DELIVERIES_SHOWN]


def _delivery_line(delivery: Delivery, now: datetime) -> dict[str, Any]:
    event = delivery.event
    return {
        "at": when(event.at, now),
        "telling": cells.telling_badge(event),
        "about": row_link(event.alert, event.title) if event.alert else event.title,
        "badge": cells.delivery_badge(delivery),
        "due": when(delivery.ended_at or delivery.due_at, now),
        "meaning": _("Told in a digest.") if delivery.told_by_id else delivery.meaning,
        "tries": [_try_line(tried, now) for tried in delivery.attempts.all()],
    }


def _try_line(tried: DeliveryTry, now: datetime) -> dict[str, Any]:
    answer = " ".join(filter(None, [str(tried.status or ""), tried.code if tried.code != str(tried.status) else ""]))
    took = "" if tried.milliseconds is None else _("%(count)s ms") % {"count": f"{tried.milliseconds:,}"}
    badge = format_html('<span title="{}">{}</span>', tried.meaning, cells.try_badge(tried))
    return {"at": when(tried.at, now), "badge": badge, "answer": answer, "took": took}
