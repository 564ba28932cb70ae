"""What each job takes, from its JSON schema, as lines of a table beside the form."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from project.kit.admin import pretty_json
from scheduler.jobs.registry import JOBS, Job


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a job, or a member of another object with a JSON schema."""

    name: str
    kind: str
    required: bool
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class JobSheet:
    """A job and what it takes. `open` means that it takes whatever it is given."""

    key: str
    title: str
    parameters: list[Parameter]
    open: bool
    resumable: bool


def job_sheets(keys: Iterable[str]) -> list[JobSheet]:
    """Return the sheets of those jobs that are registered."""
    return [_sheet(JOBS[key]) for key in keys if key in JOBS]


def _sheet(job: Job) -> JobSheet:
    return JobSheet(job.key, job.label, list(parameters(job.schema())), job.params is None, job.resumable)


def parameters(schema: dict[str, Any]) -> Iterator[Parameter]:
    """Yield the members of an object by its JSON schema."""
    required = schema.get("required", ())
    for name, described in schema.get("properties", {}).items():
        default = pretty_json(described["default"]) if described.get("default") not in (None, "", [], {}) else ""
        kind = _kind(described, schema.get("$defs", {}))
        description = described.get("description", "")
        yield Parameter(name, kind, name in required, default, description and _(description))


def _kind(described: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the type in a few words: `integer`, `list of string`, `"GET" | "POST"`."""
    match described:
        case {"$ref": reference}:
            kind = _kind(definitions.get(reference.rsplit("/", 1)[-1], {}), definitions)
        case {"anyOf": choices} | {"oneOf": choices}:
            kind = " | ".join(_kind(choice, definitions) for choice in choices if choice.get("type") != "null")
        case {"enum": values}:
            kind = " | ".join(pretty_json(value) for value in values)
        case {"const": value}:
            kind = pretty_json(value)
        case {"writeOnly": True}:
            kind = _("secret")
        case {"type": "array", "items": dict(items)}:
            kind = _("list of %(kind)s") % {"kind": _kind(items, definitions)}
        case {"additionalProperties": dict(values)}:
            kind = _("object of %(kind)s") % {"kind": _kind(values, definitions)}
        case _:
            kind = str(described.get("format") or described.get("type") or _("any"))
    return kind
