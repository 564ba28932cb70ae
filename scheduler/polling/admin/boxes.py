"""Some of a few words, chosen by ticking boxes."""

from typing import Any

from django import forms

from project.kit.admin import VersionLockedForm


class ChoicesField(forms.MultipleChoiceField):
    """Some of a few words, as boxes; none need be chosen unless it is said."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"required": False, "widget": forms.CheckboxSelectMultiple, **kwargs})


class BoxesForm(VersionLockedForm):
    """A version-locked form some of whose fields are a ChoicesField."""

    def _typed(self, name: str) -> str:
        """Return what was typed; of boxes those that were ticked."""
        if isinstance(self.fields[name], ChoicesField):
            return _ticked(self.data.getlist(self.add_prefix(name)))  # type: ignore[attr-defined]
        return super()._typed(name)

    def _texts(self, instance: Any) -> dict[str, str]:
        """Return what the form shows of a row; boxes as `_typed` returns them."""
        boxes = [name for name, field in self.fields.items() if isinstance(field, ChoicesField)]
        return super()._texts(instance) | {name: _ticked(getattr(instance, name)) for name in boxes}


def _ticked(words: Any) -> str:
    return ", ".join(sorted(words))
