"""The optimistic lock of forms: a save that is based on an old version is refused, with both versions shown.

The form posts along what it was opened with. So, when somebody else saved meanwhile, it is known for each field who
changed it: what the person typed stays typed, what only the other changed is taken over, and saving again is a
decision made with open eyes.
"""

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from project.kit.admin.instants import absolute
from project.kit.admin.pages import PanelAdmin
from project.kit.versions import version_of

LOCK_FIELDS = ("expected_version", "opened_with")


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which the typed and the saved version differ, and who changed it since the form was opened."""

    label: str | Promise
    typed: str
    saved: str
    changed_by: str | Promise


class VersionLockedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form whose save is based on the version with which it was opened: the row's `version`, which its saver raises
    by one, or what stands for it where a row has none.

    Attributes:
        differences: after a refused save, the fields in which the two versions differ.
        current: after a refused save, the row as it is now.
    """

    expected_version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    opened_with = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.differences: list[Difference] = []
        self.current: Model | None = None
        if self.instance.pk and self.fields.keys() - LOCK_FIELDS:
            self.initial["expected_version"] = version_of(self.instance)
            self.initial["opened_with"] = json.dumps(self._texts(self.instance), sort_keys=True)

    def initial_values(self, instance: Any) -> dict[str, Any]:
        """Return the values with which the form shows a row."""
        return model_to_dict(instance, list(self.fields), None)

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.instance.pk:
            self._refuse_if_stale()

    def locked_row(self) -> Any:
        """Return the row as it is now.

        It stays locked until the admin's transaction ends, so that nobody saves between this look and ours.
        """
        return type(self.instance)._default_manager.select_for_update().get(pk=self.instance.pk)

    def add_refusals(self, refusal: ValidationError) -> None:
        """Put each sentence of the domain on its field, unless that has one already."""
        for name, sentences in refusal.message_dict.items():
            if name not in self.errors:
                self.add_error(name if name in self.fields else None, sentences)

    def _refuse_if_stale(self) -> None:
        current = self.locked_row()
        if version_of(current) == self.cleaned_data.get("expected_version"):
            return
        self.current = current
        self._merge(current)
        self.add_error(
            None,
            _(
                "Somebody else saved this while you were editing it, so nothing was saved. What you typed is still "
                "here. Look at both versions, and save again to keep what the form shows now."
            ),
        )

    def _merge(self, current: Model) -> None:
        """Note the differences, take over what only the other changed, and expect their version from now on."""
        saved, opened = self._texts(current), self._opened()
        data = QueryDict(mutable=True)
        data.update(self.data)
        for name, theirs in saved.items():
            typed = self._typed(name)
            if typed == theirs:
                continue
            field, who = self.fields[name], _changed_by(opened.get(name), typed, theirs)
            self.differences.append(Difference(field.label or name, _label(field, typed), _label(field, theirs), who))
            if typed == opened.get(name):
                data[self.add_prefix(name)] = theirs
        data[self.add_prefix("expected_version")] = str(version_of(current))
        data[self.add_prefix("opened_with")] = json.dumps(saved, sort_keys=True)
        self.data = data

    def _texts(self, instance: Model) -> dict[str, str]:
        values = self.initial_values(instance)
        return {name: _text(field, values.get(name)) for name, field in self.fields.items() if name not in LOCK_FIELDS}

    def _typed(self, name: str) -> str:
        text: str = self.data.get(self.add_prefix(name), "")
        return text.replace("\r\n", "\n")

    def _opened(self) -> dict[str, str]:
        try:
            opened = json.loads(self.data.get(self.add_prefix("opened_with"), ""))
        except ValueError:
            return {}
        return opened if isinstance(opened, dict) else {}


class VersionLockMixin(PanelAdmin):
    """For an admin whose form is a VersionLockedForm: its page shows the differences after a refused save."""

    change_form_template = "admin/version_locked_form.html"
    form = VersionLockedForm

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the form; after a refused save also who saved meanwhile."""
        current = context["adminform"].form.current
        if current is not None:
            context["saved_by"] = self._saved_by(current)
        return super().render_change_form(request, context, *args, **kwargs)

    def _saved_by(self, row: Model) -> str:
        """Return who wrote to the audit log last for the row; nothing where it was saved past the admin."""
        entries = LogEntry.objects.filter(object_id=str(row.pk), content_type=ContentType.objects.get_for_model(row))
        entry = entries.select_related("user").order_by("-action_time").first()
        if entry is None:
            return ""
        return _("last saved here by %(user)s, %(instant)s") % {
            "user": entry.user.get_username(),
            "instant": absolute(entry.action_time),
        }


def _changed_by(opened: str | None, typed: str, theirs: str) -> str:
    if typed == opened:
        return _("them; the form shows it now")
    return _("you") if theirs == opened else _("you and them")


def _text(field: forms.Field, value: Any) -> str:
    """Return the value as the field's widget shows it and posts it back."""
    value = field.prepare_value(value)
    if value is None:
        return ""
    if isinstance(field.widget, forms.CheckboxInput):
        return "on" if value else ""
    if isinstance(field.widget, forms.Select):
        return str(value)
    return str(field.widget.format_value(value) or "")


def _label(field: forms.Field, text: str) -> str:
    """Return the text as a person knows it: a choice by its label."""
    choices = {str(value): label for value, label in getattr(field, "choices", ())}
    return str(choices.get(text, text))
