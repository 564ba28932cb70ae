"""The rows of the API: tokens, and the requests that carried an idempotency key."""

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _


class ApiToken(models.Model):
    """Lets a program act as its user, as far as its scopes go. The token itself is shown once and not stored."""

    name = models.CharField(_("name"), max_length=100, help_text=_("what it is for"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens", verbose_name=_("acts as")
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)  # SHA-256 of the token
    prefix = models.CharField(_("begins with"), max_length=20, editable=False)
    # What it may do of what its user may: see scopes.py.
    scopes = models.JSONField(_("scopes"), default=list)
    created_at = models.DateTimeField(_("made"), editable=False)
    expires_at = models.DateTimeField(_("expires"))
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)  # to the minute

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name


class IdempotentRequest(models.Model):
    """A POST with an idempotency key, and what was answered: a second one is answered the same, and does nothing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("user"))
    key = models.CharField(_("key"), max_length=200)
    path = models.CharField(_("path"), max_length=500)
    digest = models.CharField(max_length=64)  # SHA-256 of path and body
    status = models.PositiveSmallIntegerField(_("status"), null=True)  # null: it has not been answered yet
    body = models.JSONField(_("answer"), null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("request with a key")
        verbose_name_plural = _("requests with a key")
        indexes = (models.Index(fields=["created_at"], name="idempotent_request_age"),)  # pruning
        constraints = (models.UniqueConstraint(name="idempotent_request_once", fields=["user", "key"]),)

    def __str__(self) -> str:
        return self.key
