"""How the polling of each account goes, as `manage.py polling_stats` tells it."""

from collections.abc import Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from redis.exceptions import RedisError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.problems import Unavailable
from project.kit.api.resources import Resource
from project.kit.api.serializers import Instant
from project.kit.clock import database_now
from scheduler.polling import connecting, stats
from scheduler.polling.models import CarrierAccount
from scheduler.polling.stats import Standing


class StatsSerializer(serializers.Serializer[Any]):
    """How the polling of an account goes."""

    id = serializers.IntegerField(help_text="That of the account.")
    account = serializers.CharField()
    standing = serializers.ChoiceField(choices=[str(each) for each in Standing])
    held_until = Instant(allow_null=True)
    cards = serializers.IntegerField(help_text="That are polled, by the rows.")
    cards_without_tier = serializers.IntegerField(help_text="Those that no tier matches: they are not checked.")
    queue_length = serializers.IntegerField(help_text="Cards in the live order.")
    due = serializers.IntegerField(help_text="Cards whose turn has come and that are not claimed.")
    asked_for = serializers.IntegerField(help_text="Cards that are asked for beside the schedule.")
    in_work = serializers.IntegerField()
    calls_a_second = serializers.FloatField(help_text="In the last seconds.")
    calls = serializers.IntegerField()
    limiter_waits = serializers.IntegerField(help_text="Calls that waited for their turn.")
    limiter_waited_seconds = serializers.FloatField(help_text="Together.")
    limiter_timeouts = serializers.IntegerField(help_text="Calls not made: they would have waited too long.")
    claimed = serializers.IntegerField()
    finished = serializers.IntegerField()
    released = serializers.IntegerField()
    leases_expired = serializers.IntegerField()
    stale_finishes = serializers.IntegerField(help_text="Of pollers that had lost the card.")
    open_alerts = serializers.IntegerField()
    calls_wanted_a_day = serializers.IntegerField(help_text="By the tiers.")
    calls_possible_a_day = serializers.IntegerField(allow_null=True, help_text="Null: no rate window limits them.")
    tiers_feasible = serializers.BooleanField()
    full_cycle_seconds = serializers.FloatField(
        allow_null=True, help_text="Until each check of each card was made once, at this rate."
    )


class StatsFilters(django_filters.FilterSet):
    """By the account."""

    account = django_filters.CharFilter(field_name="name")
    active = django_filters.BooleanFilter()


class Stats(Resource):
    """How the polling of the accounts goes: what waits, what is in work, what went wrong, whether the tiers fit."""

    queryset = CarrierAccount.objects.select_related("params").defer("credentials")
    serializer_class = StatsSerializer
    filterset_class = StatsFilters
    ordering = "name"
    ordering_fields = ("name", "id")

    def paginate_queryset(self, queryset: QuerySet[Any] | Sequence[Any]) -> Any:
        """Return how the accounts of the page do."""
        return _told(super().paginate_queryset(queryset) or [])

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Tell of one account."""
        [told] = _told([self.get_object()])
        return Response(self.get_serializer(told).data)


def _told(rows: Sequence[CarrierAccount]) -> list[dict[str, Any]]:
    """Return how the accounts do.

    Raises:
        Unavailable: Redis is away.
    """
    try:
        seen = stats.of_accounts(connecting.hasty_client(), rows, now=database_now())
    except RedisError as error:
        raise Unavailable(_("Redis, which holds the live order, does not answer. Ask again in a moment.")) from error
    return [{"id": each.account.pk} | each.as_json() for each in seen]
