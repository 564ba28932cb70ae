"""What a person can do with a card: have it polled or not, checked at once, asked about as another account's."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm
from scheduler.polling.admin import cells
from scheduler.polling.admin.card_operation_actions import RESUME, STOP
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, CarrierAccount
from scheduler.polling.queue import Requested
from scheduler.polling.states import CheckType

# By what requests of the control panel are known.
SCENE = "control_panel"


# --- polled or not -----------------------------------------------------------------------------------------------


def _off_obstacle(card: Card) -> str:
    return "" if card.polling_enabled else _("It is not polled already.")


def _off_consequences(card: Card, now: datetime) -> list[str]:
    return [
        _("The carrier is not asked about it any more. What is known of it stays."),
        _("Its open alerts are resolved: no answer will."),
    ]


def _off(card: Card, asked: Asked) -> Done:
    lifecycle.disable([card.pk], now=asked.now)
    return Done(_("%(card)s is not polled any more.") % {"card": card})


def _on_obstacle(card: Card) -> str:
    return _("It is polled already.") if card.polling_enabled else ""


def _on_consequences(card: Card, now: datetime) -> list[str]:
    off = [] if card.account.active else [_("Its account is off: it is asked about when that is switched on.")]
    return [
        _("Its checks are due soon, spread so that many cards make no herd, and then as its tier says."),
        *off,
    ]


def _on(card: Card, asked: Asked) -> Done:
    lifecycle.enable([card.pk], now=asked.now)
    return Done(_("%(card)s is polled.") % {"card": card})


# --- checked now -------------------------------------------------------------------------------------------------


class CheckForm(ReasonForm):
    """What is checked."""

    field_order = ("checks", "reason")
    checks = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Checks"),
        choices=CheckType.choices,
        coerce=CheckType,
        initial=CheckType.values,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one check.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["reason"].widget.attrs["autofocus"]


def _check_obstacle(card: Card) -> str:
    if not card.polling_enabled:
        return _("It is not polled. Switch its polling on first.")
    return "" if card.account.active else _("Its account is off. Switch that on first.")


def _check_consequences(card: Card, now: datetime) -> list[str]:
    held = [_("Its account is held: it is asked when that has ended.")] if cells.is_held(card.account, now) else []
    return [
        _("The carrier is asked about it with priority, within the account's limits: usually within seconds."),
        _("If it is in work just now, it is worked on once more afterwards."),
        *held,
        _("Its schedule stays as it is, but for what is answered: that is due an interval later."),
    ]


def _note_check(card: Card, asked: Asked) -> Done:
    """Do nothing yet: the live order is asked once this transaction, with its entry in the audit log, has ended."""
    return Done("")


def said_of(requested: Requested, card: Card) -> str:
    """Return what came of a request, as a sentence."""
    return {
        Requested.UNKNOWN: _("%(card)s is not in the live order yet. Wait until its account's order is complete."),
        Requested.COOLING: _("%(card)s was asked for a short time ago."),
        Requested.MERGED: _("%(card)s is asked for already, and comes with priority."),
        Requested.ASKED: _("%(card)s is asked about with priority."),
        Requested.AFTER_THIS_RUN: _("%(card)s is in work just now, and will be once more afterwards."),
    }[requested] % {"card": card}


# --- another account ---------------------------------------------------------------------------------------------


class MoveForm(RequiredReasonForm):
    """To which account, and why."""

    field_order = ("account", "reason")
    account = forms.ModelChoiceField(
        label=gettext_lazy("Account"), queryset=CarrierAccount.objects.defer("settings", "credentials").order_by("name")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["reason"].widget.attrs["autofocus"]
        if isinstance(self.row, Card):
            accounts: Any = self.fields["account"]
            accounts.queryset = accounts.queryset.exclude(pk=self.row.account_id)


def _no_obstacle(card: Card) -> str:
    return ""


def _move_consequences(card: Card, now: datetime) -> list[str]:
    return [
        _("It is asked about as a card of “%(account)s” now, and as one of the other account from then on.")
        % {"account": card.account},
        _("It leaves the one order and comes into the other, due soon. What is in work of it is dropped."),
        _("At the carrier nothing is changed: the card has to be the other account's there."),
    ]


def _move(card: Card, asked: Asked) -> Done:
    account = asked.values["account"]
    lifecycle.change({card.pk: {"account": account}}, now=asked.now)
    return Done(_("%(card)s is a card of “%(account)s”.") % {"card": card, "account": account})


# --- the end -----------------------------------------------------------------------------------------------------


def _delete_consequences(card: Card, now: datetime) -> list[str]:
    return [
        _("The card goes, with its checks and all that is known of it. That cannot be undone."),
        _("To stop asking about it, switch its polling off instead."),
    ]


def _delete(card: Card, asked: Asked) -> Done:
    lifecycle.remove([card.pk], now=asked.now)
    return Done(_("%(card)s is deleted.") % {"card": card}, gone=True)


CHECK_NOW = ObjectAction(
    name="check-now",
    label=gettext_lazy("Check now"),
    permission="polling.check_card",
    obstacle=_check_obstacle,
    consequences=_check_consequences,
    perform=_note_check,
    form=CheckForm,
    tone="primary",
    bulk=True,
)
POLLING_ON = ObjectAction(
    name="polling-on",
    label=gettext_lazy("Polling on"),
    permission="polling.change_card",
    obstacle=_on_obstacle,
    consequences=_on_consequences,
    perform=_on,
    bulk=True,
)
POLLING_OFF = ObjectAction(
    name="polling-off",
    label=gettext_lazy("Polling off"),
    permission="polling.change_card",
    obstacle=_off_obstacle,
    consequences=_off_consequences,
    perform=_off,
    form=RequiredReasonForm,
    bulk=True,
)
MOVE = ObjectAction(
    name="move",
    label=gettext_lazy("Move to another account"),
    permission="polling.change_card",
    obstacle=_no_obstacle,
    consequences=_move_consequences,
    perform=_move,
    form=MoveForm,
    bulk=True,
)
DELETE = ObjectAction(
    name="delete-card",
    label=gettext_lazy("Delete"),
    permission="polling.delete_card",
    obstacle=_no_obstacle,
    consequences=_delete_consequences,
    perform=_delete,
    form=RequiredReasonForm,
    tone="danger",
)
CARD_ACTIONS = (CHECK_NOW, STOP, RESUME, POLLING_ON, POLLING_OFF, MOVE, DELETE)
