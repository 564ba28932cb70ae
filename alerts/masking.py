"""What may be a secret in a text is masked before the text is stored."""

import re

from project.kit.secrets import DOTS

# Of an address the host is kept: paths and queries of webhooks hold their tokens.
_ADDRESS = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)(?P<user>[^\s/?#]*@)?(?P<host>[^\s/?#\"'<>)，。；]+)"
    r"(?P<path>[^\s\"'<>)，。；]*)",
    re.IGNORECASE,
)
_NAMES = (
    "pass(?:word|wd|phrase)?|pwd|(?:access|refresh|auth|client|app|session)?[-_ ]?(?:token|secret)"
    "|(?:secret[-_ ]?)?(?:api|access|private|secret)[-_ ]?key|authorization|cookie|signature|sign|密码|口令|密钥"
)
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|(?:(?:bearer|basic|digest)\s+)?[^\s\"',;&}]+)"
# As db_password=…, "apiKey": "…" or --token …; but no part of a longer word, such as design.
_NAMED = re.compile(rf"(?P<name>(?<![^\W_])(?:{_NAMES})[\"']?\s*[:=：]\s*){_VALUE}", re.IGNORECASE)
_OPTION = re.compile(rf"(?P<name>--(?:\w+-){{0,4}}(?:{_NAMES})\s+){_VALUE}", re.IGNORECASE)
_SCHEME = re.compile(r"\b(?P<name>bearer|basic)\s+[a-z0-9._~+/=-]{8,}", re.IGNORECASE)
# By their own look: of JSON Web Tokens, payment and model providers, code hosts, chats, clouds, Standard Webhooks.
_KNOWN = re.compile(
    r"\b(?:eyJ[\w-]+\.[\w-]+\.[\w-]*|[sr]k[-_][\w-]{16,}|gh[oprsu]_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}"
    r"|whsec_[\w+/=]{16,})"
)


def masked(text: str) -> str:
    """Return the text without passwords, tokens, and what follows the host of an address."""
    text = _ADDRESS.sub(_host_alone, text)
    for pattern in (_NAMED, _OPTION):
        text = pattern.sub(rf"\g<name>{DOTS}", text)
    text = _SCHEME.sub(rf"\g<name> {DOTS}", text)
    return _KNOWN.sub(DOTS, text)


def _host_alone(address: re.Match[str]) -> str:
    if address["user"] is None and address["path"] in ("", "/"):
        return address[0]
    return f"{address['scheme']}{address['host']}/{DOTS}"
