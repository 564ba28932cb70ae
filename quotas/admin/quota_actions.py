"""What a person can do with a quota. What moves its balance says why, and once however often it is sent."""

import uuid
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, absolute, seen_at
from quotas import availability, charging, scans
from quotas.admin import cells
from quotas.amounts import LARGEST
from quotas.models import LedgerEntry, Quota
from quotas.outlook import next_reset
from quotas.refusals import Conflict
from quotas.states import EntryKind, Kind, Verdict


class OnceForm(RequiredReasonForm):
    """A confirmation with a key of its own, so that one that is sent twice acts once.

    Attributes:
        entry: the kind of the ledger entry that it makes.
    """

    entry: EntryKind
    once = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)

    def __init__(self, *args: Any, row: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, row=row, now=now, **kwargs)
        del self.fields["reason"].widget.attrs["autofocus"]
        next(iter(self.fields.values())).widget.attrs["autofocus"] = True

    def clean(self) -> dict[str, Any]:
        """Say it where it can be read if the key is gone."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "once" in self.errors:
            self.add_error(None, _("This page is not as it was sent. Open it again."))
        return cleaned

    def was_sent_before(self, quota: Quota) -> bool:
        """Tell whether this confirmation has acted already."""
        own = LedgerEntry.objects.filter(charged=quota, quota=quota, kind=self.entry)
        return own.filter(idempotency_key=str(self.cleaned_data["once"])).exists()


def repeat(action: ObjectAction, quota: Quota, asked: Asked) -> Done:
    """Do once more what was done before under the same key, which the domain knows and does nothing.

    Raises:
        Conflict: it was something else.
    """
    try:
        action.perform(quota, asked)
    except Conflict as conflict:
        sentence = _("This page was sent before, with another amount. Open the action again to do it once more.")
        raise Conflict(sentence) from conflict
    return Done(_("That was done already, and nothing was done a second time."))


# --- top up ----------------------------------------------------------------------------------------------------


class TopUpForm(OnceForm):
    """How much is added, and why."""

    field_order = ("amount", "reason")
    entry = EntryKind.TOP_UP
    amount = forms.IntegerField(label=gettext_lazy("Amount"), min_value=1, max_value=LARGEST)


def _top_up_obstacle(quota: Quota) -> str:
    if quota.kind != Kind.CAPACITY:
        return _("Only a capacity is topped up. Set its limit instead.")
    if quota.limit is None:
        return _("It is unlimited; there is nothing to top up.")
    return ""


def _top_up_consequences(quota: Quota, now: datetime) -> list[str]:
    return [
        _("Its limit is %(limit)s, and %(left)s are available. The amount is added to both, at once.")
        % _figures(quota, now),
        *_what_waits(quota),
        _("The ledger keeps who topped it up, and why."),
    ]


def _top_up(quota: Quota, asked: Asked) -> Done:
    amount = asked.values["amount"]
    total = charging.top_up(
        quota.key,
        amount,
        now=asked.now,
        idempotency_key=str(asked.values["once"]),
        actor=asked.actor,
        reason=asked.reason,
    )
    said = _("Topped up by %(amount)s: the limit is %(total)s.")
    return Done(said % {"amount": f"{amount:,}", "total": cells.amount(total, quota.unit)})


# --- set the limit ---------------------------------------------------------------------------------------------


class LimitForm(OnceForm):
    """The new limit, and why."""

    field_order = ("limit", "unlimited", "reason")
    use_required_attribute = False  # the limit is not, beside a tick at unlimited
    entry = EntryKind.LIMIT
    limit = forms.IntegerField(
        label=gettext_lazy("Limit"),
        min_value=0,
        max_value=LARGEST,
        help_text=gettext_lazy("In whole units; 0 blocks."),
        error_messages={"required": gettext_lazy("Write the new limit, or tick “Unlimited”.")},
    )
    unlimited = forms.BooleanField(label=gettext_lazy("Unlimited"), required=False)

    def clean(self) -> dict[str, Any]:
        """Take a tick for the limit; an empty field alone makes nothing unlimited."""
        cleaned = super().clean()
        if not cleaned.get("unlimited"):
            return cleaned
        if cleaned.get("limit") is not None:
            self.add_error("limit", _("Write the new limit, or tick “Unlimited”; not both."))
        elif isinstance(self.row, Quota) and self.row.kind == Kind.RATE:
            self.add_error("unlimited", _("A rate needs a limit: how many units may be spent at once after a pause."))
        elif self.has_error("limit", code="required"):
            del self.errors["limit"]
            cleaned["limit"] = None
        return cleaned


def _limit_consequences(quota: Quota, now: datetime) -> list[str]:
    return [
        _("Its limit is %(limit)s, and %(left)s are available. The new limit counts at once.") % _figures(quota, now),
        _("Below what is used (%(used)s) nothing is available; what runs is not stopped.")
        % {"used": f"{availability.used_at(quota, now):,}"},
        *_what_waits(quota),
        _("The ledger keeps who set it, and why."),
    ]


def _set_limit(quota: Quota, asked: Asked) -> Done:
    limit = asked.values["limit"]
    charging.set_limit(
        quota.key,
        limit,
        now=asked.now,
        idempotency_key=str(asked.values["once"]),
        actor=asked.actor,
        reason=asked.reason,
    )
    return Done(_("The limit is %(limit)s.") % {"limit": cells.amount(limit, quota.unit)})


# --- reset now -------------------------------------------------------------------------------------------------


class ResetForm(OnceForm):
    """Why."""

    entry = EntryKind.RESET


def _reset_obstacle(quota: Quota) -> str:
    if quota.kind != Kind.PERIODIC:
        return _("It does not reset by the clock. Top it up, or set its limit.")
    return "" if availability.used_at(quota, seen_at(quota)) else _("Nothing of it is used.")


def _reset_consequences(quota: Quota, now: datetime) -> list[str]:
    used, reset = cells.amount(availability.used_at(quota, now), quota.unit), next_reset(quota, now)
    provider = [_("What its provider has counted stays as it is.")] if quota.provider_observed_at else []
    return [
        _("All that is used of it (%(used)s) comes back at once.") % {"used": used},
        _("The next reset stays: %(when)s.") % {"when": absolute(reset) if reset else ""},
        *provider,
        *_what_waits(quota),
        _("The ledger keeps who reset it, and why."),
    ]


def _reset(quota: Quota, asked: Asked) -> Done:
    once = str(asked.values["once"])
    given = charging.reset(quota.key, now=asked.now, idempotency_key=once, actor=asked.actor, reason=asked.reason)
    return Done(_("It is reset: %(given)s came back.") % {"given": cells.amount(given, quota.unit)})


# --- check now -------------------------------------------------------------------------------------------------


def _check_consequences(quota: Quota, now: datetime) -> list[str]:
    sentences = [_("Its verdict is judged anew. It is %(verdict)s.") % {"verdict": quota.get_verdict_display()}]
    if quota.probe_url:
        sentences.append(_("The next fallback poll is made due, and asks the provider's usage endpoint."))
    return [*sentences, _("Work that waits and fits goes on. Nothing is charged.")]


def _check(quota: Quota, asked: Asked) -> Done:
    judged = scans.evaluate(quota.pk, now=asked.now)
    Quota.objects.filter(pk=quota.pk).update(next_check_at=asked.now)
    return Done(_("It is %(verdict)s. The fallback poll looks at it now.") % {"verdict": judged.get_verdict_display()})


# --- parts -----------------------------------------------------------------------------------------------------


def _none(quota: Quota) -> str:
    return ""


def _figures(quota: Quota, now: datetime) -> dict[str, str]:
    left = availability.available(quota, now)
    return {"limit": cells.amount(quota.limit, quota.unit), "left": cells.amount(left)}


def _what_waits(quota: Quota) -> list[str]:
    return [cells.goes_on_above(quota)] if quota.verdict == Verdict.INSUFFICIENT else []


TOP_UP = ObjectAction(
    name="top-up",
    label=gettext_lazy("Top up"),
    permission="quotas.top_up_quota",
    obstacle=_top_up_obstacle,
    consequences=_top_up_consequences,
    perform=_top_up,
    form=TopUpForm,
    tone="primary",
)
SET_LIMIT = ObjectAction(
    name="set-limit",
    label=gettext_lazy("Set limit"),
    permission="quotas.top_up_quota",
    obstacle=_none,
    consequences=_limit_consequences,
    perform=_set_limit,
    form=LimitForm,
)
RESET_NOW = ObjectAction(
    name="reset-now",
    label=gettext_lazy("Reset now"),
    permission="quotas.top_up_quota",
    obstacle=_reset_obstacle,
    consequences=_reset_consequences,
    perform=_reset,
    form=ResetForm,
)
CHECK_NOW = ObjectAction(
    name="check-now",
    label=gettext_lazy("Check now"),
    permission="quotas.change_quota",
    obstacle=_none,
    consequences=_check_consequences,
    perform=_check,
    form=ReasonForm,
)
QUOTA_ACTIONS = (TOP_UP, SET_LIMIT, RESET_NOW, CHECK_NOW)
