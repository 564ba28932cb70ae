"""Secrets at rest: encrypted in the database, never shown, never in a log.

The keys come from the environment (TIDELINE_SECRETS_KEYS). The first encrypts; the others still read what they have
encrypted before, until `manage.py rotate_secrets` has written it anew.
"""

import base64
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

DOTS = "••••••"
SHORTEST_KEY = 32
PURPOSE = b"tideline secrets at rest"


class UnreadableSecret(Exception):
    """A stored secret was encrypted with a key that is not given any more."""

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "This secret was encrypted with another key. Add that key to TIDELINE_SECRETS_KEYS, or "
                "enter the secret anew."
            )
        )


class Secret:
    """A text that shows itself only when asked: printed, logged or written into a page it is dots."""

    __slots__ = ("_sealed",)

    def __init__(self, sealed: str) -> None:
        self._sealed = sealed

    @classmethod
    def of(cls, text: str) -> "Secret":
        """Return the text as a secret, encrypted with the present key; the empty text stays empty."""
        return cls(_fernet().encrypt(text.encode()).decode() if text else "")

    @property
    def sealed(self) -> str:
        """Return it as it is stored."""
        return self._sealed

    def reveal(self) -> str:
        """Return the text itself, to use it at once.

        Raises:
            UnreadableSecret: its key is not given any more.
        """
        if not self._sealed:
            return ""
        try:
            return _fernet().decrypt(self._sealed.encode()).decode()
        except InvalidToken:
            raise UnreadableSecret from None

    def rotated(self) -> "Secret":
        """Return it encrypted with the present key.

        Raises:
            UnreadableSecret: as `reveal`.
        """
        return Secret.of(self.reveal())

    def __bool__(self) -> bool:
        return bool(self._sealed)

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same text; one that cannot be read equals only itself."""
        if not isinstance(other, Secret):
            return False
        try:
            return self._sealed == other._sealed or self.reveal() == other.reveal()
        except UnreadableSecret:
            return False

    __hash__ = None  # type: ignore[assignment]  # equal texts are stored differently

    def __repr__(self) -> str:
        return DOTS if self._sealed else ""

    __str__ = __repr__


class SecretField(models.TextField):  # type: ignore[type-arg]
    """A column whose value is a Secret; a plain text that is assigned is encrypted when it is saved."""

    description = _("secret")

    def from_db_value(self, value: str | None, *_: Any) -> Secret | None:
        return None if value is None else Secret(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Secret) else Secret.of(str(value))

    def get_prep_value(self, value: Any) -> Any:
        secret = self.to_python(value)
        return None if secret is None else secret.sealed

    def value_to_string(self, obj: models.Model) -> str:
        """Return the stored form: a dump of the data holds no secret in the clear."""
        secret = self.to_python(self.value_from_object(obj))
        return "" if secret is None else secret.sealed


class SecretJSONField(SecretField):
    """A column whose value is a Secret that holds JSON."""

    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, Secret):
            return value
        return Secret.of(json.dumps(value) if value else "")


@register(Tags.security)
def keys_are_long_enough(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse keys that could be guessed. What it says shows none of them."""
    return [
        Error(
            f"Key {number} of TIDELINE_SECRETS_KEYS is too short: it has {len(key)} characters.",
            hint=f"Make one of at least {SHORTEST_KEY}, for example with `openssl rand -base64 32`.",
            id="kit.E001",
        )
        for number, key in enumerate(settings.TIDELINE_SECRETS_KEYS, start=1)
        if len(key) < SHORTEST_KEY
    ]


def _fernet() -> MultiFernet:
    return _fernet_of(tuple(settings.TIDELINE_SECRETS_KEYS) or (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=8)
def _fernet_of(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(key: str) -> bytes:
    """Return 32 bytes from a key of any length and form."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE)
    return base64.urlsafe_b64encode(derivation.derive(key.encode()))
