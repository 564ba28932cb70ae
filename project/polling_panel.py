"""How the polling goes, on the home page: a line an account, the worst first."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from redis import RedisError

from project.kit.admin import DASH, row_link, when
from scheduler.polling import accounts, connecting, policy, stats
from scheduler.polling.admin import cells
from scheduler.polling.admin.cutovers import phase_badge
from scheduler.polling.admin.live import UNKNOWN
from scheduler.polling.admin.live import Live as Seen
from scheduler.polling.models import CarrierAccount, Cutover
from scheduler.polling.stats import Live, Standing

logger = logging.getLogger(__name__)

LINES = 8
WORST_FIRST = (Standing.ORDER_LOST, Standing.HELD, Standing.POLLED)
SECOND = timedelta(seconds=1)


def lines(now: datetime) -> list[dict[str, Any]]:
    """Return the worst of the active accounts; none where there is no account.

    It asks two queries, and Redis once and briefly: where that is away, the rows alone speak.
    """
    rows = list(CarrierAccount.objects.filter(active=True).select_related("params").defer("settings", "credentials"))
    if not rows:
        return []
    known, alerts = _known(rows), stats.open_alerts(rows)

    def badness(row: CarrierAccount) -> tuple[int, int, int, str]:
        live = known.get(row.pk)
        rank = WORST_FIRST.index(stats.standing(row, live, now)) if live else 0
        return rank, -alerts[row.pk], -live.counts.due if live else 0, row.name

    return [_line(row, known.get(row.pk), alerts[row.pk], now) for row in sorted(rows, key=badness)[:LINES]]


def cutover(now: datetime) -> dict[str, Any] | None:
    """Return the change of how polling decides that is under way; None: none is."""
    row = Cutover.objects.filter(ended_at__isnull=True).first()
    if row is None:
        return None
    text = _("Cut-over to %(mode)s") % {"mode": row.wanted}
    return {
        "link": row_link(row, text),
        "phase": phase_badge(row),
        "since": when(row.phase_since, now),
        "note": row.note,
    }


def _known(rows: Sequence[CarrierAccount]) -> Mapping[int, Live]:
    try:
        return stats.live(connecting.hasty_client(), rows)
    except RedisError as error:
        logger.warning("the home page knows nothing of the live orders: %s", type(error).__name__)
        return {}


def _line(row: CarrierAccount, live: Live | None, alerts: int, now: datetime) -> dict[str, Any]:
    return {
        "account": row_link(row),
        "standing": cells.account_badge(row, Seen(live.counts) if live else UNKNOWN, now),
        "calls": _calls(row, live) if live else DASH,
        "due": cells.number(live.counts.due if live else None),
        "in_work": cells.number(live.counts.running if live else None),
        "alerts": cells.number(alerts),
    }


def _calls(row: CarrierAccount, live: Live) -> SafeString:
    """Return how many calls a second were made of late, beside what the account's limit allows, as a bar."""
    rate = live.traffic.rate
    each = policy.full_cycle(1, accounts.params_of(row).rate_windows)
    if each is None:
        return format_html('<span class="figures">{}</span>', _("%(rate)s/s") % {"rate": f"{rate:,.1f}"})
    most = SECOND / each
    return format_html(
        '<span class="progress"><progress max="100" value="{}">{} %</progress><span class="figures">{}</span></span>',
        *[min(round(rate * 100 / most), 100)] * 2,
        _("%(rate)s of %(most)s/s") % {"rate": f"{rate:,.1f}", "most": f"{most:,.4g}"},
    )
