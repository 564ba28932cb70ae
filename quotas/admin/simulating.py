"""“If I topped up 500 now, which runs would go on?” A form that is read, and changes nothing."""

from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from quotas import availability, prospects
from quotas.admin import cells
from quotas.admin.quota_page import WAITING_SHOWN, waiting_lines
from quotas.amounts import LARGEST
from quotas.models import Quota
from quotas.prospects import Place
from quotas.states import Kind

FIELDS = ("top_up", "limit")


class WhatIfForm(forms.Form):
    """What is supposed: an amount that is added, or another limit."""

    top_up = forms.IntegerField(label=gettext_lazy("If I topped up"), min_value=1, max_value=LARGEST, required=False)
    limit = forms.IntegerField(
        label=gettext_lazy("If I set the limit to"), min_value=0, max_value=LARGEST, required=False
    )

    def __init__(self, *args: Any, quota: Quota, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.quota = quota
        if quota.kind != Kind.CAPACITY or quota.limit is None:
            del self.fields["top_up"]

    def clean(self) -> dict[str, Any]:
        """Refuse nothing and both."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and sum(cleaned.get(name) is not None for name in FIELDS) != 1:
            raise forms.ValidationError(_("Write one amount, and leave the other field empty."))
        return cleaned

    def supposed_limit(self) -> int:
        """Return the limit as it would be."""
        limit: int | None = self.cleaned_data["limit"]
        return (self.quota.limit or 0) + self.cleaned_data["top_up"] if limit is None else limit


def simulated(quota: Quota, query: QueryDict, now: datetime) -> dict[str, Any]:
    """Return the form, and what would go on if it was filled in."""
    if not any(name in query for name in FIELDS):
        return {"form": WhatIfForm(quota=quota)}
    form = WhatIfForm(query, quota=quota)
    if not form.is_valid():
        return {"form": form}
    return {"form": form, "answer": _answer(quota, form.supposed_limit(), now)}


def _answer(quota: Quota, limit: int, now: datetime) -> dict[str, Any]:
    queue = prospects.queue_if(quota, limit, now=now)
    going, staying = _parted(queue)
    already = sum(place.goes_on for place in prospects.queue(quota, now=now))
    return {
        "sentence": _sentence(quota, limit, len(going), len(queue)),
        "already": already,
        "going": waiting_lines(quota, going[:WAITING_SHOWN], now),
        "more_going": max(0, len(going) - WAITING_SHOWN),
        "staying": waiting_lines(quota, staying[:WAITING_SHOWN], now),
        "more_staying": max(0, len(staying) - WAITING_SHOWN),
        "left": cells.amount(_left(quota, limit, going, now), quota.unit),
    }


def _parted(queue: list[Place]) -> tuple[list[Place], list[Place]]:
    return [place for place in queue if place.goes_on], [place for place in queue if not place.goes_on]


def _sentence(quota: Quota, limit: int, going: int, waiting: int) -> str:
    text = ngettext(
        "With a limit of %(limit)s, %(going)s of %(waiting)s that waits would go on.",
        "With a limit of %(limit)s, %(going)s of %(waiting)s that wait would go on.",
        waiting,
    )
    return text % {"limit": cells.amount(limit, quota.unit), "going": f"{going:,}", "waiting": f"{waiting:,}"}


def _left(quota: Quota, limit: int, going: list[Place], now: datetime) -> int | None:
    """Return what would be available behind those who go on."""
    left = availability.available(prospects.with_limit(quota, limit, now), now)
    return None if left is None else max(0, left - sum(place.need(quota) for place in going))
