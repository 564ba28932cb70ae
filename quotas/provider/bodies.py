"""What the body of a refusal says, where the headers say nothing of when to come back."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jmespath

from quotas.provider.headers import read_headers
from quotas.provider.observation import Doubts, Observation
from quotas.provider.reading import Reader
from quotas.provider.values import as_text

MOST_BYTES = 64 * 1024
# Telegram, Discord, and whoever answers like them; Google
RETRY_AFTER = jmespath.compile(
    "[parameters.retry_after, retry_after, error.retry_after, error.details[].retryDelay | [0]]"
)
# OpenRouter repeats its headers in the body only.
HEADERS = jmespath.compile("error.metadata.headers")


def with_body(observation: Observation, body: bytes) -> Observation:
    """Return the observation of a refusal with what its body says of when to come back, if the headers did not."""
    if not observation.limited or observation.retry_at or observation.resets_at:
        return observation
    content = _content(body)
    return _with_headers(_with_retry(observation, content), content)


def _content(body: bytes) -> Any:
    try:
        return json.loads(body) if len(body) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None  # a refusal in prose


def _with_retry(observation: Observation, content: Any) -> Observation:
    doubts = Doubts()
    reader = Reader(observation.received_at, doubts)
    retries = [reader.instant("retry_after", text) for text in _retries(content)]
    retry_at = max(filter(None, retries), default=None)
    return replace(observation, retry_at=retry_at, doubts=observation.doubts + doubts.sentences)


def _retries(content: Any) -> Iterator[str]:
    for value in RETRY_AFTER.search(content) or []:
        text = as_text(value)
        if text is not None:
            yield text


def _with_headers(observation: Observation, content: Any) -> Observation:
    headers = HEADERS.search(content)
    if not isinstance(headers, dict):
        return observation
    texts = {str(name): text for name, value in headers.items() if (text := as_text(value)) is not None}
    found = read_headers(texts, status=observation.status, received_at=observation.received_at)
    return replace(
        observation,
        limit=observation.limit if observation.limit is not None else found.limit,
        remaining=observation.remaining if observation.remaining is not None else found.remaining,
        resets_at=found.resets_at,
        retry_at=observation.retry_at or found.retry_at,
        doubts=observation.doubts + found.doubts,
    )
