"""Whether the parts that the work rests on are alive, on the home page: as the rows say, and Redis when it is asked."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from redis import RedisError

from alerts.models import Alert
from project import watching
from project.health import ScanState
from project.kit.admin import badge, when
from scheduler.polling import connecting

logger = logging.getLogger(__name__)


def lines(scans: Sequence[ScanState], now: datetime) -> list[dict[str, Any]]:
    """Return of each part whether it is alive, since when it is not, and how that is known.

    It asks one query, and Redis once and briefly.

    Args:
        scans: how all scans stand.
    """
    troubles = _open_troubles()
    seen = {state.name: state.mark.last_at for state in scans if state.mark}
    works = any(state.recent and state.mark for state in scans)
    proof = seen.get(watching.PROOF)
    beat_lives = any(state.recent and state.mark for state in scans if state.name == watching.PROOF)
    return [
        _line(_("Database"), True, now, now, _("it has answered this page")),
        _line(_("Broker"), _redis_answers(), troubles.get(watching.BROKER_DOWN), now, _("Redis, asked just now")),
        _line(
            _("Beat"),
            beat_lives and watching.BEAT_SILENT not in troubles,
            proof if beat_lives else troubles.get(watching.BEAT_SILENT, proof),
            now,
            _("its message has reached a worker; while it is silent the workers scan in its place"),
        ),
        _line(_("Workers"), works, max(seen.values(), default=None), now, _("one of them has scanned")),
    ]


def _line(name: str, alive: bool, at: datetime | None, now: datetime, how: str | Promise) -> dict[str, Any]:
    return {
        "name": name,
        "badge": badge(_("alive"), "green") if alive else badge(_("away"), "red"),
        "at": when(at, now) if at else "",
        "how": how,
    }


def _open_troubles() -> Mapping[str, datetime]:
    """Return since when the workers have known of a silent beat or of a broker that is away."""
    kinds = (watching.BEAT_SILENT, watching.BROKER_DOWN)
    rows = Alert.objects.filter(fingerprint__in=kinds, resolved_at__isnull=True)
    return dict(rows.values_list("fingerprint", "first_at"))


def _redis_answers() -> bool:
    try:
        connecting.hasty_client().ping()
    except RedisError as error:
        logger.warning("the home page cannot reach Redis: %s", type(error).__name__)
        return False
    return True
