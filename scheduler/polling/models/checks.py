"""The rows of what carriers said, and of how asking them went."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.models.cards import Card
from scheduler.polling.states import CheckType, ErrorClass


class CardCheck(models.Model):
    """One type of check of one card: the last value, when it is due again, and its failures in a row."""

    card = models.ForeignKey(
        Card, models.CASCADE, related_name="checks", verbose_name=_("card"), db_index=False
    )  # see check_once
    type = models.CharField(_("check"), max_length=12, choices=CheckType)
    value = models.JSONField(_("value"), null=True, blank=True)
    unit = models.CharField(_("unit"), max_length=20, blank=True)
    as_of = models.DateTimeField(_("as of"), null=True, blank=True)  # for when the carrier says so
    checked_at = models.DateTimeField(_("asked"), null=True, blank=True)
    succeeded_at = models.DateTimeField(_("answered"), null=True, blank=True)
    due_at = models.DateTimeField(_("due again"), null=True, blank=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    first_failed_at = models.DateTimeField(_("fails since"), null=True, blank=True)
    last_failed_at = models.DateTimeField(_("failed last"), null=True, blank=True)
    error_class = models.CharField(_("error"), max_length=20, choices=ErrorClass, blank=True)
    error = models.TextField(_("last error"), blank=True)
    # The claim that wrote it: a write with a lower number is of a worker that lost the card, and is dropped.
    token = models.BigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("check")
        verbose_name_plural = _("checks")
        ordering = ("card", "type")
        # No index holds what each check changes, so that rows are written in place.
        indexes = (models.Index(fields=["card"], name="check_that_fails", condition=Q(failures__gt=0)),)
        constraints = (
            models.UniqueConstraint(name="check_once", fields=["card", "type"]),
            models.CheckConstraint(name="check_type_is_known", condition=Q(type__in=CheckType.values)),
            models.CheckConstraint(
                name="check_fails_since",
                condition=Q(failures=0, first_failed_at__isnull=True)
                | Q(failures__gt=0, first_failed_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.card_id} {self.get_type_display()}"


class CardChange(models.Model):
    """One value of a card that changed."""

    card = models.ForeignKey(
        Card, models.CASCADE, related_name="changes", verbose_name=_("card"), db_index=False
    )  # see change_latest
    field = models.CharField(_("what"), max_length=30)
    before = models.CharField(_("before"), max_length=200, blank=True)
    after = models.CharField(_("after"), max_length=200, blank=True)
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        ordering = ("-id",)
        indexes = (models.Index("card", models.F("id").desc(), name="change_latest"),)

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.after}"
