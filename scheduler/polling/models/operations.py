"""The rows of what is done to cards."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.models.accounts import CarrierAccount
from scheduler.polling.models.cards import Card
from scheduler.polling.states import ErrorClass, OperationKind, OperationState


class CardOperation(models.Model):
    """That one card is stopped or resumed: who wants it and why, and how far it got. A card has one open at a time."""

    card = models.ForeignKey(
        Card, models.CASCADE, related_name="operations", verbose_name=_("card"), db_index=False
    )  # see operation_of_card
    account = models.ForeignKey(
        CarrierAccount, models.PROTECT, related_name="operations", verbose_name=_("account"), db_index=False
    )
    kind = models.CharField(_("what"), max_length=10, choices=OperationKind)
    reason = models.TextField(_("why"))
    actor = models.CharField(_("asked by"), max_length=200)
    idempotency_key = models.CharField(_("idempotency key"), max_length=200, unique=True)
    state = models.CharField(_("state"), max_length=12, choices=OperationState, default=OperationState.WAITING)
    created_at = models.DateTimeField(_("asked at"))
    due_at = models.DateTimeField(_("due"))  # not earlier; the account's interval and throttling move it
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    tries = models.PositiveIntegerField(_("tries"), default=0)
    # Of the sender that has it in hand: only it may write, and only until then.
    token = models.PositiveBigIntegerField(default=0, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    error_class = models.CharField(_("error"), max_length=20, choices=ErrorClass, blank=True)
    error = models.TextField(_("what the carrier said"), blank=True)
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("stop or resume")
        verbose_name_plural = _("stops and resumes")
        ordering = ("-id",)
        permissions = (("operate_card", _("Can stop and resume cards")),)
        indexes = (
            models.Index(fields=["card", "-id"], name="operation_of_card"),
            models.Index(fields=["account", "due_at"], name="operation_is_waiting", condition=Q(state="waiting")),
            models.Index(fields=["account", "lease_until"], name="operation_in_work", condition=Q(state="sending")),
        )
        constraints = (
            models.UniqueConstraint(
                name="operation_open_once", fields=["card"], condition=Q(state__in=["waiting", "sending", "accepted"])
            ),
            models.CheckConstraint(
                name="operation_ends",
                condition=Q(state__in=["waiting", "sending", "accepted"], ended_at__isnull=True)
                | (~Q(state__in=["waiting", "sending", "accepted"]) & Q(ended_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="operation_in_work_has_a_lease",
                condition=Q(state="sending", lease_until__isnull=False)
                | (~Q(state="sending") & Q(lease_until__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.card_id}"
