"""A limiter in Redis: each call books the next slot and is told how long to sleep.

    limiter = Limiter(redis, "carrier-account:12", [Window(5, 1), Window(2000, 300)])
    limiter.wait()      # sleeps until it is this call's turn
    limiter.left()      # how many calls could still be made within a second

**Book and sleep.** Who asks again and again loses what lies between two questions, and keeps Redis busy. So one script
books a slot for each call, on Redis's clock, and the caller sleeps once. A wait that is too long is refused and
changes nothing. Slots are given in the order of asking: a call that counts for many is not overtaken.

**Two kinds of windows, both exact.** No span of a window's length holds more slots than its limit, whatever single
calls count for: each window remembers its last `limit` slots, and a new one comes no earlier than one length after
the one that is `limit` calls back. Beyond that, short windows (up to 5 s, or `even=True`) space their slots evenly:
a provider sees no bursts, and of waiters who wake some milliseconds late never more than a few meet. Spacing a budget
of minutes in the same way would hold up the first call of a quiet hour for nothing, so long windows may be used up at
once, at the pace of the short window beside them; that is why a limiter takes several.

**Late callers.** A call may come late by 2 % of a short window or by one step of its pace: then at most
limit + 2 % + 1 calls meet in any such window. Three quarters of that are allowed when booking (the beat is kept, else
each delay would lower the rate), the rest when waking up. Who wakes later than this has lost the slot and books once
more. Only once: where each wake-up is late, all are late alike, which does no harm, and another would not help.

**Interrupted callers.** A sleep that is interrupted (a cancelled task, a timeout, Ctrl-C) gives its slot back if it
is the last one; a slot in the middle of the queue stays, for others already sleep for those behind it.

**Clocks.** Only the server's counts. One that is set back is carried on where it was: nobody gets extra calls, and
nobody waits until the old time is reached again. One that jumps ahead lets keys end too early: up to one window more.

**Within another script.** A script that has to know what is left, and books nothing, puts the Lua of `calls_left()`
before itself and is called with the keys and arguments of `Calls`, too.

**Redis away.** The error goes to the caller; nothing passes. A booking whose answer was lost is a lost slot.
"""

from quotas.ratelimit.calls import Booking, Calls, Refused, calls_left
from quotas.ratelimit.limiter import AsyncLimiter, Limiter
from quotas.ratelimit.windows import LimiterError, NeverPossible, Window

__all__ = [
    "AsyncLimiter",
    "Booking",
    "Calls",
    "Limiter",
    "LimiterError",
    "NeverPossible",
    "Refused",
    "Window",
    "calls_left",
]
