"""Celery's way to the broker, discreet where others look: `inspect stats`, and so Flower, shows what a worker's
connection says of itself. Celery takes the password away there, but not out of the addresses of further sentinels.
"""

from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection


class DiscreetConnection(Connection):
    """A connection to the broker that names no other addresses of it."""

    def info(self) -> dict[str, Any]:
        """Return what may be shown of it."""
        return {name: value for name, value in super().info().items() if name != "alternates"}


class DiscreetAMQP(AMQP):  # type: ignore[misc]
    """What Celery makes its connections with."""

    Connection = DiscreetConnection
