"""How many calls go out to each account, and how long they wait for that: counted in each poller, which tells it to
Redis again and again. A count is no book: what cannot be told is forgotten.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from scheduler.polling.queue import calls
from scheduler.polling.queue.queue import AsyncQueue


@dataclass(slots=True)
class Meter:
    """What went through the gate of an account since it was read last.

    Attributes:
        calls: that were let through.
        waits: those of them that had to wait for their slot, `waited` seconds together.
        timeouts: calls that were not let through, as they would have had to wait too long.
    """

    calls: int = 0
    waits: int = 0
    waited: float = 0.0
    timeouts: int = 0

    def read(self) -> "Meter":
        """Return what was counted, and begin anew."""
        counted = replace(self)
        self.calls = self.waits = self.timeouts = 0
        self.waited = 0.0
        return counted

    @property
    def has_counted(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.calls or self.timeouts)


class Meters:
    """The meters of one poller, by account."""

    def __init__(self) -> None:
        self._meters: dict[int, Meter] = {}

    def of(self, account_id: int) -> Meter:
        """Return the meter of an account."""
        return self._meters.setdefault(account_id, Meter())

    async def tell(self, queue: AsyncQueue) -> None:
        """Tell what was counted since the last time, in one round trip.

        Raises:
            RedisError: Redis is away; this part is lost.
        """
        counted = {account_id: meter.read() for account_id, meter in self._meters.items() if meter.has_counted}
        if counted:
            await queue.perform([_told(account_id, meter) for account_id, meter in counted.items()])


def _told(account_id: int, meter: Meter) -> calls.Call[None]:
    return calls.note_traffic(
        account_id,
        made=meter.calls,
        waits=meter.waits,
        waited=timedelta(seconds=meter.waited),
        timeouts=meter.timeouts,
    )
