"""Values of a JSON document as the text that the readers of headers understand."""

import math
from decimal import Decimal


def as_text(value: object) -> str | None:
    """Return a number or a text as text, without an exponent; None for everything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return format(Decimal(repr(value)), "f") if math.isfinite(value) else str(value)
