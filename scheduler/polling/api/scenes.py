"""Scenes: when cards are checked beside the schedule, what is asked, and how often it is looked again."""

from datetime import datetime

import django_filters

from project.kit.api.resources import Patching
from project.kit.api.serializers import RowSerializer
from scheduler.polling import scenes
from scheduler.polling.models import CheckScene
from scheduler.polling.states import SceneKind


class SceneSerializer(RowSerializer):
    """A scene."""

    class Meta:
        model = CheckScene
        fields = ("code", "kind", *scenes.FIELDS, "changed_by", "changed_at", "version")
        read_only_fields = ("code", "kind", "changed_by", "changed_at", "version")


class SceneFilters(django_filters.FilterSet):
    """By what it is, and whether it asks for anything."""

    kind = django_filters.ChoiceFilter(choices=SceneKind.choices)
    active = django_filters.BooleanFilter()


class CheckScenes(Patching):
    """What happens to cards, and which checks follow from it."""

    queryset = CheckScene.objects.all()
    serializer_class = SceneSerializer
    filterset_class = SceneFilters
    lookup_value_converter = "slug"
    ordering = "code"
    ordering_fields = ("code",)

    def change(self, row: CheckScene, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a scene."""
        before, values = CheckScene.objects.get(pk=row.pk), {name: getattr(row, name) for name in scenes.FIELDS}
        actor = self.request.user.get_username()
        scenes.change(row.pk, values, actor=actor, now=now, expected_version=expected_version)
        return [name for name, value in values.items() if getattr(before, name) != value]
