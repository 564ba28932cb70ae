"""The doors through which Celery comes in: three lines that call a domain function."""

from celery import shared_task
from structlog.contextvars import bound_contextvars

from project.kit.clock import database_now
from scheduler.polling import connecting, dispatching, engine, failures, passing_on, system_settings
from scheduler.polling.cutover import callers, legacy, rounds, switching
from scheduler.polling.cutover.sets import Taken
from scheduler.polling.fleet import initializing
from scheduler.polling.messages import from_message
from scheduler.polling.operations import claiming, ending, taken
from scheduler.polling.operations import dispatching as operations_dispatching
from scheduler.polling.states import CheckType


@shared_task(name="polling.dispatch")
def dispatch() -> str:
    """Claim the due cards of all accounts, send them out, and have what is lost rebuilt; return what to note."""
    redis = connecting.client()
    dispatched = rounds.dispatch(redis, now=database_now())
    for account_id in initializing.request_rebuilds(redis, dispatched.not_ready):
        rebuild.delay(account_id)
    return dispatched.note


@shared_task(name="polling.rebuild")
def rebuild(order: int) -> None:
    """Rebuild the live order of an account, if it is lost; 0: the sets of the simple way."""
    rounds.build_if_lost(connecting.client(), order, now=database_now())


@shared_task(name="polling.reconcile")
def reconcile() -> str:
    """Compare rows and live orders, mend what is lost between them, and return what was."""
    return rounds.reconcile(connecting.client(), now=database_now())


@shared_task(name="polling.cut_over")
def cut_over() -> str:
    """Lead the cut-over that is under way on, and return what it waits for."""
    row = switching.advance(connecting.client(), now=database_now())
    return "" if row is None else row.note


@shared_task(name=dispatching.POLL_TASK, acks_late=False)
def poll_cards(account_id: int, message: list[list[int]]) -> None:
    """Hand claimed cards of an account to this process's event loop."""
    engine.here().submit(account_id, from_message(account_id, message))


@shared_task(name=legacy.CHECK_TASK, acks_late=False)
def check_as_before(card_id: int, check: str, token: int) -> None:
    """Make one check of one card in the calling thread."""
    with bound_contextvars(card=card_id):
        legacy.check(connecting.client(), Taken(card_id, CheckType(check), token), callers.here())


@shared_task(name="polling.operate")
def operate() -> str:
    """Send out the stops and resumes that are due; return what to note."""
    return operations_dispatching.send_due(now=database_now())


@shared_task(name=operations_dispatching.CHANGE_TASK, acks_late=False)
def change_cards(account_id: int, message: list[list[int]]) -> None:
    """Hand claimed operations of an account to this process's event loop."""
    engine.here().change(account_id, taken.from_message(message))


@shared_task(name="polling.tidy_operations")
def tidy_operations() -> None:
    """Let stops and resumes follow their cards, and end those of which nobody looks at the card any more."""
    claiming.follow_cards()
    ending.give_up_looking(now=database_now())


@shared_task(name="polling.pass_on_requests")
def pass_on_requests() -> str:
    """Tell the live orders what is asked for beside the schedule, and return what was."""
    return passing_on.pass_on_due(connecting.client(), now=database_now())


@shared_task(name="polling.end_storms")
def end_storms() -> None:
    """Resolve the alerts over cards that hardly fail any more."""
    failures.end_storms(system_settings.current(), now=database_now())
