"""Alerts, and where they were told."""

from collections.abc import Iterator
from datetime import datetime

from tests.benchmarks.panel.history.size import Size, spread
from tests.benchmarks.panel.inserting import insert, one_of


def lay_down_alerts(size: Size, now: datetime) -> None:
    """Insert channels, alerts and their deliveries."""
    from alerts.models import Alert, Channel, Delivery, Silence
    from alerts.models.deliveries import DeliveryTry, Event

    ended = f"n <= {size.alerts * 998 // 1000}"
    words = {"kind": one_of(*_kinds()), "severity": one_of("warning", "critical"), "title": "'alert ' || n"}
    written = {"created_at": "now", "updated_at": "now"}
    insert(Channel, size.channels, now=now, name="'channel ' || n", address_shown="'example.com'", **written)
    insert(
        Alert,
        size.alerts,
        now=now,
        fingerprint="'alert:' || n",
        subject="'run:' || n",
        sentence="'The other side said no.'",
        labels="jsonb_build_object('name', 'schedule ' || n)",
        state=f"CASE WHEN {ended} THEN 'resolved' WHEN mod(n, 5) = 0 THEN 'acknowledged' ELSE 'open' END",
        first_at=spread(size.alerts),
        last_at=spread(size.alerts),
        resolved_at=f"CASE WHEN {ended} THEN {spread(size.alerts)} END",
        **words,
    )
    insert(
        Event, size.alerts, now=now, id="md5(n::text)::uuid", alert_id="n", telling="'opened'",
        at=spread(size.alerts), **words,
    )  # fmt: skip
    of_channel = {"channel_id": f"1 + mod(n, {size.channels})"}
    insert(
        Delivery,
        size.alerts,
        now=now,
        event_id="md5(n::text)::uuid",
        state=one_of(*["sent"] * 49, "failed"),
        due_at=spread(size.alerts),
        tries="1",
        outcome=one_of(*["sent"] * 49, "permanent"),
        ended_at=spread(size.alerts),
        **of_channel,
    )
    insert(DeliveryTry, size.alerts, now=now, delivery_id="n", at=spread(size.alerts), outcome="'sent'", **of_channel)
    insert(
        Silence, size.people, now=now, kind=one_of(*_kinds()), starts_at="now",
        ends_at="now + interval '1 hour'", reason="'Planned work.'",
    )  # fmt: skip


def _kinds() -> Iterator[str]:
    from alerts.kinds import KINDS

    yield from sorted(KINDS)
