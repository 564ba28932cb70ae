"""The small parts of which the lists and pages of the alerts are made."""

from collections.abc import Mapping
from datetime import datetime

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from alerts.channels.registry import FORMATS
from alerts.models import Alert, Channel, Delivery, DeliveryTry, Event
from alerts.states import AlertState, DeliveryOutcome, DeliveryState, Severity, Telling
from project.kit.admin import DASH, badge, short, when

SEVERITY_COLOURS = {Severity.INFO: "blue", Severity.WARNING: "amber", Severity.CRITICAL: "red"}
STATE_COLOURS = {AlertState.OPEN: "red", AlertState.ACKNOWLEDGED: "violet", AlertState.RESOLVED: "green"}
TELLING_COLOURS = {
    Telling.OPENED: "red",
    Telling.REPEATED: "amber",
    Telling.RECOVERED: "green",
    Telling.FLAPPING: "violet",
    Telling.NOTICE: "blue",
    Telling.DIGEST: "blue",
    Telling.TEST: "grey",
}
DELIVERY_COLOURS = {
    DeliveryState.WAITING: "blue",
    DeliveryState.SENDING: "blue",
    DeliveryState.SENT: "green",
    DeliveryState.FAILED: "red",
    DeliveryState.UNKNOWN: "amber",
    DeliveryState.DROPPED: "grey",
}
OUTCOME_COLOURS = {
    DeliveryOutcome.SENT: "green",
    DeliveryOutcome.PERMANENT: "red",
    DeliveryOutcome.RETRY: "amber",
    DeliveryOutcome.AMBIGUOUS: "amber",
}


def severity_badge(severity: str) -> SafeString:
    """Return how much it matters as a badge."""
    known = Severity(severity)
    return badge(known.label, SEVERITY_COLOURS[known])


def state_badge(alert: Alert) -> SafeString:
    """Return where an alert stands as a badge, with who handles it on hover."""
    known = AlertState(alert.state)
    who = alert.resolved_by if known == AlertState.RESOLVED else alert.handler
    return badge(known.label, STATE_COLOURS[known], who)


def telling_badge(event: Event) -> SafeString:
    """Return what a message tells as a badge."""
    known = Telling(event.telling)
    return badge(known.label, TELLING_COLOURS[known])


def delivery_badge(delivery: Delivery) -> SafeString:
    """Return where a delivery stands as a badge."""
    known = DeliveryState(delivery.state)
    return badge(known.label, DELIVERY_COLOURS[known])


def try_badge(tried: DeliveryTry) -> SafeString:
    """Return what came of one try as a badge; one without an outcome is on its way."""
    if not tried.outcome:
        return badge(_("on its way"), "blue")
    known = DeliveryOutcome(tried.outcome)
    return badge(known.label, OUTCOME_COLOURS[known])


def channel_badge(channel: Channel, now: datetime) -> SafeString:
    """Return how a channel is doing as a badge."""
    if not channel.enabled:
        return badge(_("off"), "grey", _("It is told nothing."))
    if channel.failures:
        return badge(_("failing"), "red", channel.last_error)
    if channel.not_before is not None and channel.not_before > now:
        return badge(_("waits"), "amber", _("Its platform's limit is reached, or it asked for a pause."))
    if channel.last_sent_at is None:
        return badge(_("untried"), "blue", _("Nothing was ever sent there. Send a test message."))
    return badge(_("well"), "green")


def format_label(name: str) -> str:
    """Return the name of a format as people know it."""
    return FORMATS[name].label if name in FORMATS else name


def labels(pairs: Mapping[str, str]) -> SafeString:
    """Return labels as small code; a dash where there are none."""
    shown = format_html_join(" ", "<code>{}={}</code>", sorted(pairs.items()))
    return shown or DASH


def told(alert: Alert, now: datetime) -> SafeString:
    """Return when the alert was last told, or why its opening was not."""
    if alert.told_at is not None:
        return when(alert.told_at, now)
    return format_html('<span class="quiet">{}</span>', short(alert.untold or _("not told"), 60))


def where(alert: Alert) -> SafeString:
    """Return a link to what the alert is about; its subject alone where nobody said where that is."""
    text = alert.subject or alert.url
    if alert.url.startswith(("https://", "http://")) or (alert.url.startswith("/") and not alert.url.startswith("//")):
        return format_html('<a href="{}">{}</a>', alert.url, text)
    if alert.subject.startswith("channel:") and alert.subject[8:].isdecimal():
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:alerts_channel_change", args=[alert.subject[8:]]), text
        )
    return format_html("{}", text)
