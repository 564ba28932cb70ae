"""Form fields of the alerts: instants on the viewer's clocks, labels, and kinds to choose from."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.kinds import KINDS, NOTICES, PROBLEMS, kind_label
from project.kit.admin import TextsField

_KIND = re.compile(r"[a-z][a-z0-9_]{0,49}")


class InstantField(forms.DateTimeField):
    """An instant by the viewer's clocks, in the browser's own field."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(**{"widget": widget, **kwargs})


class LabelsField(TextsField):
    """The labels of an event."""

    remedy = gettext_lazy('Write the labels as a JSON object of texts, as in {"name": "nightly"}.')


class KindsInput(forms.Widget):
    """Boxes for the known kinds and a line for others, all under one name; the value is all of them with spaces."""

    template_name = "admin/alerts/kinds.html"

    def format_value(self, value: Any) -> str:
        """Return the kinds as they are posted."""
        return value or ""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        """Return all kinds that were ticked or typed."""
        posted = data.getlist(name) if hasattr(data, "getlist") else [data.get(name, "")]
        return " ".join(kinds_in(" ".join(posted)))

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Return what the template draws."""
        chosen = kinds_in(self.format_value(value))
        groups = [(_("Problems"), PROBLEMS), (_("Notices"), NOTICES)]
        known = [{"title": title, "kinds": _boxes(kinds, chosen)} for title, kinds in groups]
        others = " ".join(kind for kind in chosen if kind not in KINDS)
        context = super().get_context(name, value, attrs)
        context["widget"] |= {"groups": known, "others": others}
        return context


def _boxes(kinds: Iterable[str], chosen: Collection[str]) -> list[dict[str, Any]]:
    return [{"key": kind, "label": kind_label(kind), "checked": kind in chosen} for kind in kinds]


class KindsField(forms.Field):
    """Kinds of events, as a list."""

    widget = KindsInput

    def prepare_value(self, value: Any) -> Any:
        """Return the kinds as the widget takes them."""
        return " ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:
        """Return the list, also of what is a list already."""
        return kinds_in(" ".join(value) if isinstance(value, list) else value or "")

    def validate(self, value: list[str]) -> None:
        """Refuse what no kind can be called."""
        for kind in value:
            if not _KIND.fullmatch(kind):
                raise ValidationError(
                    _("“%(kind)s” is no kind: small letters, digits and _, as in run_failed.") % {"kind": kind[:60]}
                )

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether other kinds are chosen."""
        return self.to_python(initial) != self.to_python(data)


def kinds_in(text: str) -> list[str]:
    """Return the kinds that a text names, with spaces or commas between, each once and in their order."""
    return sorted(set(text.replace(",", " ").split()))
