"""Cut-overs: changes of the way in which polling decides, each with what was counted at its steps."""

from datetime import datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from rest_framework import serializers

from project.kit.api.problems import Conflict
from project.kit.api.resources import Creating
from project.kit.api.serializers import RowSerializer
from scheduler.polling.cutover import switching
from scheduler.polling.models import Cutover
from scheduler.polling.states import CutoverPhase
from scheduler.polling.system_settings import Mode


class CutoverSerializer(RowSerializer):
    """A cut-over."""

    wanted = serializers.ChoiceField(choices=[str(mode) for mode in Mode], help_text="Who is to decide.")

    class Meta:
        model = Cutover
        fields = (
            *("id", "wanted", "phase", "actor", "started_at", "phase_since", "ended_at", "progress", "note", "version"),
        )
        read_only_fields = tuple(name for name in fields if name != "wanted")


class CutoverFilters(django_filters.FilterSet):
    """By what it is at, and whether it is under way."""

    phase = django_filters.ChoiceFilter(choices=CutoverPhase.choices)
    under_way = django_filters.BooleanFilter(field_name="ended_at", lookup_expr="isnull")


class Cutovers(Creating):
    """Changes of the way in which polling decides."""

    queryset = Cutover.objects.all()
    serializer_class = CutoverSerializer
    filterset_class = CutoverFilters
    permissions = {"create": "polling.cut_over"}

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Cutover:
        """Start a cut-over.

        Raises:
            Conflict: one is under way, or that way decides already.
        """
        try:
            return switching.start(Mode(values["wanted"]), actor=actor, now=now)
        except ValidationError as refusal:
            raise Conflict(" ".join(refusal.messages)) from refusal
