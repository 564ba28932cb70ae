"""The settings of the polling as a whole: every one of them, whether somebody has set it or not."""

import json
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.offering import offered, perform_action
from project.kit.api.problems import Conflict
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from project.kit.api.versions import expected_version
from project.kit.versions import StaleVersion
from scheduler.polling import system_settings
from scheduler.polling.admin.setting_actions import BACK_TO_DEFAULT, CHANGE
from scheduler.polling.admin.system_settings import not_set
from scheduler.polling.models import SystemSetting

LONGEST_REASON = 500


class SettingSerializer(RowSerializer):
    """A setting, with what it means and what it may be."""

    value = serializers.JSONField()
    default = serializers.SerializerMethodField("default_of")
    description = serializers.SerializerMethodField()
    schema = serializers.SerializerMethodField(help_text="The JSON schema of its values.")
    version = serializers.IntegerField(help_text="0 where nobody has set it.")

    class Meta:
        model = SystemSetting
        fields = read_only_fields = (
            *("key", "value", "default", "description", "schema", "changed_by", "changed_at", "version"),
        )
        extra_kwargs = {"changed_at": {"allow_null": True}}

    def default_of(self, setting: SystemSetting) -> Any:
        """Return what holds where nobody has set it."""
        return system_settings.default(setting.key)

    def get_description(self, setting: SystemSetting) -> str:
        """Return what it means."""
        return system_settings.FIELDS[setting.key].description or ""

    def get_schema(self, setting: SystemSetting) -> dict[str, Any]:
        """Return what its values may be."""
        return system_settings.schema(setting.key)


class SettingChangeSerializer(serializers.Serializer[Any]):
    """Another value, and why."""

    value = serializers.JSONField()
    reason = serializers.CharField(max_length=LONGEST_REASON)


class Settings(Resource):
    """The settings of the polling as a whole."""

    queryset = SystemSetting.objects.all()
    serializer_class = SettingSerializer
    lookup_value_converter = "str"
    ordering = "key"
    ordering_fields = ("key",)

    default = offered(BACK_TO_DEFAULT)

    def get_object(self) -> SystemSetting:
        """Return a setting; one that nobody has set is of version 0."""
        return self._setting(self.kwargs["pk"])

    def shown(self, pk: Any) -> dict[str, Any]:
        """Return a setting as it is now, as the API shows it."""
        shown: dict[str, Any] = self.get_serializer(self._setting(pk)).data
        return shown

    def list(self, request: Request) -> Response:
        """Show every setting: they are few, and one page."""
        rows = {row.key: row for row in self.filter_queryset(self.get_queryset())}
        settings = [rows.get(key) or not_set(key) for key in system_settings.FIELDS]
        return Response({"next": None, "previous": None, "results": self.get_serializer(settings, many=True).data})

    @extend_schema(request=SettingChangeSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Set a setting; `If-Match` says on which version that is based, and 0 is that of one that nobody has set."""
        version, setting = expected_version(request), self.get_object()
        said = SettingChangeSerializer(data=request.data)
        said.is_valid(raise_exception=True)
        if setting.version != version:
            raise Conflict(str(StaleVersion(setting)), current=self.shown(pk))
        value, reason = json.dumps(said.validated_data["value"]), said.validated_data["reason"]
        if value != json.dumps(setting.value):
            perform_action(request, CHANGE, setting, {"value": value, "reason": reason})
        return Response(self.shown(pk))

    def _setting(self, key: str) -> SystemSetting:
        if key not in system_settings.FIELDS:
            raise Http404
        return self.get_queryset().filter(pk=key).first() or not_set(key)
