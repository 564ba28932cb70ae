"""What of the polling's history goes, and when. What cards and their checks are now stands in their own rows; stops and
resumes go by a setting of the polling itself, see operations.tidying.
"""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from project.kit.pruning import Kind, unless
from scheduler.polling.models import CardChange, CheckRequest, Confirmation, Cutover
from scheduler.polling.states import ConfirmationState


def _request_may_go(before: datetime) -> Q:
    """With its looks, when the last of them was taken long ago. Until then its event asks for nothing again."""
    looks = Confirmation.objects.filter(request=OuterRef("pk"))
    looked_since = looks.filter(Q(state=ConfirmationState.WAITING) | Q(ended_at__gte=before))
    return Q(at__lt=before, asked_at__lt=before) & unless(looked_since)


def _cutover_may_go(before: datetime) -> Q:
    """The latest stays, whatever its age: it says since when and by whom polling decides as it does."""
    return Q(ended_at__lt=before) & Q(Exists(Cutover.objects.filter(pk__gt=OuterRef("pk"))))


KINDS = (
    Kind("card_changes", CardChange, "at", lambda before: Q(at__lt=before)),
    Kind("check_requests", CheckRequest, "at", _request_may_go),
    Kind("cutovers", Cutover, "started_at", _cutover_may_go),
)
