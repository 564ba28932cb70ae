"""The rows of what was spent: the ledger, and the reservations."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotas.models.quotas import Quota
from quotas.states import EntryKind, Purpose, ReservationState

RARE_KINDS = sorted(set(EntryKind) - {EntryKind.CHARGE})


class LedgerEntry(models.Model):
    """One change of a quota's balance, limit - used. Entries are only ever added; their sum is the balance.

    A charge writes one entry in the charged quota and one in each of its ancestors, all under its key.

    Who writes one has locked its quotas, and a trigger refuses to delete a quota: asking for both once more, as a
    foreign key does, would be a sixth of what a charge takes of PostgreSQL.
    """

    quota = models.ForeignKey(
        Quota, models.PROTECT, db_constraint=False, db_index=False, related_name="entries", verbose_name=_("quota")
    )  # see entry_latest_of_quota
    charged = models.ForeignKey(
        Quota, models.PROTECT, db_constraint=False, db_index=False, related_name="+", verbose_name=_("charged")
    )  # see entry_once
    kind = models.CharField(_("kind"), max_length=10, choices=EntryKind)
    idempotency_key = models.CharField(_("idempotency key"), max_length=250)
    units = models.BigIntegerField(_("units"))  # what was asked for
    amount = models.BigIntegerField(_("change of the balance"))
    owner = models.CharField(_("for"), max_length=200, blank=True)
    attempt = models.PositiveIntegerField(_("attempt"), null=True, blank=True)
    # Given back if the attempt ends without having used it; see charging.refund_unused.
    refund_on_failure = models.BooleanField(default=False)
    over_limit = models.BooleanField(_("over the limit"), default=False)  # granted in shadow mode, or settled
    at = models.DateTimeField(_("at"))
    actor = models.CharField(_("by"), max_length=200, blank=True)
    reason = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("ledger entry")
        verbose_name_plural = _("ledger")
        ordering = ("-id",)
        indexes = (
            # the quota's page, and the forecast
            models.Index("quota", models.F("id").desc(), name="entry_latest_of_quota"),
            # what one owner was charged: the page of a run
            models.Index("owner", models.F("id").desc(), name="entry_latest_of_owner", condition=~Q(owner="")),
            # the list by kind: what is rare would be looked for through all of the ledger
            models.Index("kind", models.F("id").desc(), name="entry_of_rare_kind", condition=Q(kind__in=RARE_KINDS)),
            # charging.refund_unused
            models.Index(fields=["owner", "attempt"], name="entry_may_be_unused", condition=Q(refund_on_failure=True)),
        )
        constraints = (
            models.UniqueConstraint(name="entry_once", fields=["charged", "idempotency_key", "kind", "quota"]),
            models.CheckConstraint(name="entry_kind_is_known", condition=Q(kind__in=EntryKind.values)),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.amount:+}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: the ledger is written by quotas.books only."""
        raise TypeError("A ledger entry is written by quotas.books only.")


class Reservation(models.Model):
    """An amount that is held for an owner until it is settled or released; leased, so that a dead owner loses it."""

    quota = models.ForeignKey(
        Quota, models.PROTECT, db_index=False, related_name="reservations", verbose_name=_("quota")
    )  # see reservation_once
    idempotency_key = models.CharField(_("idempotency key"), max_length=250)
    purpose = models.CharField(_("purpose"), max_length=10, choices=Purpose, default=Purpose.WORK)
    amount = models.BigIntegerField(_("amount"))
    owner = models.CharField(_("for"), max_length=200, blank=True)
    attempt = models.PositiveIntegerField(_("attempt"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=ReservationState, default=ReservationState.HELD)
    settled_amount = models.BigIntegerField(_("settled"), null=True, blank=True)
    lease_seconds = models.PositiveIntegerField()
    expires_at = models.DateTimeField(_("expires"))
    created_at = models.DateTimeField(_("reserved"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("reservation")
        verbose_name_plural = _("reservations")
        ordering = ("-id",)
        indexes = (
            # reserving.free_expired
            models.Index(fields=["expires_at"], name="reservation_may_be_expired", condition=Q(state="held")),
            # reserving.renew, release_all_of
            models.Index(fields=["owner"], name="reservation_held_for", condition=Q(state="held")),
        )
        constraints = (
            models.UniqueConstraint(name="reservation_once", fields=["quota", "idempotency_key"]),
            models.CheckConstraint(name="reservation_holds_something", condition=Q(amount__gt=0)),
            models.CheckConstraint(
                name="reservation_ended_says_when",
                condition=Q(state="held", ended_at__isnull=True) | ~Q(state="held") & Q(ended_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.amount} for {self.owner or '-'}"
