"""The outbox: events, their deliveries, and each try."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from alerts.models.alerts import Alert
from alerts.models.channels import Channel
from alerts.states import DeliveryOutcome, DeliveryState, Severity, Telling


class Event(models.Model):
    """One thing to tell, with its words as they were when it happened."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    alert = models.ForeignKey(
        Alert, models.CASCADE, null=True, blank=True, related_name="events", verbose_name=_("alert")
    )
    telling = models.CharField(_("tells"), max_length=10, choices=Telling)
    kind = models.CharField(_("kind"), max_length=50)
    severity = models.CharField(_("severity"), max_length=10, choices=Severity)
    title = models.CharField(_("title"), max_length=300)
    text = models.TextField(_("text"), blank=True)
    facts = models.JSONField(_("facts"), default=list, blank=True)
    url = models.CharField(_("where to look"), max_length=500, blank=True)
    labels = models.JSONField(_("labels"), default=dict, blank=True)
    at = models.DateTimeField(_("at"))
    ended_at = models.DateTimeField(null=True, blank=True)  # of a flapping: when it was calm again

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("-at",)
        indexes = (
            # repeating.end_flapping
            models.Index(
                fields=["at"], name="event_is_flapping", condition=Q(telling="flapping", ended_at__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_telling_display()}: {self.title}"

    @property
    def urgency(self) -> int:
        """How far ahead of others it is told."""
        return Severity.values.index(self.severity)


class Delivery(models.Model):
    """That one event is told to one channel, at most once."""

    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries", verbose_name=_("event"))
    channel = models.ForeignKey(
        Channel, models.CASCADE, db_index=False, related_name="deliveries", verbose_name=_("channel")
    )  # see delivery_awaits_its_channel
    state = models.CharField(_("state"), max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    # Told only to those who were told what came before: the recovery after the opening.
    after = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="followers", verbose_name=_("after")
    )
    # The delivery whose message told this one too, as a digest.
    told_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="told", verbose_name=_("told in the digest of")
    )
    due_at = models.DateTimeField(_("due at"))
    urgency = models.PositiveSmallIntegerField(default=0, editable=False)  # its event's, which the order goes by
    tries = models.PositiveIntegerField(_("tries"), default=0)
    token = models.PositiveBigIntegerField(null=True, blank=True)  # of the sender that has it
    outcome = models.CharField(_("outcome"), max_length=10, choices=DeliveryOutcome, blank=True)
    code = models.CharField(_("code"), max_length=50, blank=True)
    meaning = models.TextField(_("meaning"), blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ("-id",)
        indexes = (
            # delivering: who has something to send
            models.Index(
                fields=["channel", "due_at", "id"],
                name="delivery_awaits_its_channel",
                condition=Q(state__in=["waiting", "sending"]),
            ),
            # delivering: what goes next
            models.Index(
                "channel",
                models.F("urgency").desc(),
                "id",
                name="delivery_most_urgent_first",
                condition=Q(state="waiting"),
            ),
            models.Index("channel", models.F("id").desc(), name="delivery_latest_of_channel"),
        )
        constraints = (
            models.UniqueConstraint(name="delivery_once", fields=["event", "channel"]),
            models.CheckConstraint(name="delivery_state_is_known", condition=Q(state__in=DeliveryState.values)),
            models.CheckConstraint(
                name="delivery_ended_says_when",
                condition=Q(state__in=["waiting", "sending"], ended_at__isnull=True)
                | (~Q(state__in=["waiting", "sending"]) & Q(ended_at__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.event_id} → {self.channel_id}"


class DeliveryTry(models.Model):
    """One try to send a message."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts", verbose_name=_("delivery"))
    channel = models.ForeignKey(Channel, models.CASCADE, db_index=False, related_name="+", verbose_name=_("channel"))
    at = models.DateTimeField(_("at"))
    outcome = models.CharField(_("outcome"), max_length=10, choices=DeliveryOutcome, blank=True)
    status = models.PositiveSmallIntegerField(_("status"), null=True, blank=True)
    code = models.CharField(_("code"), max_length=50, blank=True)
    meaning = models.TextField(_("meaning"), blank=True)
    milliseconds = models.PositiveIntegerField(_("milliseconds"), null=True, blank=True)

    class Meta:
        verbose_name = _("try")
        verbose_name_plural = _("tries")
        ordering = ("-id",)
        # how many messages a channel got in the last minute
        indexes = (models.Index("channel", models.F("at").desc(), name="try_latest_of_channel"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.outcome}"
