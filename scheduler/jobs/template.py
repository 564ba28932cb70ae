"""Placeholders in parameters: `{{ stat_date }}`, `{{ planned_at }}` and `{{ run_id }}`. All else stays as it is, so
that JSON, and templates of others, need no escaping.
"""

import re
from collections.abc import Callable
from datetime import UTC

from scheduler.jobs.context import RunContext

PLACEHOLDER = re.compile(r"\{\{\s*(stat_date|planned_at|run_id)\s*\}\}")


def fill(text: str, context: RunContext, quote: Callable[[str], str] = str) -> str:
    """Return the text with the run's values in the placeholders' places.

    Args:
        quote: what a value needs to stand there, for example URL quoting.
    """
    values = {
        "stat_date": context.stat_date.isoformat(),
        "planned_at": context.planned_at.astimezone(UTC).isoformat(),
        "run_id": str(context.run_id),
    }
    return PLACEHOLDER.sub(lambda found: quote(values[found[1]]), text)


def without_placeholders(text: str) -> str:
    """Return the text with a letter in each placeholder's place, for checks of its form."""
    return PLACEHOLDER.sub("x", text)
