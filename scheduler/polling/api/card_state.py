"""How a card stands in the polling: what is due when, who has it, its place, its failures and last results."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from project.kit.api.serializers import Instant, RowSerializer
from scheduler.explaining.scans import read_scans
from scheduler.polling import connecting, policy
from scheduler.polling.explaining import Situation, facts, reasons
from scheduler.polling.explaining.facts import CardFacts
from scheduler.polling.models import Card, CardCheck
from scheduler.polling.queue import Sight
from scheduler.polling.states import CheckType

# What is shown of a check that was asked about at least once.
RESULT = (
    *("value", "unit", "as_of", "checked_at", "succeeded_at"),
    *("failures", "first_failed_at", "last_failed_at", "error_class", "error"),
)


class ReasonSerializer(serializers.Serializer[Any]):
    """One thing that keeps the card from being asked, or says that nothing does."""

    situation = serializers.ChoiceField(choices=[str(each) for each in Situation])
    sentence = serializers.CharField()


class ResultSerializer(RowSerializer):
    """What came of a check so far."""

    class Meta:
        model = CardCheck
        fields = read_only_fields = RESULT


class CheckStateSerializer(serializers.Serializer[Any]):
    """One check of the card."""

    type = serializers.ChoiceField(choices=CheckType.choices)
    possible = serializers.BooleanField(help_text="Whether the account can make it.")
    interval_seconds = serializers.IntegerField(allow_null=True, help_text="By the tier. Null: not by schedule.")
    due_at = Instant(allow_null=True, help_text="By the live order, or the rows where Redis is away.")
    asked_for_at = Instant(allow_null=True, help_text="From when it is wanted beside the schedule.")
    result = ResultSerializer(allow_null=True, help_text="Null: never asked.")


class ClaimSerializer(serializers.Serializer[Any]):
    """Who works on the card."""

    token = serializers.IntegerField()
    types = serializers.ListField(child=serializers.ChoiceField(choices=CheckType.choices))
    lease_end = Instant(allow_null=True)
    started = serializers.BooleanField(help_text="False: its message is still on its way.")


class PositionSerializer(serializers.Serializer[Any]):
    """Its place in its account's live order."""

    turn_at = Instant(allow_null=True)
    before = serializers.IntegerField(help_text="Cards that stand before it.")
    priority_at = Instant(allow_null=True, help_text="From when it goes before those that are due by schedule.")


class PollingStateSerializer(serializers.Serializer[Any]):
    """How a card stands in the polling."""

    id = serializers.IntegerField()
    iccid = serializers.CharField()
    account = serializers.CharField()
    tier = serializers.CharField(allow_null=True, help_text="The first that matches the card.")
    reasons = ReasonSerializer(many=True, help_text="What keeps it from being asked, the strongest first.")
    next_at = Instant(allow_null=True)
    live_order = serializers.BooleanField(help_text="Whether Redis, which holds it, answered.")
    position = PositionSerializer(allow_null=True, help_text="Null: it is not in the live order.")
    claim = ClaimSerializer(allow_null=True, help_text="Null: nobody works on it.")
    checks = CheckStateSerializer(many=True)


def state_of(card: Card, now: datetime) -> dict[str, Any]:
    """Return how a card stands. A Redis that is away is borne: then the rows alone speak."""
    known = facts.read(card, now, connecting.hasty_client(), read_scans())
    answer, sight = reasons.explained(known), known.sight
    return {
        "id": card.pk,
        "iccid": card.iccid,
        "account": known.account.name,
        "tier": known.tier.name if known.tier else None,
        "reasons": [{"situation": str(each.situation), "sentence": each.sentence} for each in answer.reasons],
        "next_at": answer.next_at,
        "live_order": known.order is not None,
        "position": _position(sight) if sight else None,
        "claim": _claim(sight) if sight and sight.token else None,
        "checks": [_check(known, check) for check in CheckType],
    }


def _position(sight: Sight) -> dict[str, Any]:
    return {"turn_at": sight.turn, "before": sight.before, "priority_at": sight.priority}


def _claim(sight: Sight) -> dict[str, Any]:
    return {
        "token": sight.token,
        "types": [str(check) for check in sight.types],
        "lease_end": sight.lease_end,
        "started": bool(sight.executor),
    }


def _check(known: CardFacts, check: CheckType) -> dict[str, Any]:
    interval, row, sight = policy.interval_of(known.tier, check), known.checks.get(check), known.sight
    due_in_rows = row.due_at if row else None
    return {
        "type": str(check),
        "possible": check in known.possible,
        "interval_seconds": int(interval.total_seconds()) if interval else None,
        "due_at": sight.due.get(check) if sight else due_in_rows,
        "asked_for_at": sight.asked.get(check) if sight else None,
        "result": row,
    }
