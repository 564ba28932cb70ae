"""The rows of what is wrong: alerts, and the silences over them."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from alerts.models.shapes import is_object_of_texts
from alerts.states import AlertState, Severity


class Alert(models.Model):
    """One problem, from its first occurrence to its end. While it is open there is no second one of its fingerprint."""

    kind = models.CharField(_("kind"), max_length=50)
    severity = models.CharField(_("severity"), max_length=10, choices=Severity)
    fingerprint = models.CharField(_("fingerprint"), max_length=250)
    subject = models.CharField(_("subject"), max_length=200, blank=True)  # a text key such as "run:12"
    title = models.CharField(_("title"), max_length=300)
    sentence = models.TextField(_("what happened"), blank=True)  # at its last occurrence, secrets masked
    labels = models.JSONField(_("labels"), default=dict, blank=True)
    facts = models.JSONField(_("facts"), default=list, blank=True)  # pairs of a label and a value, as of then
    url = models.CharField(_("where to look"), max_length=500, blank=True)
    # The alert that stands over it, such as an account's over those of its cards; it speaks for it.
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children", verbose_name=_("part of")
    )

    state = models.CharField(_("state"), max_length=12, choices=AlertState, default=AlertState.OPEN)
    first_at = models.DateTimeField(_("first"))
    last_at = models.DateTimeField(_("last"))
    count = models.PositiveIntegerField(_("occurrences"), default=1)
    # How often in a row it was seen to be well, where it needs more than once.
    well_count = models.PositiveIntegerField(default=0)
    told_at = models.DateTimeField(_("last told"), null=True, blank=True)
    # The severity with which its opening was told: those who want only worse ones are told when it rises.
    told_severity = models.CharField(max_length=10, choices=Severity, blank=True, editable=False)
    # Why nobody was told of its opening or its rise: silenced, part of another, flapping; empty: they were.
    untold = models.CharField(_("not told"), max_length=300, blank=True)
    handler = models.CharField(_("handled by"), max_length=200, blank=True)
    note = models.TextField(_("note"), blank=True)
    resolved_at = models.DateTimeField(_("resolved"), null=True, blank=True)
    resolved_by = models.CharField(_("resolved by"), max_length=200, blank=True)  # empty: it recovered

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        ordering = ("-last_at",)
        permissions = (("handle_alert", _("Can acknowledge and resolve alerts")),)
        indexes = (
            # recording: how often it opened lately
            models.Index("fingerprint", models.F("first_at").desc(), name="alert_opened_lately"),
            # repeating.repeat_open; the list of what is open
            models.Index(fields=["told_at"], name="alert_is_open", condition=Q(state=AlertState.OPEN)),
            models.Index(models.F("last_at").desc(), name="alert_latest"),
            # the list: what is not resolved first
            models.Index(
                models.F("resolved_at").desc(nulls_first=True), models.F("last_at").desc(), name="alert_open_first"
            ),
        )
        constraints = (
            models.UniqueConstraint(
                name="alert_open_once", fields=["fingerprint"], condition=Q(resolved_at__isnull=True)
            ),
            models.CheckConstraint(
                name="alert_resolved_says_when",
                condition=Q(state=AlertState.RESOLVED, resolved_at__isnull=False)
                | (~Q(state=AlertState.RESOLVED) & Q(resolved_at__isnull=True)),
            ),
            models.CheckConstraint(name="alert_severity_is_known", condition=Q(severity__in=Severity.values)),
            models.CheckConstraint(
                name="alert_told_says_how_severe",
                condition=Q(told_at__isnull=True, told_severity="")
                | Q(told_at__isnull=False, told_severity__in=Severity.values),
            ),
        )

    def __str__(self) -> str:
        return self.title


class Silence(models.Model):
    """What nobody is told of for a while: alerts of a kind, or with these labels. They are recorded all the same."""

    kind = models.CharField(_("kind"), max_length=50, blank=True, help_text=_("empty: every kind"))
    labels = models.JSONField(
        _("labels"), default=dict, blank=True, help_text=_("an alert has to have all of them; empty: any")
    )
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    reason = models.CharField(_("reason"), max_length=300)
    created_by = models.CharField(_("by"), max_length=200, blank=True, editable=False)

    class Meta:
        verbose_name = _("silence")
        verbose_name_plural = _("silences")
        ordering = ("-ends_at",)
        indexes = (models.Index(fields=["ends_at"], name="silence_in_force"),)
        constraints = (
            models.CheckConstraint(name="silence_ends", condition=Q(ends_at__gt=models.F("starts_at"))),
            models.CheckConstraint(name="silence_says_why", condition=~Q(reason="")),
            models.CheckConstraint(
                name="silence_labels_are_texts",
                condition=is_object_of_texts("labels"),
                violation_error_message=_('Write the labels as an object of texts, as in {"name": "nightly"}.'),
            ),
        )

    def __str__(self) -> str:
        return self.reason
