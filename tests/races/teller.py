"""A process that sends what waits for a channel, and hangs amid the message of a number, to be killed by a test:
`python -m tests.races.teller CHANNEL HANGS_AT`.
"""

import sys
import threading
from typing import Any

import django


class HangingSender:
    """Says what it sends, and comes to no end with one of the messages."""

    def __init__(self, hangs_at: int) -> None:
        self._left = hangs_at

    def __call__(self, channel: Any, message: Any) -> Any:
        from tests.alerts.factories import SENT

        sys.stdout.write(f"told {message.title}\n")
        sys.stdout.flush()
        self._left -= 1
        if not self._left:
            threading.Event().wait()
        return SENT, 200


def main(channel_id: int, hangs_at: int) -> None:
    """Serve the channel, each event in a message of its own."""
    from alerts import delivering, digesting
    from project.kit.clock import database_now

    digesting.BURST = sys.maxsize
    delivering.serve(channel_id, send=HangingSender(hangs_at), clock=database_now)


if __name__ == "__main__":
    django.setup()
    main(*map(int, sys.argv[1:]))
