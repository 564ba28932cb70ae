"""What the composition itself remembers: when each periodic scan last ran, and what the try-out's inbox was sent."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from project.kit.api.models import ApiToken, IdempotentRequest

__all__ = ["ApiToken", "IdempotentRequest", "InboxMessage", "ScanMark"]


class ScanMark(models.Model):
    """When a periodic scan last ran, and by whom. Written after every scan, read by the watch and the health page."""

    name = models.CharField(_("scan"), max_length=200, primary_key=True)
    # Scans that beat asked for. It only grows: whoever watches it on a monotonic clock knows whether beat is silent,
    # whatever the wall clocks do.
    beat_count = models.PositiveBigIntegerField(_("asked for by beat"), default=0)
    watch_count = models.PositiveBigIntegerField(_("done because beat was silent"), default=0)
    last_at = models.DateTimeField(_("last"))
    last_by = models.CharField(_("by"), max_length=200)
    note = models.TextField(_("note"), blank=True)

    class Meta:
        verbose_name = _("scan")
        verbose_name_plural = _("scans")

    def __str__(self) -> str:
        return self.name


class InboxMessage(models.Model):
    """A message that the inbox of the try-out was sent. Only the latest are kept."""

    event_id = models.CharField(max_length=100, unique=True)
    received_at = models.DateTimeField(_("received"))
    telling = models.CharField(_("telling"), max_length=10)
    severity = models.CharField(_("severity"), max_length=10)
    title = models.TextField(_("title"))
    text = models.TextField(_("text"), blank=True)
    url = models.TextField(_("link"), blank=True)

    class Meta:
        verbose_name = _("inbox message")
        verbose_name_plural = _("inbox messages")

    def __str__(self) -> str:
        return self.title
