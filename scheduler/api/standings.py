"""Where a run stands and why: what it waits for, what it asks, and what happens next."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from project.kit.api.serializers import Instant, RowSerializer
from scheduler.admin.run_actions import open_question
from scheduler.api.approvals import ApprovalSerializer
from scheduler.api.explanations import ExplanationSerializer
from scheduler.explaining import Need, QuotaFacts, explain_run, read_quota_facts
from scheduler.models import Pause, TaskRun


class NeedSerializer(serializers.Serializer[Any]):
    """What the run needs of a quota."""

    quota = serializers.CharField(help_text="Its key.")
    amount = serializers.IntegerField()
    expected_at = Instant(allow_null=True, help_text="When that is expected to be there. Null: unknown.")


class PauseSerializer(RowSerializer):
    """How it was paused and resumed."""

    class Meta:
        model = Pause
        fields = read_only_fields = (
            *("since", "held", "not_before", "setbacks", "resume_count", "last_resumed_at", "last_trigger"),
        )


class StandingSerializer(serializers.Serializer[Any]):
    """Where a run stands and why."""

    why = ExplanationSerializer()
    question = ApprovalSerializer(allow_null=True, help_text="For whose answer it waits.")
    needs = NeedSerializer(many=True, help_text="What it waits for, or needs before it is launched.")
    expected_at = Instant(allow_null=True, help_text="When it is expected to go on, behind all before it.")
    place = serializers.IntegerField(allow_null=True, help_text="Among those that wait for the first of its quotas.")
    waiting = serializers.IntegerField(help_text="How many wait there.")
    pause = PauseSerializer(allow_null=True, help_text="Null: it was never paused.")


def standing_of(run: TaskRun, now: datetime) -> dict[str, Any]:
    """Return where a run stands."""
    quotas = read_quota_facts(run, now)
    return {
        "why": explain_run(run, now=now, quotas=quotas),
        "question": open_question(run),
        "needs": [_need(need, now) for need in quotas.needs],
        "expected_at": _expected_at(quotas, now),
        "place": quotas.number or None,
        "waiting": quotas.waiting,
        "pause": quotas.pause,
    }


def _need(need: Need, now: datetime) -> dict[str, Any]:
    return {"quota": need.quota.key, "amount": need.amount, "expected_at": need.expected_at(now)}


def _expected_at(quotas: QuotaFacts, now: datetime) -> datetime | None:
    is_held = quotas.pause is not None and quotas.pause.held
    if is_held or any(need.above_limit() for need in quotas.needs):
        return None
    expected = quotas.expected_at(now)
    return max(expected, now) if expected else None
