"""What a job of others returned, as the run's result."""

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

LONGEST = 64 * 1024


def as_result(value: Any) -> Any:
    """Return the value if PostgreSQL can keep it as JSON, and else the beginning of how Python shows it."""
    try:
        text = json.dumps(value, cls=DjangoJSONEncoder, allow_nan=False, ensure_ascii=False)
        text.encode()  # fails for half a surrogate pair
    except (TypeError, ValueError, RecursionError):
        return _shown(value)
    return value if len(text) <= LONGEST and "\\u0000" not in text else _shown(value)


def _shown(value: Any) -> str:
    text = repr(value).replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
