"""For each action of the control panel a row with which it is possible, and what is filled in beside the reason."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from django.db.models import Model

from project.kit.api.models import ApiToken
from project.kit.clock import database_now
from quotas.models import LedgerEntry
from scheduler.backfilling import open_backfill
from scheduler.models import Backfill, Schedule, TaskRun
from scheduler.polling import system_settings
from scheduler.polling.models import Card, CarrierAccount, PollingParams, SystemSetting
from scheduler.states import RunState
from tests.alerts.admin.desk import make_alert, make_hook
from tests.kit.api.caller import chief, token_of
from tests.quotas.admin.desk import charge, make_daily, make_quota
from tests.scheduler.factories import make_question, make_run, make_schedule
from tests.scheduler.polling.admin.desk import make_reached_account, put_in_order
from tests.scheduler.polling.api.factories import make_operation
from tests.scheduler.polling.factories import DAY, HOUR, make_card, make_tier

LATER = "2999-01-01T00:00"
TIMEOUT = "polling.steps.timeout"
Values = Mapping[str, Any]


def tomorrow() -> str:
    """Return a time a day from now."""
    return f"{database_now() + DAY:%Y-%m-%dT%H:%M}"


def polled_card() -> Card:
    """Insert a card that is in the live order of its account."""
    card = make_card(make_reached_account(), now=database_now())
    make_tier()
    put_in_order(card.account)
    return card


def held_account() -> CarrierAccount:
    """Insert an account that is held."""
    return make_reached_account(held_until=database_now() + HOUR, held_reason="429")


def account_with_parameters() -> CarrierAccount:
    """Insert an account for which somebody has set parameters."""
    account = make_reached_account()
    PollingParams.objects.create(account=account, inflight_limit=7, changed_at=database_now())
    return account


def set_timeout() -> SystemSetting:
    """Set a setting."""
    return system_settings.change(TIMEOUT, 30, actor="ann", now=database_now())


def token() -> ApiToken:
    """Make a token."""
    token_of(chief())
    return ApiToken.objects.latest("pk")


def a_charge() -> LedgerEntry:
    """Charge a quota, and return the entry."""
    return charge(make_quota(100), 30, owner="run:1")


def backfill() -> Backfill:
    """Open a backfill of two days."""
    days = date(2026, 5, 1), date(2026, 5, 2)
    return open_backfill(make_schedule(), *days, actor="ann", reason="New rates", now=database_now())


def paused_schedule() -> Schedule:
    """Insert a schedule that is paused."""
    return make_schedule(enabled=False, pause_reason="The ledger moves.")


def ended_run() -> TaskRun:
    """Insert a run that has ended and left a checkpoint."""
    return make_run(RunState.DONE, progress={"account": 7}, progress_done=7, progress_total=9)


def due_run() -> TaskRun:
    """Insert a run that waits for its time."""
    return make_run(now=database_now())


def suspended_run() -> TaskRun:
    """Insert a run that waits for a decision."""
    return make_run(RunState.SUSPENDED)


SCENES: dict[tuple[str, str], tuple[Callable[[], Model], Values]] = {
    ("alerts.alert", "acknowledge"): (make_alert, {}),
    ("alerts.alert", "resolve"): (make_alert, {}),
    ("alerts.alert", "silence"): (make_alert, {"covers": "same", "ends_at": LATER}),
    ("alerts.channel", "enable"): (lambda: make_hook(enabled=False), {}),
    ("alerts.channel", "pause"): (make_hook, {}),
    ("alerts.channel", "test"): (make_hook, {}),
    ("polling.card", "check-now"): (polled_card, {"checks": ["usage"]}),
    ("polling.card", "delete-card"): (make_card, {}),
    ("polling.card", "move"): (make_card, {"account": lambda: make_reached_account().pk}),
    ("polling.card", "polling-off"): (make_card, {}),
    ("polling.card", "polling-on"): (lambda: make_card(polling_enabled=False), {}),
    ("polling.card", "resume"): (make_card, {}),
    ("polling.card", "stop"): (make_card, {}),
    ("polling.cardoperation", "cancel"): (lambda: make_operation(make_card()), {}),
    ("polling.carrieraccount", "defaults"): (account_with_parameters, {}),
    ("polling.carrieraccount", "delete-account"): (make_reached_account, {}),
    ("polling.carrieraccount", "hold"): (make_reached_account, {"minutes": 30}),
    ("polling.carrieraccount", "rebuild"): (make_reached_account, {}),
    ("polling.carrieraccount", "release"): (held_account, {}),
    ("polling.carrieraccount", "switch-off"): (make_reached_account, {}),
    ("polling.carrieraccount", "switch-on"): (lambda: make_reached_account(active=False), {}),
    ("polling.pollingtier", "delete-tier"): (make_tier, {}),
    ("polling.systemsetting", "change"): (lambda: SystemSetting(key=TIMEOUT), {"value": "30"}),
    ("polling.systemsetting", "cut-over"): (lambda: SystemSetting(key=system_settings.MODE_KEY), {}),
    ("polling.systemsetting", "default"): (set_timeout, {}),
    ("project.apitoken", "revoke"): (token, {}),
    ("quotas.ledgerentry", "refund"): (a_charge, {}),
    ("quotas.quota", "check-now"): (make_quota, {}),
    ("quotas.quota", "reset-now"): (lambda: make_daily(100, used=60), {}),
    ("quotas.quota", "set-limit"): (make_quota, {"limit": 20}),
    ("quotas.quota", "top-up"): (make_quota, {"amount": 500}),
    ("scheduler.backfill", "cancel"): (backfill, {}),
    ("scheduler.schedule", "backfill"): (make_schedule, {"first_day": "2026-05-01", "last_day": "2026-05-02"}),
    ("scheduler.schedule", "enable"): (paused_schedule, {}),
    ("scheduler.schedule", "pause"): (make_schedule, {}),
    ("scheduler.schedule", "run-now"): (make_schedule, {}),
    ("scheduler.taskrun", "again-from-nothing"): (ended_run, {}),
    ("scheduler.taskrun", "again-from-progress"): (ended_run, {}),
    ("scheduler.taskrun", "approve"): (make_question, {}),
    ("scheduler.taskrun", "cancel"): (make_run, {}),
    ("scheduler.taskrun", "give-up"): (suspended_run, {}),
    ("scheduler.taskrun", "go-on"): (suspended_run, {}),
    ("scheduler.taskrun", "put-off"): (due_run, {"until": tomorrow}),
    ("scheduler.taskrun", "reject"): (make_question, {}),
    ("scheduler.taskrun", "resume"): (lambda: make_run(RunState.PAUSED), {}),
    ("scheduler.taskrun", "retry"): (lambda: make_run(RunState.FAILED), {}),
}


def scene(model: str, action: str) -> tuple[Model, dict[str, Any]]:
    """Set the scene of an action: insert its row, and return it with what is filled in."""
    make, values = SCENES[model, action]
    return make(), {name: value() if callable(value) else value for name, value in values.items()}
