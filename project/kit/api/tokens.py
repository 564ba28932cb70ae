"""Tokens are made, found and revoked. Their text is random and stands nowhere: what is stored is its digest."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from project.kit.api.models import ApiToken

MARK = "tideline_"  # lets scanners of repositories recognise one
SHOWN_LENGTH = len(MARK) + 6
USE_IS_NOTED_EVERY = timedelta(minutes=1)


def issue(token: ApiToken, *, now: datetime) -> str:
    """Insert a token that says whose it is, what for and until when; return its text, which cannot be had again."""
    text = MARK + secrets.token_urlsafe(32)
    token.digest, token.prefix, token.created_at = _digest(text), text[:SHOWN_LENGTH], now
    token.save(force_insert=True)
    return text


def find(text: str) -> tuple[ApiToken, datetime] | None:
    """Return the token of that text, with its user, and the database's instant at which it was read."""
    rows = ApiToken.objects.select_related("user").annotate(seen_at=Now())
    token = rows.filter(digest=_digest(text)).first()
    return (token, token.seen_at) if token else None


def obstacle(token: ApiToken, now: datetime) -> str:
    """Say why the token is not good any more; empty: it is good."""
    if token.revoked_at is not None:
        return _("This token was revoked. Make another one in the control panel.")
    if token.expires_at <= now:
        return _("This token has expired. Make another one in the control panel.")
    if not token.user.is_active:
        return _("The user of this token is not active any more.")
    return ""


def note_use(token: ApiToken, now: datetime) -> None:
    """Write down that the token was used, at most once a minute."""
    if token.last_used_at is None or token.last_used_at <= now - USE_IS_NOTED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_IS_NOTED_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def revoke(token_id: int, now: datetime) -> bool:
    """End the token for good. False: it is revoked already."""
    return bool(ApiToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=now))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
