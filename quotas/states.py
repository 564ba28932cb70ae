"""The words of the quotas: kinds, verdicts, causes of an edge, reasons to wait."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Kind(models.TextChoices):
    """How what was spent comes back."""

    PERIODIC = "periodic", _("periodic: resets by the clock")
    CAPACITY = "capacity", _("capacity: is topped up")
    RATE = "rate", _("rate: refills evenly")


class Verdict(models.TextChoices):
    """Whether work that waits for the quota may go on. It changes with hysteresis; see quotas.evaluating."""

    SUFFICIENT = "sufficient", _("sufficient")
    INSUFFICIENT = "insufficient", _("insufficient")


COLOURS: dict[Verdict, str] = {Verdict.SUFFICIENT: "green", Verdict.INSUFFICIENT: "amber"}


class Cause(models.TextChoices):
    """What made a quota be looked at anew, and so what an edge came from."""

    RESET = "reset", _("reset")
    TOP_UP = "top_up", _("top-up")
    LIMIT_CHANGE = "limit_change", _("limit change")
    REFUND = "refund", _("refund")
    RESERVATION_FREED = "reservation_freed", _("reservation freed")
    REFILL = "refill", _("refill")
    PROVIDER = "provider", _("the provider's report")
    SPENDING = "spending", _("spending")
    POLL = "poll", _("fallback poll")


# What a person or the clock decides holds at once; what trickles in has to last (Quota.stable_seconds).
DECIDED = frozenset({Cause.RESET, Cause.TOP_UP, Cause.LIMIT_CHANGE})
# What comes by a person or by a rule may come as often as it does; how often the rest lets a quota rise is bounded.
EXPECTED = DECIDED | {Cause.REFILL}


class WaitReason(models.TextChoices):
    """Why a charge was refused, and so what the work waits for."""

    OWN_BUDGET = "own_budget", _("our own budget is used up")
    PROVIDER_WINDOW = "provider_window", _("the provider refuses until its window resets")
    RATE = "rate", _("the rate allows no more just now")
    UNKNOWN_RESET = "unknown_reset", _("the provider refuses and does not say until when")


class EntryKind(models.TextChoices):
    """What a ledger entry records."""

    CHARGE = "charge", _("charge")
    REFUND = "refund", _("refund")
    TOP_UP = "top_up", _("top-up")
    LIMIT = "limit", _("limit set")
    RESET = "reset", _("reset")
    REFILL = "refill", _("refill")


class ReservationState(models.TextChoices):
    """What became of a reservation."""

    HELD = "held", _("held")
    SETTLED = "settled", _("settled")
    RELEASED = "released", _("released")
    EXPIRED = "expired", _("expired")


class Purpose(models.TextChoices):
    """What a reservation is for."""

    WORK = "work", _("work that will settle it")
    ADMISSION = "admission", _("a resumed run, until it charges")
