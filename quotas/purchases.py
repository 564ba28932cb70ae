"""What a ledger entry says about its origin."""

import secrets
import time
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from quotas.refusals import BadKey

# Lazy, because a charge is quick and the words are for whoever is refused.
AN_IDEMPOTENCY_KEY = gettext_lazy("An idempotency key")
NAME_OF_AN_OWNER = gettext_lazy("The name of an owner")
LONGEST_KEY = 250
LONGEST_OWNER = 200
# Keys of our own begin with it, so that nobody else's can be the same.
OURS = "tideline:"


@dataclass(frozen=True, slots=True)
class Purchase:
    """Who spends or gives, under which idempotency key and why.

    Attributes:
        key: the idempotency key.
        owner: for whom, as a text key.
        attempt: the number of the owner's execution.
        actor: the person, where it was one.
        refund_on_failure: see charging.refund_unused.
    """

    key: str
    owner: str = ""
    attempt: int | None = None
    actor: str = ""
    reason: str = ""
    refund_on_failure: bool = False


def purchase(key: str | None, **said: Any) -> Purchase:
    """Return the purchase; without a key under one of its own, which nobody repeats.

    Raises:
        BadKey: the key or the owner is empty, too long, or not to be kept.
    """
    if key is None:
        key = _key_of_our_own()
    elif key.startswith(OURS):
        raise BadKey(
            _("Keys that begin with “%(ours)s” are given out here; take another one than “%(key)s”.")
            % {"ours": OURS, "key": key}
        )
    _check_text(AN_IDEMPOTENCY_KEY, key, 1, LONGEST_KEY)
    _check_text(NAME_OF_AN_OWNER, said.get("owner", ""), 0, LONGEST_OWNER)
    return Purchase(key, **said)


def settlement_key(reservation_id: int) -> str:
    """Return the key of the charge by which a reservation is settled: one each, whoever settles it how often."""
    return f"{OURS}reservation:{reservation_id}"


def _key_of_our_own() -> str:
    """Return a key that nobody else has. They grow with time, so that the index over them grows at its end."""
    return f"{OURS}{time.time_ns():016x}{secrets.token_hex(8)}"


def _check_text(what: Promise, text: str, shortest: int, longest: int) -> None:
    if not shortest <= len(text) <= longest or "\0" in text:
        raise BadKey(
            _("%(what)s has %(shortest)s to %(longest)s characters and no NUL among them, not %(text)s.")
            % {"what": what, "shortest": shortest, "longest": longest, "text": repr(text[:60])}
        )
