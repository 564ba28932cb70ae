"""What happened to runs: each attempt with its output, and each transition."""

import django_filters
from django.db.models import QuerySet

from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from scheduler.models import Attempt, RunEvent
from scheduler.states import AttemptOutcome, EventTrigger, RunState

WRITTEN = ("output", "traceback")


class AttemptSerializer(RowSerializer):
    """One execution of a run by one worker."""

    class Meta:
        model = Attempt
        fields: tuple[str, ...] = (
            *("id", "run", "number", "worker", "pid", "due_at", "started_at", "finished_at", "outcome", "error"),
        )


class AttemptWithOutputSerializer(AttemptSerializer):
    """One execution of a run, with what it wrote."""

    class Meta(AttemptSerializer.Meta):
        fields = (*AttemptSerializer.Meta.fields, *WRITTEN)


class AttemptFilters(django_filters.FilterSet):
    """By the run, and by how it ended."""

    run = RowFilter(field_name="run_id")
    outcome = django_filters.ChoiceFilter(choices=AttemptOutcome.choices)


class Attempts(Resource):
    """Executions of runs."""

    queryset = Attempt.objects.all()
    serializer_class = AttemptSerializer
    detail_serializer_class = AttemptWithOutputSerializer
    filterset_class = AttemptFilters

    def get_queryset(self) -> QuerySet[Attempt]:
        """Return the attempts; only one alone with what it wrote."""
        rows: QuerySet[Attempt] = super().get_queryset()
        return rows if self.action == "retrieve" else rows.defer(*WRITTEN)


class EventSerializer(RowSerializer):
    """One transition of a run."""

    class Meta:
        model = RunEvent
        fields = ("id", "run", "at", "from_state", "to_state", "trigger", "actor", "reason", "attempt")


class EventFilters(django_filters.FilterSet):
    """By the run, where it went, and what set that off."""

    run = RowFilter(field_name="run_id")
    to_state = django_filters.ChoiceFilter(choices=RunState.choices)
    trigger = django_filters.ChoiceFilter(choices=EventTrigger.choices)


class Events(Resource):
    """Transitions of runs."""

    queryset = RunEvent.objects.all()
    serializer_class = EventSerializer
    filterset_class = EventFilters
