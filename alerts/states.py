"""The words of the alerts: states, severities, what a message tells, how telling it went."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AlertState(models.TextChoices):
    """Where an alert stands."""

    OPEN = "open", _("open")
    ACKNOWLEDGED = "acknowledged", _("acknowledged")
    RESOLVED = "resolved", _("resolved")


class Severity(models.TextChoices):
    """How much it matters."""

    INFO = "info", _("info")
    WARNING = "warning", _("warning")
    CRITICAL = "critical", _("critical")


class Telling(models.TextChoices):
    """What a message tells of its subject."""

    OPENED = "opened", _("opened")
    REPEATED = "repeated", _("still open")
    RECOVERED = "recovered", _("recovered")
    FLAPPING = "flapping", _("flapping")
    NOTICE = "notice", _("notice")
    DIGEST = "digest", _("digest")
    TEST = "test", _("test")


class DeliveryState(models.TextChoices):
    """Where a delivery stands."""

    WAITING = "waiting", _("waiting")
    SENDING = "sending", _("being sent")
    SENT = "sent", _("sent")
    FAILED = "failed", _("failed for good")
    UNKNOWN = "unknown", _("unknown whether it arrived")
    DROPPED = "dropped", _("not told")  # what it follows was not told either, or its channel is gone


class DeliveryOutcome(models.TextChoices):
    """How telling it went, as far as anybody can know."""

    SENT = "sent", _("sent")
    # The receiver refused it in a way that no repetition mends.
    PERMANENT = "permanent", _("failed for good")
    # It was certainly not taken: another try cannot tell it twice.
    RETRY = "retry", _("not taken")
    # The body went out and no answer says whether it was taken: another try might tell it twice.
    AMBIGUOUS = "ambiguous", _("unknown")
