"""The row of a channel: where alerts are told."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from alerts.models.shapes import is_list_of_texts, is_object_of_texts
from alerts.states import Severity
from project.kit.secrets import SecretField

# A year. What is open for longer is told once, or seen to.
MOST_REPEAT_HOURS = 8760


class Channel(models.Model):
    """A chat group, a webhook or a mailbox, which of the events it is told, and how it has been going."""

    name = models.CharField(_("name"), max_length=200, unique=True)
    enabled = models.BooleanField(_("enabled"), default=True)
    format = models.CharField(_("format"), max_length=20, blank=True, help_text=_("empty: by the address"))
    address = SecretField(_("address"), help_text=_("it often holds a token, so it is kept like a secret"))
    address_shown = models.CharField(_("goes to"), max_length=300, blank=True, editable=False)  # its host only
    secrets = SecretField(
        _("signing secrets"), blank=True, default="", help_text=_("one a line, the present one first")
    )
    keyword = models.CharField(
        _("keyword"), max_length=100, blank=True, help_text=_("what the group's filter wants in each message")
    )
    # Which events; empty: every problem, and no notice.
    kinds = models.JSONField(_("kinds"), default=list, blank=True)
    least_severity = models.CharField(
        _("from this severity"), max_length=10, choices=Severity, default=Severity.WARNING
    )
    labels = models.JSONField(_("labels"), default=dict, blank=True)
    repeat_hours = models.PositiveIntegerField(
        _("repeat after hours"), null=True, blank=True, help_text=_("while an alert is open; empty: never")
    )
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    retry_ambiguous = models.BooleanField(
        _("try again when unknown"),
        default=False,
        help_text=_("when nobody can know whether a message arrived; it may then arrive twice"),
    )

    # The sender that is at it: one at a time, so that messages go out in their order and within the limits.
    sender_token = models.PositiveBigIntegerField(default=0, editable=False)
    sending_until = models.DateTimeField(null=True, editable=False)
    # Not before this, because the platform asked for a pause or its limit is reached.
    not_before = models.DateTimeField(_("waits until"), null=True, editable=False)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0, editable=False)
    last_sent_at = models.DateTimeField(_("last sent"), null=True, editable=False)
    last_error = models.TextField(_("last error"), blank=True, editable=False)

    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)

    class Meta:
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        ordering = ("name",)
        permissions = (("test_channel", _("Can send a test message")),)
        constraints = (
            models.CheckConstraint(
                name="channel_quiet_has_two_ends",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | (Q(quiet_from__isnull=False, quiet_until__isnull=False) & ~Q(quiet_from=models.F("quiet_until"))),
            ),
            models.CheckConstraint(
                name="channel_repeats_in_bounds", condition=Q(repeat_hours__range=(1, MOST_REPEAT_HOURS))
            ),
            models.CheckConstraint(name="channel_kinds_are_texts", condition=is_list_of_texts("kinds")),
            models.CheckConstraint(name="channel_labels_are_texts", condition=is_object_of_texts("labels")),
        )

    def __str__(self) -> str:
        return self.name
