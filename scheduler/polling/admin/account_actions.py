"""What a person can do with a carrier account: hold and release it, switch it, have its order rebuilt."""

from datetime import datetime, timedelta

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, absolute, relative, seen_at
from scheduler.polling import defining, holding
from scheduler.polling.admin import cells
from scheduler.polling.models import CarrierAccount

USUAL_MINUTES, MOST_MINUTES = 60, 30 * 24 * 60


# --- hold and release --------------------------------------------------------------------------------------------


class HoldForm(RequiredReasonForm):
    """For how long, and why."""

    field_order = ("minutes", "reason")
    minutes = forms.IntegerField(
        label=gettext_lazy("Minutes"),
        min_value=1,
        max_value=MOST_MINUTES,
        initial=USUAL_MINUTES,
        help_text=gettext_lazy("At most 30 days. It goes on by itself afterwards."),
    )


def _hold_obstacle(account: CarrierAccount) -> str:
    return "" if account.active else _("It is off: nothing is asked anyway.")


def _hold_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    replaced = _("It is held already, because: %(reason)s That is replaced.") % {"reason": account.held_reason}
    return [
        *([replaced] if cells.is_held(account, now) else []),
        _("The carrier is asked about none of its cards until then. Cards in work are finished."),
        _("Nothing is lost: what becomes due meanwhile is asked afterwards, at the account's own pace."),
    ]


def _hold(account: CarrierAccount, asked: Asked) -> Done:
    until = asked.now + timedelta(minutes=asked.values["minutes"])
    holding.hold_by(account.pk, until, actor=asked.actor, reason=asked.reason)
    return Done(_("“%(account)s” is held until %(instant)s.") % {"account": account, "instant": absolute(until)})


def _release_obstacle(account: CarrierAccount) -> str:
    return "" if cells.is_held(account, seen_at(account)) else _("It is not held.")


def _release_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    if account.held_until is None:
        return []
    return [
        _("It would be asked again %(when)s. Now it is asked at once.") % {"when": relative(account.held_until, now)},
        _("It is held because: %(reason)s") % {"reason": account.held_reason},
        _("If the carrier still refuses, it is held anew."),
    ]


def _release(account: CarrierAccount, asked: Asked) -> Done:
    sentence = f"{asked.actor} released it. {asked.reason}".strip()
    holding.release(account.pk, sentence=sentence, now=asked.now)
    return Done(_("“%(account)s” is asked again.") % {"account": account})


# --- on and off --------------------------------------------------------------------------------------------------


def _off_obstacle(account: CarrierAccount) -> str:
    return "" if account.active else _("It is off already.")


def _off_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    return [
        _("None of its cards is polled until it is switched on again. Cards in work are finished."),
        _("Its live order is forgotten, and built anew from the rows when it is switched on."),
    ]


def _off(account: CarrierAccount, asked: Asked) -> Done:
    _switch(account, on=False, now=asked.now)
    return Done(_("“%(account)s” is off.") % {"account": account})


def _on_obstacle(account: CarrierAccount) -> str:
    return _("It is on already.") if account.active else ""


def _on_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    return [
        _("Its cards are put in order, and polled at the account's own pace."),
        _("Each check is due when it was before, if that is still to come, and otherwise at once."),
    ]


def _on(account: CarrierAccount, asked: Asked) -> Done:
    _switch(account, on=True, now=asked.now)
    return Done(_("“%(account)s” is on. Its order is built within seconds.") % {"account": account})


def _switch(account: CarrierAccount, *, on: bool, now: datetime) -> None:
    account.active = on
    defining.save_account(account, expected_version=account.version, now=now)


# --- the live order ----------------------------------------------------------------------------------------------


def _rebuild_obstacle(account: CarrierAccount) -> str:
    return "" if account.active else _("It is off: it has no order.")


def _rebuild_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    waits = [_("It is held: its order is built when the hold has ended.")] if cells.is_held(account, now) else []
    return [
        _("The live order of its cards is forgotten, and built anew from the rows by the dispatcher."),
        _("Nothing is claimed of it until all of its cards are in: seconds for thousands of cards."),
        _("When checks are due stays as the rows say. Cards in work are finished, and requests stay."),
        *waits,
    ]


def _note_rebuild(account: CarrierAccount, asked: Asked) -> Done:
    """Do nothing yet: Redis is asked once this transaction, with its entry in the audit log, has ended."""
    said = _("The live order of “%(account)s” is built anew; this page shows how far it is.")
    return Done(said % {"account": account})


# --- parameters and the end --------------------------------------------------------------------------------------


def _defaults_obstacle(account: CarrierAccount) -> str:
    return "" if hasattr(account, "params") else _("All of its parameters are the usual ones already.")


def _defaults_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    return [
        _("What was set for this account is forgotten, and what is usual for its gateway holds, within seconds."),
        _("Look whether the carrier bears it: rate windows, calls at one time and the queue are among them."),
    ]


def _defaults(account: CarrierAccount, asked: Asked) -> Done:
    defining.back_to_defaults(account.pk)
    return Done(_("The usual parameters hold for “%(account)s”.") % {"account": account})


def _delete_obstacle(account: CarrierAccount) -> str:
    if account.cards.exists():
        return _("It has cards. Give them to another account, or delete them first.")
    return ""


def _delete_consequences(account: CarrierAccount, now: datetime) -> list[str]:
    return [_("The account goes, with its credentials and its parameters. That cannot be undone.")]


def _delete(account: CarrierAccount, asked: Asked) -> Done:
    defining.delete_account(account, expected_version=account.version)
    return Done(_("“%(account)s” is deleted.") % {"account": account}, gone=True)


HOLD = ObjectAction(
    name="hold",
    label=gettext_lazy("Hold"),
    permission="polling.hold_carrieraccount",
    obstacle=_hold_obstacle,
    consequences=_hold_consequences,
    perform=_hold,
    form=HoldForm,
    bulk=True,
)
RELEASE = ObjectAction(
    name="release",
    label=gettext_lazy("Release"),
    permission="polling.hold_carrieraccount",
    obstacle=_release_obstacle,
    consequences=_release_consequences,
    perform=_release,
    form=ReasonForm,
    tone="primary",
    bulk=True,
)
SWITCH_OFF = ObjectAction(
    name="switch-off",
    label=gettext_lazy("Switch off"),
    permission="polling.change_carrieraccount",
    obstacle=_off_obstacle,
    consequences=_off_consequences,
    perform=_off,
    form=RequiredReasonForm,
)
SWITCH_ON = ObjectAction(
    name="switch-on",
    label=gettext_lazy("Switch on"),
    permission="polling.change_carrieraccount",
    obstacle=_on_obstacle,
    consequences=_on_consequences,
    perform=_on,
    tone="primary",
)
REBUILD = ObjectAction(
    name="rebuild",
    label=gettext_lazy("Rebuild the order"),
    permission="polling.initialize_polling",
    obstacle=_rebuild_obstacle,
    consequences=_rebuild_consequences,
    perform=_note_rebuild,
)
DEFAULTS = ObjectAction(
    name="defaults",
    label=gettext_lazy("Default parameters"),
    permission="polling.change_pollingparams",
    obstacle=_defaults_obstacle,
    consequences=_defaults_consequences,
    perform=_defaults,
    form=RequiredReasonForm,
)
DELETE = ObjectAction(
    name="delete-account",
    label=gettext_lazy("Delete"),
    permission="polling.delete_carrieraccount",
    obstacle=_delete_obstacle,
    consequences=_delete_consequences,
    perform=_delete,
    form=RequiredReasonForm,
    tone="danger",
)
ACCOUNT_ACTIONS = (RELEASE, SWITCH_ON, HOLD, SWITCH_OFF, REBUILD, DEFAULTS, DELETE)
