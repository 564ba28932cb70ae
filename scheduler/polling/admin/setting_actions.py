"""What a person can do with a setting: change it, and go back to its default, and begin a cut-over of the one that says
who decides; each with a reason.
"""

import json
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, RequiredReasonForm, row_link
from project.kit.admin.object_actions import Refused
from scheduler.polling import system_settings
from scheduler.polling.admin import json_fields
from scheduler.polling.cutover import legacy, standing, switching
from scheduler.polling.models import SystemSetting
from scheduler.polling.system_settings import Mode

# For so long other processes go on with what held before.
KNOWN_WITHIN = gettext_lazy("It holds everywhere within seconds; cards in work are finished as they were begun.")


class ValueForm(RequiredReasonForm):
    """The new value as JSON, and why."""

    field_order = ("value", "reason")
    value = forms.CharField(
        label=gettext_lazy("Value"),
        widget=forms.TextInput(attrs={"class": "code", "size": 60, "autofocus": True, "spellcheck": "false"}),
        help_text=gettext_lazy("As JSON has it: 20, true, [60, 300]. A word may stand without its quotes."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["reason"].widget.attrs["autofocus"]
        if isinstance(self.row, SystemSetting):
            self.fields["value"].initial = json.dumps(self.row.value, ensure_ascii=False)

    def clean_value(self) -> Any:
        """Return the value that was typed, if it may be set."""
        if not isinstance(self.row, SystemSetting):
            raise ValidationError(_("Change one setting at a time."))
        typed = self.cleaned_data["value"]
        try:
            value = json_fields.read(typed)
        except ValidationError:
            value = typed  # a word without its quotes, or what the setting refuses
        try:
            return system_settings.checked(self.row.key, value)
        except ValidationError as refusal:
            raise ValidationError(refusal.messages) from None


def shown(value: Any) -> SafeString:
    """Return a setting's value as a person reads it."""
    return format_html("<code>{}</code>", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _is_mode(setting: SystemSetting) -> bool:
    return setting.key == system_settings.MODE_KEY


def _change_obstacle(setting: SystemSetting) -> str:
    return _("A cut-over changes it, and nothing else does.") if _is_mode(setting) else ""


def _change_consequences(setting: SystemSetting, now: datetime) -> list[Any]:
    return [
        system_settings.described(setting.key),
        format_html(
            _("It is {} now; by default it is {}."),
            shown(setting.value),
            shown(system_settings.default(setting.key)),
        ),
        KNOWN_WITHIN,
    ]


def _change(setting: SystemSetting, asked: Asked) -> Done:
    row = system_settings.change(
        setting.key, asked.values["value"], actor=asked.actor, now=asked.now, expected_version=setting.version
    )
    return Done(
        _("The setting %(key)s is %(value)s.") % {"key": row.key, "value": json.dumps(row.value, ensure_ascii=False)}
    )


def _default_obstacle(setting: SystemSetting) -> str:
    if _is_mode(setting):
        return _change_obstacle(setting)
    return "" if setting.version else _("Its default holds already.")


def _default_consequences(setting: SystemSetting, now: datetime) -> list[Any]:
    default = shown(system_settings.default(setting.key))
    return [format_html(_("It is {} now, and becomes {}."), shown(setting.value), default), KNOWN_WITHIN]


def _back_to_default(setting: SystemSetting, asked: Asked) -> Done:
    system_settings.back_to_default(setting.key)
    return Done(_("The default of %(key)s holds.") % {"key": setting.key})


# --- who decides -----------------------------------------------------------------------------------------------


def _cut_over_obstacle(setting: SystemSetting) -> str:
    if not _is_mode(setting):
        return _("It is changed without a cut-over.")
    return _("A cut-over is under way.") if switching.under_way() else ""


def _cut_over_consequences(setting: SystemSetting, now: datetime) -> list[Any]:
    return [
        format_html(_("It is {} now, and becomes {}."), shown(setting.value), shown(_wanted().value)),
        _(
            "No card is claimed until it is done: what is in work ends, or its lease does; then every card is put in"
            " order on the other side, and counted against the rows."
        ),
        _("A worker has to read the queue %(queue)s, in which the simple way sends its messages: the process “legacy”.")
        % {"queue": legacy.QUEUE},
    ]


def _cut_over(setting: SystemSetting, asked: Asked) -> Done:
    try:
        row = switching.start(_wanted(), actor=asked.actor, now=asked.now)
    except ValidationError as refusal:
        raise Refused(" ".join(refusal.messages)) from None
    return Done(format_html(_("The cut-over has begun: {}."), row_link(row)))


def _wanted() -> Mode:
    return standing.other(standing.now_holds().mode)


CHANGE = ObjectAction(
    name="change",
    label=gettext_lazy("Change"),
    permission="polling.change_systemsetting",
    obstacle=_change_obstacle,
    consequences=_change_consequences,
    perform=_change,
    form=ValueForm,
    tone="primary",
)
BACK_TO_DEFAULT = ObjectAction(
    name="default",
    label=gettext_lazy("Back to default"),
    permission="polling.change_systemsetting",
    obstacle=_default_obstacle,
    consequences=_default_consequences,
    perform=_back_to_default,
    form=RequiredReasonForm,
)
CUT_OVER = ObjectAction(
    name="cut-over",
    label=gettext_lazy("Cut over"),
    permission="polling.cut_over",
    obstacle=_cut_over_obstacle,
    consequences=_cut_over_consequences,
    perform=_cut_over,
    form=RequiredReasonForm,
    tone="danger",
)
SETTING_ACTIONS = (CHANGE, BACK_TO_DEFAULT, CUT_OVER)
