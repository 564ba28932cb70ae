"""The words of the polling: what is asked of a card, in which states cards are, what can go wrong."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class CheckType(models.TextChoices):
    """What is asked about a card. Their order here is that of the numbers in Redis: new ones come last."""

    REAL_NAME = "real_name", _("real name")
    USAGE = "usage", _("usage")
    CARD_STATUS = "card_status", _("card status")
    PACKAGE = "package", _("package")


class CardState(models.TextChoices):
    """The state of a card at its carrier, in words common to all carriers."""

    UNKNOWN = "unknown", _("unknown")
    STOCK = "stock", _("in stock")
    TESTING = "testing", _("testing")
    READY = "ready", _("to be activated")
    ACTIVE = "active", _("active")
    STOPPED = "stopped", _("stopped")
    DORMANT = "dormant", _("dormant")
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")


class RealName(models.TextChoices):
    """Whether the card's user has shown who he is."""

    UNKNOWN = "unknown", _("unknown")
    NEEDED = "needed", _("to be verified")
    VERIFIED = "verified", _("verified")
    NOT_NEEDED = "not_needed", _("not needed")


class ErrorClass(models.TextChoices):
    """Why a carrier did not answer what was asked."""

    AUTH = "auth", _("credentials refused")
    TOKEN_EXPIRED = "token_expired", _("token expired")
    THROTTLED = "throttled", _("throttled")
    QUOTA_EXHAUSTED = "quota_exhausted", _("carrier's quota used up")
    CARD_MISSING = "card_missing", _("card unknown to the carrier")
    CARD_NOT_OWNED = "card_not_owned", _("card of another account")
    STATE_FORBIDS = "state_forbids", _("not possible in the card's state")
    COOLDOWN = "cooldown", _("changed too lately")
    PENDING = "pending", _("accepted, not done")
    SERVER = "server", _("carrier's error")
    MALFORMED = "malformed", _("answer not understood")
    TIMEOUT = "timeout", _("no answer in time")
    NETWORK = "network", _("not reached")


# States of the account, never failures of its cards.
OF_THE_ACCOUNT = frozenset(
    {ErrorClass.AUTH, ErrorClass.TOKEN_EXPIRED, ErrorClass.THROTTLED, ErrorClass.QUOTA_EXHAUSTED}
)
# Told at their first occurrence: no repetition mends them.
TOLD_AT_ONCE = frozenset({ErrorClass.CARD_MISSING, ErrorClass.CARD_NOT_OWNED})


class SceneKind(models.TextChoices):
    """What a scene is: something happened to a card, or somebody looks at it."""

    EVENT = "event", _("business event")
    READ = "read", _("page opened")


class RequestOutcome(models.TextChoices):
    """What became of a card for which a scene asked."""

    ASKED = "asked", _("asked for")
    MERGED = "merged", _("asked for already")
    COOLING = "cooling", _("asked for by the same scene a short time ago")
    CHECKED = "checked", _("checked since")  # it was passed on late, and the schedule was faster
    NOT_POLLED = "not_polled", _("not polled")
    SCENE_OFF = "scene_off", _("scene switched off")


class ConfirmationState(models.TextChoices):
    """Where it stands that an expected result is looked for."""

    WAITING = "waiting", _("waiting")
    CONFIRMED = "confirmed", _("as expected")
    OVER = "over", _("not seen")  # every look was taken, and the expected result, if there was one, did not come
    CANCELLED = "cancelled", _("cancelled")


class OperationKind(models.TextChoices):
    """What is done to a card."""

    STOP = "stop", _("stop")
    RESUME = "resume", _("resume")


class OperationState(models.TextChoices):
    """Where an operation stands. Its carrier's yes makes it accepted; only the card's state makes it done."""

    WAITING = "waiting", _("waiting")
    SENDING = "sending", _("being asked")
    ACCEPTED = "accepted", _("accepted, not seen yet")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    UNCONFIRMED = "unconfirmed", _("accepted, never seen")
    UNKNOWN = "unknown", _("unknown whether it was accepted")
    CANCELLED = "cancelled", _("cancelled")


OPEN_OPERATIONS = (OperationState.WAITING, OperationState.SENDING, OperationState.ACCEPTED)


class CutoverPhase(models.TextChoices):
    """What a cut-over is at, in this order."""

    STOPPING = "stopping", _("claiming stops")
    DRAINING = "draining", _("work in progress ends")
    REBUILDING = "rebuilding", _("the other side is built")
    PROVING = "proving", _("every card is in one queue")
    DONE = "done", _("done")
