"""What an object takes, from its JSON schema, as tables beside a form: its own members, then those of its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel

from scheduler.admin.job_schemas import Parameter, parameters


@dataclass(frozen=True, slots=True)
class Sheet:
    """An object, or a part of one that members refer to by its title."""

    title: str
    description: str
    members: Sequence[Parameter]


def sheets(title: str, model: type[BaseModel]) -> list[Sheet]:
    """Return the sheet of an object, and those of all parts in it."""
    schema = model.model_json_schema()
    parts = schema.get("$defs", {})
    named = {name: {"type": name} if "properties" in part else part for name, part in parts.items()}
    return list(_sheets(title, schema, parts, named))


def _sheets(title: str, schema: dict[str, Any], parts: dict[str, Any], named: dict[str, Any]) -> Iterator[Sheet]:
    for name, part in ((title, schema), *parts.items()):
        if members := list(parameters({**part, "$defs": named})):
            description = part.get("description", "")
            yield Sheet(name, description and _(description), members)
