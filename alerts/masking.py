"""What may be a secret in a text is masked before the text is stored."""

import re

DOTS = "••••••"

# Of an address the host is kept: paths and queries of webhooks hold their tokens.
_ADDRESS = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?:[^\s/@]*@)?(?P<host>[^\s/?#\"'<>)]+)[^\s\"'<>)]*", re.IGNORECASE
)
_NAMES = "pass(?:word|wd)?|secret|token|api[-_ ]?key|access[-_ ]?key|authorization|signature|sign"
_NAMED = re.compile(
    rf"(?P<name>\b(?:{_NAMES})\b[\"']?\s*[:=]\s*)(?:(?:bearer|basic)\s+)?[\"']?[^\s\"',;&}}]+", re.IGNORECASE
)
_BEARER = re.compile(r"\b(?P<scheme>bearer|basic)\s+[a-z0-9._~+/=-]{8,}", re.IGNORECASE)


def masked(text: str) -> str:
    """Return the text without passwords, tokens, and what follows the host of an address."""
    text = _ADDRESS.sub(rf"\g<scheme>\g<host>/{DOTS}", text)
    text = _NAMED.sub(rf"\g<name>{DOTS}", text)
    return _BEARER.sub(rf"\g<scheme> {DOTS}", text)
