"""A module of jobs, as TIDELINE_JOBS names them, in whose processes nobody waits long for a receiver that hangs, or for
the channel of a sender that was killed.
"""

from datetime import timedelta

from alerts import delivering, failing, sending
from tests.faults.quickness import LEASE_SECONDS, TIMEOUT_SECONDS

sending.TIMEOUT_SECONDS = TIMEOUT_SECONDS
delivering.SENDER_LEASE = timedelta(seconds=LEASE_SECONDS)
delivering.RETRY_DELAYS = (timedelta(seconds=1),) * 20
failing.PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0, 0, 1, 1, 5))
