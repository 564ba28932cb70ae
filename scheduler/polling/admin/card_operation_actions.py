"""A person stops or resumes cards at their carrier: with a reason, and through the queue of each account."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, RequiredReasonForm
from scheduler.polling import accounts, operations
from scheduler.polling.admin import cells
from scheduler.polling.models import Card
from scheduler.polling.states import OperationKind


def _no_obstacle(card: Card) -> str:
    return ""


def _consequences_of(first: str, card: Card, now: datetime) -> list[str]:
    minutes = accounts.params_of(card.account).stop_resume_min_interval // 60
    remarks = [
        first,
        _("Between two changes of a card its account lets %(minutes)s min pass: it may have to wait.")
        % {"minutes": minutes},
        _("It is done when the card's status says so. If that does not come, you are told."),
    ]
    if not card.account.active:
        remarks.append(_("Its account is off: the carrier is asked when that is switched on."))
    elif cells.is_held(card.account, now):
        remarks.append(_("Its account is held: the carrier is asked when that has ended."))
    if not card.polling_enabled:
        remarks.append(_("It is not polled: nobody will see whether it is done."))
    return remarks


def _stop_consequences(card: Card, now: datetime) -> list[str]:
    return _consequences_of(_("The carrier is asked to cut the card off."), card, now)


def _resume_consequences(card: Card, now: datetime) -> list[str]:
    return _consequences_of(_("The carrier is asked to let the card in again."), card, now)


def _asked(kind: OperationKind, card: Card, asked: Asked) -> Done:
    [operation] = operations.ask(
        kind, [card.pk], reason=asked.reason, actor=asked.actor, idempotency_key="", now=asked.now
    )
    return Done(
        _("%(kind)s of %(card)s: %(state)s.")
        % {"kind": operation.get_kind_display(), "card": card, "state": operation.get_state_display()},
    )


def _stop(card: Card, asked: Asked) -> Done:
    return _asked(OperationKind.STOP, card, asked)


def _resume(card: Card, asked: Asked) -> Done:
    return _asked(OperationKind.RESUME, card, asked)


STOP = ObjectAction(
    name="stop",
    label=gettext_lazy("Stop"),
    permission="polling.operate_card",
    obstacle=_no_obstacle,
    consequences=_stop_consequences,
    perform=_stop,
    form=RequiredReasonForm,
    tone="danger",
    bulk=True,
)
RESUME = ObjectAction(
    name="resume",
    label=pgettext_lazy("card", "Resume"),
    permission="polling.operate_card",
    obstacle=_no_obstacle,
    consequences=_resume_consequences,
    perform=_resume,
    form=RequiredReasonForm,
    bulk=True,
)
