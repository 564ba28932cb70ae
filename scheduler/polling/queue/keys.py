"""The keys of an account in Redis: pure."""

PREFIX = "tideline:polling"

# In the order in which the scripts know them.
#   ready      string: exists when all cards are there; holds the epoch in which they were put
#   queue      sorted set, card -> when it is due; while it is claimed: the end of its lease. Every pollable card
#   cards      hash, card -> of each type when it is due and how often it failed
#   asked      hash, card -> of each type from when it is asked for
#   priority   sorted set, card -> since when it is asked for
#   running    sorted set, card -> the end of its lease
#   claims     hash, card -> token, types, requests taken along, executor
#   state      hash: last token, last second, credit of priority, counters
#   cooldowns  sorted set, "card:scene" -> until when that scene may not ask for that card
NAMES = ("ready", "queue", "cards", "asked", "priority", "running", "claims", "state", "cooldowns")
# Beside them, for the scripts that count calls: a hash, sums, and the calls of each of the last seconds.
TRAFFIC = "traffic"


def limiter_name(account_id: int) -> str:
    """Return the name of an account's limiter, which is also the hash tag of all its keys."""
    return f"carrier-account:{account_id}"


def keys_of(account_id: int) -> tuple[bytes, ...]:
    """Return the keys of an account."""
    return tuple(key_of(account_id, name).encode() for name in NAMES)


def key_of(account_id: int, name: str) -> str:
    """Return one key of an account."""
    return f"{PREFIX}:{{{limiter_name(account_id)}}}:{name}"
