"""What an HTTP answer means by itself, and what formats share in reading one.

By Standard Webhooks 1.0 only 2xx is success, and everything else a failure to be repeated with the same `webhook-id`,
by which the receiver knows what it has already. Here a failure is told apart further, since a person is told at most
once:

- RETRY where the message was not taken: 408, 421, 425, 429, and 502, 503, 504, which a gateway or a busy server says.
- PERMANENT where another try meets the same refusal: 3xx (redirects are not followed), 410 and the other 4xx, 501, 505.
- 500 and the rest of 5xx come from a program that had the whole message and broke down over it. A receiver of Standard
  Webhooks drops the second of the same id, so there it is RETRY. A chat group has no such id, and a second try might
  be a second message: there it is AMBIGUOUS.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from alerts.channels.base import Answer, Verdict
from alerts.states import DeliveryOutcome
from project.kit import outbound

LONGEST_WAIT = timedelta(days=1).total_seconds()
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,12}")
# In whichever words a platform says that it is asked too often.
TOO_OFTEN = re.compile(r"too many|too fast|rate ?limit|frequen|freq out|throttl|限流|频率|太快", re.IGNORECASE)

NOT_TAKEN = {
    408: "The receiver did not get the whole message in time.",
    421: "The receiver was reached over a connection that was not meant for it.",
    425: "The receiver did not want the message so early in the connection.",
    429: "The receiver is asked too often.",
    502: "A gateway in front of the receiver got no good answer from it.",
    503: "The receiver is busy or under maintenance.",
    504: "A gateway in front of the receiver waited in vain for its answer.",
    507: "The receiver has no room left.",
    521: "The receiver's own server is down.",
    522: "The receiver's own server did not accept the connection.",
    523: "The receiver's own server cannot be reached.",
}
REFUSED = {
    400: "The receiver does not understand the message. Check that the format is the one it expects.",
    401: "The receiver wants a proof of identity. Check the secret and the address.",
    403: "The receiver forbids it. Check the secret, the address and whether this machine is on its allow-list.",
    404: "There is nothing at this address. Check it, or make a new one.",
    405: "The address takes no POST. Check it.",
    407: "A proxy wants a proof of identity. Check the proxy's settings.",
    410: "The receiver is gone and wants no more messages. Disable the channel, or put in the new address.",
    413: "The message is too long for the receiver.",
    415: "The receiver does not take JSON. Check that the format is the one it expects.",
    422: "The receiver does not accept the message. Check that the format is the one it expects.",
    501: "The receiver does not do this. Check the address.",
    505: "The receiver does not speak this version of HTTP.",
    511: "The network in front of the receiver wants a login.",
}
REDIRECTED = "The address leads on to another one, which is not followed. Put in the address to which it leads."


def judge_status(answer: Answer, *, repeatable: bool = False) -> Verdict:
    """Judge the answer by its status alone; see the module's text for the rules.

    Args:
        repeatable: whether the receiver knows the second of the same message and drops it.
    """
    status, code = answer.status, str(answer.status)
    if 200 <= status < 300:
        return Verdict(DeliveryOutcome.SENT, code, "The receiver took it.")
    if status in NOT_TAKEN:
        return Verdict(DeliveryOutcome.RETRY, code, f"{NOT_TAKEN[status]} It is tried again.", retry_after(answer))
    if 300 <= status < 400:
        return Verdict(DeliveryOutcome.PERMANENT, code, REDIRECTED)
    if status in REFUSED or 400 <= status < 500:
        return Verdict(
            DeliveryOutcome.PERMANENT, code, REFUSED.get(status, "The receiver refuses it. Check both ends.")
        )
    return _broken_down(answer, repeatable)


def _broken_down(answer: Answer, repeatable: bool) -> Verdict:
    meaning = "The receiver broke down over the message."
    if repeatable and answer.status >= 500:
        return Verdict(DeliveryOutcome.RETRY, str(answer.status), f"{meaning} It is tried again.", retry_after(answer))
    return ambiguous(answer, f"{meaning} Whether it was shown is not known: look there.")


def with_pause(verdict: Verdict, pause: float) -> Verdict:
    """Return the verdict with the seconds to wait, if it is to be tried again and the answer did not say when."""
    if verdict.outcome is not DeliveryOutcome.RETRY or verdict.retry_after is not None:
        return verdict
    return replace(verdict, retry_after=pause)


def ambiguous(answer: Answer, meaning: str) -> Verdict:
    """Return that nobody knows whether the message was taken."""
    return Verdict(DeliveryOutcome.AMBIGUOUS, str(answer.status), meaning)


def retry_after(answer: Answer) -> float | None:
    """Return the seconds that the answer asks to wait, at most a day; None where it does not say that."""
    seconds = outbound.retry_after(answer.headers)
    return None if seconds is None else min(seconds, LONGEST_WAIT)


def json_object(answer: Answer) -> Mapping[str, Any] | None:
    """Return the object that the body holds, or None: it is no JSON, or no object."""
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def whole_number(value: object) -> int | None:
    """Return the code that the value is, as a number or as text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    return int(text) if WHOLE_NUMBER.fullmatch(text) else None


def says_too_often(*texts: object) -> bool:
    """Return whether one of the texts says that too many messages came."""
    return any(isinstance(text, str) and TOO_OFTEN.search(text) for text in texts)
