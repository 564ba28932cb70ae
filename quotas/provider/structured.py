"""The header fields of the IETF draft, RateLimit and RateLimit-Policy: lists of named items with parameters."""

from collections.abc import Iterator, Mapping
from typing import cast

from http_sf import StructuredFieldError, parse

from quotas.provider.reading import Reader
from quotas.provider.windows import Window

LONGEST_TEXT = 4000
Parameters = Mapping[str, object]


def structured_windows(fields: Mapping[str, str], reader: Reader) -> Iterator[Window]:
    """Yield the windows of `RateLimit: "default";r=50;t=30` with `RateLimit-Policy: "default";q=100;w=60`.

    A policy is the limit of the window of its name; a window without a policy has no known limit. Where nothing is
    said of what is left, each policy is a window.

    Args:
        fields: by their names in lower case.
    """
    policies = _items("ratelimit-policy", fields, reader)
    windows = _items("ratelimit", fields, reader)
    limits = dict(policies)
    for name, parameters in windows:
        yield Window(
            name.lower(),
            limit=_amount("ratelimit-policy", limits.get(name, {}), "q", reader),
            remaining=_amount("ratelimit", parameters, "r", reader),
            resets_at=reader.instant("ratelimit", str(parameters["t"])) if "t" in parameters else None,
        )
    if not windows:
        for name, parameters in policies:
            yield Window(name.lower(), limit=_amount("ratelimit-policy", parameters, "q", reader))


def _items(field: str, fields: Mapping[str, str], reader: Reader) -> list[tuple[str, Parameters]]:
    """Return the name of each item's window, and its parameters."""
    text = fields.get(field, "")
    try:
        listed = parse(text.encode("ascii")[:LONGEST_TEXT], tltype="list")
    except (StructuredFieldError, UnicodeEncodeError):
        reader.doubts.note(field, text, "is no list of structured items")
        return []
    return [_named(bare, parameters) for bare, parameters in cast(list[tuple[object, Parameters]], listed)]


def _named(bare: object, parameters: Parameters) -> tuple[str, Parameters]:
    """Return the item as name and parameters; in draft 7 a policy has no name, only its limit."""
    if isinstance(bare, int):
        return "ratelimit", {"q": bare, **parameters}
    return f"ratelimit {bare}", parameters


def _amount(field: str, parameters: Parameters, name: str, reader: Reader) -> int | None:
    return reader.amount(field, str(parameters[name])) if name in parameters else None
