"""The kinds of what is told, in words for people. Each is a key of whoever tells it; others may come.

Problems become alerts, and every channel is told of them unless it says of which; notices are told only to the channels
that name them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

PROBLEMS: Mapping[str, Promise] = MappingProxyType(
    {
        "run_failed": _("run failed for good"),
        "run_poison": _("run kills its workers"),
        "run_suspended": _("run suspended"),
        "run_asks": _("run asks for an approval"),
        "run_not_resumed": _("resume needs attention"),
        "run_flaps": _("run pauses again and again"),
        "schedule_broken": _("schedule broken"),
        "schedule_missed": _("fire missed beyond its grace"),
        "quota_warning": _("quota nearly used"),
        "quota_exhausted": _("quota used up"),
        "quota_flapping": _("quota comes and goes"),
        "account_failing": _("carrier account fails"),
        "cards_failing": _("many cards of an account fail"),
        "card_operation_failed": _("card was not stopped or resumed"),
        "card_check_failing": _("card's check fails"),
        "delivery_failing": _("channel fails"),
        "beat_silent": _("beat is silent"),
        "broker_down": _("broker away"),
    }
)
NOTICES: Mapping[str, Promise] = MappingProxyType(
    {
        "run_started": _("run has begun"),
        "run_succeeded": _("run is done"),
        "run_cancelled": _("run was cancelled"),
        "run_skipped": _("due time gave way"),
        "run_made_up": _("missed run is made up"),
    }
)
KINDS: Mapping[str, Promise] = MappingProxyType({**PROBLEMS, **NOTICES})


def kind_label(kind: str) -> str:
    """Return the kind in words."""
    return str(KINDS[kind]) if kind in KINDS else kind.replace("_", " ")
