"""Any receiver that speaks Standard Webhooks 1.0."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from alerts.channels.answers import judge_status
from alerts.channels.base import Answer, Endpoint, Rates, Refused, Request, Verdict
from alerts.channels.page import LONGEST_KIND, Page, fitted, lay_out
from alerts.channels.posting import JSON_HEADERS, check_url
from alerts.channels.signing import sign, unix_seconds
from alerts.channels.text import json_bytes, one_line, shortened
from alerts.messages import Message

PREFIX = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
# So many labels of such a size leave room for the message, whatever is in them.
MOST_LABELS, LONGEST_LABEL, LONGEST_VALUE = 20, 40, 80


class Generic:
    """Writes for a receiver of Standard Webhooks."""

    name = "generic"
    label = "Standard Webhooks"
    # “Usually smaller than 20kb”
    body_limit = 20_000
    rates: Rates = ()

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_url(endpoint.address)
        for secret in endpoint.secrets:
            _key(secret)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message, signed in its headers with each secret; see `Format.render`."""
        self.check(endpoint)

        def body(page: Page) -> bytes:
            return json_bytes(_event(message, page))

        page = fitted(lay_out(message, endpoint), lambda page: len(body(page)) <= self.body_limit)
        content = body(page)
        signed = signed_headers(message.event_id, content, endpoint.secrets, now=now)
        return Request(endpoint.address, content, {**JSON_HEADERS, **signed})

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer by its status: the receiver knows the second of an id; see `Format.judge`."""
        return judge_status(answer, repeatable=True)


def signed_headers(event_id: str, body: bytes, secrets: Sequence[str], *, now: datetime) -> Mapping[str, str]:
    """Return the headers of the standard; a signature with each secret covers the id, the time of this try and the
    bytes sent. Without a secret there is none.

    Raises:
        Refused: a secret is none of the standard.
        ValueError: the id has a dot, which parts what is signed.
    """
    if "." in event_id:
        raise ValueError("An event's id has no dot: it parts what is signed.")
    timestamp = str(unix_seconds(now))
    headers = {"webhook-id": event_id, "webhook-timestamp": timestamp}
    if not secrets:
        return headers
    signed = b".".join([event_id.encode(), timestamp.encode(), body])
    return {**headers, "webhook-signature": " ".join(f"v1,{sign(_key(secret), signed)}" for secret in secrets)}


def _key(secret: str) -> bytes:
    """Return the key that the secret holds.

    Raises:
        Refused: it holds none, or one of the wrong length.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise Refused(
            _("A secret must be %(prefix)s and base64 behind it, as Standard Webhooks asks.") % {"prefix": PREFIX},
            "secrets",
        ) from None
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise Refused(
            _("A secret must hold %(shortest_key)s to %(longest_key)s random bytes; this one holds %(count)s.")
            % {"shortest_key": SHORTEST_KEY, "longest_key": LONGEST_KEY, "count": len(key)},
            "secrets",
        )
    return key


def _event(message: Message, page: Page) -> Mapping[str, Any]:
    return {
        "type": f"alert.{message.telling}",
        "timestamp": message.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": {
            "id": message.event_id,
            "summary": page.head,
            "telling": str(message.telling),
            "kind": shortened(one_line(message.kind), LONGEST_KIND),
            "severity": str(message.severity),
            "title": page.title,
            "text": "\n".join(line.text for line in page.lines if not line.label),
            "facts": [{"label": line.label, "value": line.text} for line in page.lines if line.label],
            "left_out": page.left_out,
            "url": page.url,
            "labels": _labels(message.labels),
        },
    }


def _labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    pairs = sorted(labels.items())[:MOST_LABELS]
    return {shortened(one_line(key), LONGEST_LABEL): shortened(one_line(value), LONGEST_VALUE) for key, value in pairs}
