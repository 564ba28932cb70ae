"""The doors through which Celery comes in: three lines that call a domain function."""

from celery import shared_task

from project.kit.clock import database_now
from scheduler.polling import connecting, dispatching, engine, failures, passing_on, system_settings
from scheduler.polling.cutover import callers, legacy
from scheduler.polling.fleet import initializing, reconciling
from scheduler.polling.messages import from_message
from scheduler.polling.states import CheckType


@shared_task(name="polling.dispatch")
def dispatch() -> str:
    """Claim the due cards of all accounts, send them out, and have what is lost rebuilt; return what to note."""
    redis = connecting.client()
    dispatched = dispatching.dispatch(redis, now=database_now())
    for account_id in initializing.request_rebuilds(redis, dispatched.not_ready):
        rebuild.delay(account_id)
    return dispatched.note


@shared_task(name="polling.rebuild")
def rebuild(account_id: int) -> None:
    """Rebuild the live order of an account, if it is lost."""
    initializing.rebuild_if_lost(connecting.client(), account_id, by="the dispatcher", now=database_now())


@shared_task(name="polling.reconcile")
def reconcile() -> str:
    """Compare rows and live orders, mend what is lost between them, and return what was."""
    mended = reconciling.reconcile_all(connecting.client(), now=database_now())
    return f"{'; '.join(map(str, mended))}." if mended else ""


@shared_task(name=dispatching.POLL_TASK, acks_late=False)
def poll_cards(account_id: int, message: list[list[int]]) -> None:
    """Hand claimed cards of an account to this process's event loop."""
    engine.here().submit(account_id, from_message(account_id, message))


@shared_task(name=legacy.CHECK_TASK, acks_late=False)
def check_as_before(card_id: int, check: str, token: int) -> None:
    """Make one check of one card in the calling thread."""
    legacy.check(connecting.client(), legacy.Taken(card_id, CheckType(check), token), callers.here())


@shared_task(name="polling.pass_on_requests")
def pass_on_requests() -> str:
    """Tell the live orders what is asked for beside the schedule, and return what was."""
    return passing_on.pass_on_due(connecting.client(), now=database_now())


@shared_task(name="polling.end_storms")
def end_storms() -> None:
    """Resolve the alerts over cards that hardly fail any more."""
    failures.end_storms(system_settings.current(), now=database_now())
