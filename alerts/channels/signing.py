"""Signatures, and the times that go into them."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sign(key: bytes, content: bytes) -> str:
    """Return the HMAC-SHA256 of the content in base64."""
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def unix_seconds(at: datetime) -> int:
    """Return the whole seconds since 1970."""
    return (at - EPOCH) // timedelta(seconds=1)


def unix_milliseconds(at: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (at - EPOCH) // timedelta(milliseconds=1)
