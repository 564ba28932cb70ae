"""The looks that follow a request or an operation."""

from project.kit.api.serializers import RowSerializer
from scheduler.polling.models import Confirmation


class ConfirmationSerializer(RowSerializer):
    """That a card's check is looked at again and again."""

    class Meta:
        model = Confirmation
        fields: tuple[str, ...] = (
            *("id", "card", "type", "expected", "delays", "looks", "due_at", "state", "ended_at"),
        )
        read_only_fields = fields
