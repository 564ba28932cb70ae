"""Calls of an address that is secret."""

from typing import Any

from project.kit.outbound import Posted, post
from tests.kit.outbound.receivers import Receiver

SECRET = "/path-with-token?key=s3cret"
PATIENT = 30.0
BODY = '{"text": "告警 🚨"}'.encode()


def call(host: str, *, allowed: bool = True, body: bytes = BODY, seconds: float = PATIENT, **headers: str) -> Posted:
    return post(
        f"http://{host}{SECRET}", body, headers, timeout_seconds=seconds, allowed_hosts=[host] if allowed else []
    )


def call_receiver(running: Receiver, **arguments: Any) -> Posted:
    return call(f"127.0.0.1:{running.port}", **arguments)
