"""How a quota is shown and written. The headers of its usage endpoint can be written, and are shown as dots."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy
from rest_framework import serializers

from project.kit.admin import seen_at
from project.kit.api.serializers import Instant, RowSerializer
from project.kit.secrets import SecretJSONField
from quotas import availability, defining
from quotas.admin.probe_headers import fault_of_dots, masked, stored_headers, unmasked
from quotas.models import Quota
from quotas.outlook import next_reset

# What a change writes; the limit has an action of its own, which asks why.
RULE_FIELDS = tuple(name for name in defining.EDITABLE_FIELDS if name != "limit")
STAYS = gettext_lazy("It stays once a quota is there. Create another quota instead.")


class ProbeHeaders(serializers.DictField):
    """The headers of a usage endpoint by name, with dots for their values."""

    child = serializers.CharField()

    def get_attribute(self, instance: Quota) -> dict[str, str]:
        """Return the headers of a quota."""
        return masked(stored_headers(instance))


class QuotaSerializer(RowSerializer):
    """A quota."""

    kept = {
        "key": STAYS,
        "kind": STAYS,
        "limit": gettext_lazy("The limit is changed by set-limit or top-up, which ask why."),
    }
    parent = serializers.SlugRelatedField(  # type: ignore[assignment]  # the field, not what it stands in
        slug_field="key",
        queryset=Quota.objects.all(),
        required=False,
        allow_null=True,
        help_text="The key of what it is part of: a charge has to fit there as well.",
        error_messages={
            "does_not_exist": gettext_lazy("There is no quota “{value}”."),
            "invalid": gettext_lazy("Write the key of a quota."),
        },
    )
    probe_headers = ProbeHeaders(required=False, help_text="Dots that are sent back leave a value as it was.")
    used = serializers.SerializerMethodField(help_text="In the present period.")
    available = serializers.SerializerMethodField(help_text="Null: unlimited.")
    next_reset = serializers.SerializerMethodField(help_text="Null: it is topped up, or refills.")

    class Meta:
        model = Quota
        fields = (
            *("id", "key", "kind", *defining.EDITABLE_FIELDS),
            *("used", "reserved", "available", "next_reset", "verdict", "verdict_at", "waited_for", "waited_since"),
            *("over_limit_count", "next_check_at", "blocked_until", "blocked_count", "provider_unverified"),
            *("provider_limit", "provider_remaining", "provider_resets_at", "provider_observed_at"),
            *("created_at", "updated_at", "version"),
        )
        extra_kwargs = {
            "waited_for": {"help_text": "The smallest need that waits. Null: nobody waits."},
            "over_limit_count": {"help_text": "Charges that shadow mode let through."},
        }

    def get_used(self, quota: Quota) -> int:
        """Return what counts as used."""
        return availability.used_at(quota, seen_at(quota))

    def get_available(self, quota: Quota) -> int | None:
        """Return what is left."""
        return availability.available(quota, seen_at(quota))

    def get_next_reset(self, quota: Quota) -> datetime | None:
        """Return when it resets."""
        reset = next_reset(quota, seen_at(quota))
        return Instant().to_representation(reset) if reset else None  # type: ignore[return-value]  # a text by then

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Put the stored headers back where their dots were left standing.

        Raises:
            ValidationError: they would be sent to another host than the one for which they were written.
        """
        quota = self.instance or Quota()
        said: Mapping[str, str] = attrs.get("probe_headers", masked(stored_headers(quota)))
        if fault := fault_of_dots(said, quota, attrs.get("probe_url", quota.probe_url)):
            raise serializers.ValidationError({"probe_headers": fault})
        if "probe_headers" in attrs:
            attrs["probe_headers"] = SecretJSONField().to_python(unmasked(said, stored_headers(quota)))
        return attrs
