"""Texts with places for a card's numbers, such as /cards/{iccid}/usage."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

OF_A_CARD = ("iccid", "iccid19", "msisdn", "imsi")
OF_MANY_CARDS = tuple(f"{name}s" for name in OF_A_CARD)
# The number under which only the carrier knows the card; it has to be looked up.
LOOKED_UP = "carrier_id"
OF_AN_ACCOUNT = ("user", "password", "key")
# The present month of the account's zone, such as 202611.
MONTH = "month"

_PLACE = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
# What stands in the place: a text, or the texts of many cards.
Values = Mapping[str, str | list[str]]


def places_in(template: Any) -> set[str]:
    """Return the names of the places in a text, or in all texts of a JSON value."""
    return {name for text in _texts(template) for name in _PLACE.findall(text)}


def filled(text: str, values: Values, separator: str = ",", encode: Callable[[str], str] = str) -> str:
    """Return the text with the values in their places, each encoded; many are parted by the separator."""
    if "{" not in text:
        return text

    def value_of(place: re.Match[str]) -> str:
        value = values[place[1]]
        return encode(value if isinstance(value, str) else separator.join(value))

    return _PLACE.sub(value_of, text)


def filled_document(template: Any, values: Values, separator: str = ",") -> Any:
    """Return the JSON value with the values in the places of its texts.

    A text that is nothing but the place of many cards becomes the list of their numbers.
    """
    match template:
        case dict():
            return {name: filled_document(part, values, separator) for name, part in template.items()}
        case list():
            return [filled_document(part, values, separator) for part in template]
        case str():
            whole = _PLACE.fullmatch(template)
            return values[whole[1]] if whole else filled(template, values, separator)
    return template


def _texts(template: Any) -> Iterator[str]:
    match template:
        case dict():
            for part in template.values():
                yield from _texts(part)
        case list():
            for part in template:
                yield from _texts(part)
        case str():
            yield template
