"""What a person can do with a ledger entry: give a charge back, once."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, RequiredReasonForm
from quotas import charging
from quotas.admin import cells
from quotas.models import LedgerEntry
from quotas.states import EntryKind, Kind


class RefundForm(RequiredReasonForm):
    """How much of the charge comes back, and why."""

    field_order = ("amount", "reason")
    amount = forms.IntegerField(
        label=gettext_lazy("Amount"), min_value=1, required=False, help_text=gettext_lazy("Empty: all of it.")
    )

    def __init__(self, *args: Any, row: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, row=row, now=now, **kwargs)
        self.fields["amount"].widget.attrs["max"] = row.units

    def clean_amount(self) -> int | None:
        """Refuse more than was charged."""
        amount: int | None = self.cleaned_data["amount"]
        charged = self.row.units  # type: ignore[union-attr]
        if amount is not None and amount > charged:
            raise forms.ValidationError(_("At most %(units)s were charged.") % {"units": f"{charged:,}"})
        return amount


def refund_of(entry: LedgerEntry) -> LedgerEntry | None:
    """Return the refund of a charge, if there is one."""
    if entry.kind != EntryKind.CHARGE:
        return None
    return LedgerEntry.objects.filter(
        charged=entry.charged_id,
        idempotency_key=entry.idempotency_key,
        kind=EntryKind.REFUND,
        quota=entry.quota_id,
    ).first()


def _obstacle(entry: LedgerEntry) -> str:
    if entry.kind != EntryKind.CHARGE:
        return _("Only a charge can be refunded.")
    if entry.charged_id != entry.quota_id:
        return _("It was charged to “%(key)s”; refund it there.") % {"key": entry.charged.key}
    if refund := refund_of(entry):
        return _("It was refunded already: %(units)s of %(charged)s.") % {
            "units": f"{refund.units:,}",
            "charged": f"{entry.units:,}",
        }
    return ""


def _consequences(entry: LedgerEntry, now: datetime) -> list[str]:
    quota = entry.quota
    sentences = [
        _("Up to %(units)s come back to “%(key)s” and to all that it is part of, at once.")
        % {"units": cells.amount(entry.units, quota.unit), "key": quota.key},
        _("The charge and the refund both stay in the ledger. A charge is refunded once."),
    ]
    if quota.kind == Kind.PERIODIC and quota.period_start is not None and entry.at < quota.period_start:
        sentences.append(_("It was charged in an earlier period, so the refund is recorded and gives nothing now."))
    if quota.kind == Kind.RATE:
        sentences.append(_("What has refilled since is recorded and gives nothing now."))
    return sentences


def _refund(entry: LedgerEntry, asked: Asked) -> Done:
    given = charging.refund(
        entry.charged.key,
        entry.idempotency_key,
        now=asked.now,
        amount=asked.values["amount"],
        actor=asked.actor,
        reason=asked.reason,
    )
    return Done(_("Refunded: %(given)s came back to “%(key)s”.") % {"given": f"{given:,}", "key": entry.charged.key})


REFUND = ObjectAction(
    name="refund",
    label=gettext_lazy("Refund"),
    permission="quotas.refund_quota",
    obstacle=_obstacle,
    consequences=_consequences,
    perform=_refund,
    form=RefundForm,
    tone="danger",
)
