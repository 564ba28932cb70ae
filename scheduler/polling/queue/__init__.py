"""The live order of work in Redis: which card is due when, who has it, what is asked for beside its turn.

    queue = Queue(redis)
    rounds = queue.perform([calls.claim(account, most=50, ...) for account in accounts])   # one round trip
    for claim in rounds[0].claims: ...
    accepted = queue.ask(calls.finish(account, [Finish(claim.card_id, claim.token, due, failures)]))

**Rows decide.** PostgreSQL knows the cards and when they are due; what stands here is their order, and can be rebuilt
from the rows at any time: `begin_rebuild`, `put` all, `complete_rebuild`. A queue that is not complete, because Redis
came back empty or cards are missing in it, gives no claims.

**One account, one hash tag, one clock.** All keys of an account lie in one slot of a cluster, beside those of its
limiter. Instants are the server's, in whole milliseconds; a caller's clock is never compared with them.

**Claims.** A card belongs to whoever has the token of its claim, until the end of the lease. Tokens only grow, over a
flushed Redis as well, for they are no less than its time in microseconds: rows use them as a fence. A claim that nobody
holds any longer is given back by the next round. Each script is atomic, so dispatchers need no lock: the first of them
in a second has the round of an account.

**Requests** stand beside the schedule and change nothing in it. A card has one instant for each type; the earliest
request of a type wins. They wait while the card is claimed, and are given back with a claim that is.
"""

from scheduler.polling.queue import calls
from scheduler.polling.queue.calls import MOST_CARDS, Call
from scheduler.polling.queue.entries import Card, Claim, Counts, Finish, Requested, Round, RoundState, Sight, Traffic
from scheduler.polling.queue.keys import limiter_name
from scheduler.polling.queue.queue import AsyncQueue, Queue

__all__ = [
    "MOST_CARDS",
    "AsyncQueue",
    "Call",
    "Card",
    "Claim",
    "Counts",
    "Finish",
    "Queue",
    "Requested",
    "Round",
    "RoundState",
    "Sight",
    "Traffic",
    "calls",
    "limiter_name",
]
