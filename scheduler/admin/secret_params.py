"""Secrets in parameters: what a job's schema marks as write-only is shown as dots, and dots that come back mean
"as it was"."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from project.kit.secrets import DOTS
from scheduler.jobs.registry import JOBS

# A job that is not registered here may hold secrets that nobody can tell from the rest.
UNKNOWN: dict[str, Any] = {"additionalProperties": {"writeOnly": True}}


def masked(job: str, params: Any) -> Any:
    """Return the parameters with dots for each secret value."""
    schema = _schema(job)
    return _Walk(schema, lambda value, stored: DOTS).through(schema, params, None)


def unmasked(job: str, params: Any, stored: Any) -> Any:
    """Return the parameters with the stored secrets where dots were left standing."""
    schema = _schema(job)
    return _Walk(schema, lambda value, kept: kept if value == DOTS else value).through(schema, params, stored)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through a value along its schema, and replaces what is marked as write-only."""

    root: dict[str, Any]
    replace: Callable[[Any, Any], Any]

    def through(self, schema: dict[str, Any], value: Any, stored: Any) -> Any:
        """Return the value with its secrets replaced; `stored` is what stood in its place before."""
        schema = self._resolved(schema)
        if schema.get("writeOnly") and value is not None:
            return self.replace(value, stored)
        if isinstance(value, dict):
            before = stored if isinstance(stored, dict) else {}
            return {key: self.through(_inside(schema, key), part, before.get(key)) for key, part in value.items()}
        if isinstance(value, list):
            kept_items = stored if isinstance(stored, list) and len(stored) == len(value) else [None] * len(value)
            items = schema.get("items", {})
            return [self.through(items, part, kept) for part, kept in zip(value, kept_items, strict=True)]
        return value

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema behind a reference, or of the choices the one that has something to say."""
        if "$ref" in schema:
            return self._resolved(self.root.get("$defs", {}).get(schema["$ref"].rsplit("/", 1)[-1], {}))
        choices = [self._resolved(choice) for choice in schema.get("anyOf", ())]
        return next((choice for choice in choices if choice.keys() & {"writeOnly", "properties", "items"}), schema)


def _inside(schema: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the schema of a member of an object."""
    others = schema.get("additionalProperties")
    found: dict[str, Any] = schema.get("properties", {}).get(key) or (others if isinstance(others, dict) else {})
    return found


def _schema(job: str) -> dict[str, Any]:
    return JOBS[job].schema() if job in JOBS else UNKNOWN
