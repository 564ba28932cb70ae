"""All kinds of history in the order in which they go, and for how long each is kept."""

from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings

import alerts.pruning
import project.kit.api.pruning
import quotas.pruning
import scheduler.polling.pruning
import scheduler.pruning
from project.kit import pruning
from project.kit.pruning import Kind

KINDS = (
    *scheduler.pruning.KINDS,
    *quotas.pruning.KINDS,
    *alerts.pruning.KINDS,
    *scheduler.polling.pruning.KINDS,
    *project.kit.api.pruning.KINDS,
)

# Of each kind in one scan, so that the others are not kept waiting: 1.4 million rows a day.
BATCHES_A_SCAN = 20


def kept_days(kind: Kind) -> int:
    """Return for how many days history of the kind is kept; 0: for ever."""
    days: int = settings.TIDELINE_KEEP_DAYS[kind.kept_as or kind.name]
    return days


def kept_since(kind: Kind, now: datetime) -> datetime | None:
    """Return the instant before which history of the kind goes; None: it is kept for ever."""
    days = kept_days(kind)
    return now - timedelta(days=days) if days else None


def prune_some(*, now: datetime) -> int:
    """Delete a bounded part of the history that is older than it is kept; return how many rows."""
    return sum(_prune_some_of(kind, now) for kind in KINDS)


def _prune_some_of(kind: Kind, now: datetime) -> int:
    before = kept_since(kind, now)
    return sum(islice(pruning.prune(kind, before=before), BATCHES_A_SCAN)) if before else 0
