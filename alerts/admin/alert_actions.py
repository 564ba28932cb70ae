"""What a person can do with an alert: say that somebody sees to it, resolve it, silence its like."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts import recording
from alerts.admin.fields import InstantField
from alerts.kinds import kind_label
from alerts.models import Alert, Delivery, Silence
from alerts.states import AlertState, DeliveryState
from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, absolute

LONGEST_REASON = 300  # of a silence


# --- acknowledge -------------------------------------------------------------------------------------------------


class NoteForm(ReasonForm):
    """A note for whoever looks at the alert."""

    reason = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"autofocus": True, "size": 60}),
        help_text=gettext_lazy("Shown on the alert's page: what you found, what you do."),
    )


def _acknowledge_obstacle(alert: Alert) -> str:
    match AlertState(alert.state):
        case AlertState.ACKNOWLEDGED:
            return _("%(who)s sees to it already.") % {"who": alert.handler or _("Somebody")}
        case AlertState.RESOLVED:
            return _("It is resolved; there is nothing to see to.")
    return ""


def _acknowledge_consequences(alert: Alert, now: datetime) -> list[str]:
    return [
        _("It is shown as acknowledged, with your name and the note."),
        _("It is not told again while it lasts. When it is resolved, those who were told of it are told that."),
    ]


def _acknowledge(alert: Alert, asked: Asked) -> Done:
    recording.acknowledge(alert.pk, actor=asked.actor, note=asked.reason)
    return Done(_("You see to “%(title)s”.") % {"title": alert.title})


# --- resolve -----------------------------------------------------------------------------------------------------


def _resolve_obstacle(alert: Alert) -> str:
    return _("It is resolved already.") if alert.state == AlertState.RESOLVED else ""


def _resolve_consequences(alert: Alert, now: datetime) -> list[str]:
    count = _told_of(alert).count()
    return [
        _("It is closed, with your name. If the problem comes again, that is a new alert and told anew."),
        _("Channels that were told of it, and are told of its end: %(count)s.") % {"count": count},
    ]


def _told_of(alert: Alert) -> QuerySet[Delivery]:
    told = Delivery.objects.filter(event__alert=alert, event__telling__in=["opened", "flapping"])
    return told.exclude(state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])


def _resolve(alert: Alert, asked: Asked) -> Done:
    sentence = _("Resolved by %(who)s: %(why)s") % {"who": asked.actor, "why": asked.reason}
    recording.resolve_alert(alert.fingerprint, now=asked.now, sentence=sentence, actor=asked.actor)
    notes = "\n".join(filter(None, [alert.note, asked.reason]))
    Alert.objects.filter(pk=alert.pk).update(note=notes)
    return Done(_("“%(title)s” is resolved.") % {"title": alert.title})


# --- silence -----------------------------------------------------------------------------------------------------


class SilenceLikeForm(RequiredReasonForm):
    """What is silenced, until when, and why."""

    field_order = ("covers", "ends_at", "reason")
    covers = forms.ChoiceField(
        label=gettext_lazy("What"),
        choices=[("same", gettext_lazy("its kind, with its labels")), ("kind", gettext_lazy("all of its kind"))],
        widget=forms.RadioSelect,
        initial="same",
    )
    ends_at = InstantField(label=gettext_lazy("Until"), help_text=gettext_lazy("By your clocks."))
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"size": 60}),
        help_text=gettext_lazy("Shown on each alert of which nobody is told because of this."),
    )

    def __init__(self, *args: Any, row: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, row=row, now=now, **kwargs)
        self.fields["ends_at"].initial = now + timedelta(hours=4)

    def clean_ends_at(self) -> datetime:
        """Refuse an end that is past."""
        ends_at: datetime = self.cleaned_data["ends_at"]
        if ends_at <= self.now:
            raise forms.ValidationError(_("“Until” is past. Choose a later time."))
        return ends_at


def _no_obstacle(alert: Alert) -> str:
    return ""


def _silence_consequences(alert: Alert, now: datetime) -> list[str]:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(alert.labels.items()))
    return [
        _("Its kind is “%(kind)s”, its labels are: %(labels)s.")
        % {"kind": kind_label(alert.kind), "labels": labels or _("none")},
        _("Until then nobody is told when such an alert opens, and open ones are not told again."),
        _("They are recorded all the same, and their end is told to those who knew of them."),
    ]


def _silence(alert: Alert, asked: Asked) -> Done:
    silence = Silence.objects.create(
        kind=alert.kind,
        labels=alert.labels if asked.values["covers"] == "same" else {},
        starts_at=asked.now,
        ends_at=asked.values["ends_at"],
        reason=asked.reason,
        created_by=asked.actor,
    )
    return Done(_("Silent until %(until)s.") % {"until": absolute(silence.ends_at)})


ACKNOWLEDGE = ObjectAction(
    name="acknowledge",
    label=gettext_lazy("Acknowledge"),
    permission="alerts.handle_alert",
    obstacle=_acknowledge_obstacle,
    consequences=_acknowledge_consequences,
    perform=_acknowledge,
    form=NoteForm,
    tone="primary",
    bulk=True,
)
RESOLVE = ObjectAction(
    name="resolve",
    label=gettext_lazy("Resolve"),
    permission="alerts.handle_alert",
    obstacle=_resolve_obstacle,
    consequences=_resolve_consequences,
    perform=_resolve,
    form=RequiredReasonForm,
    bulk=True,
)
SILENCE = ObjectAction(
    name="silence",
    label=gettext_lazy("Silence"),
    permission="alerts.add_silence",
    obstacle=_no_obstacle,
    consequences=_silence_consequences,
    perform=_silence,
    form=SilenceLikeForm,
)
ALERT_ACTIONS = (ACKNOWLEDGE, RESOLVE, SILENCE)
