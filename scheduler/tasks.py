"""The doors through which Celery comes in: three lines that call a domain function."""

from celery import shared_task

from project.kit.clock import CarriedClock, database_now
from quotas import reserving, scans
from scheduler import (
    executing,
    firing,
    keeping,
    launching,
    pausing,
    recovering,
    replanning,
    rescuing,
    sealing,
)
from scheduler.all_clear import resolve_what_is_well
from scheduler.identity import this_worker
from scheduler.transitions import Claim

run_clock = CarriedClock()


@shared_task(name="scheduler.fire_due")
def fire_due() -> str:
    """Fire the schedules that are due, and launch what they opened; return what to note."""
    if firing.fire_all_due(now=database_now()).started:
        return launching.launch_due(now=database_now()).error
    return ""


@shared_task(name="scheduler.launch_due")
def launch_due() -> str:
    """Send a hint for each run that is due; return why it could not, if so."""
    return launching.launch_due(now=database_now()).error


@shared_task(name="scheduler.rescue_lost")
def rescue_lost() -> None:
    """Free the runs whose worker is gone."""
    keeping.free_of_dead_neighbours(now=database_now())
    rescuing.rescue_lost(now=database_now())


@shared_task(name="scheduler.resume_due")
def resume_due() -> str:
    """Resume what the quotas allow again, and launch it; return what to note."""
    reserving.free_expired(now=database_now())
    judged = scans.evaluate_due(now=database_now())  # what rises is resumed on commit
    resumed = recovering.resume_by_events(now=database_now())
    pausing.return_to_pause(now=database_now())
    return launching.launch_due(now=database_now()).error if judged or resumed else ""


@shared_task(name="scheduler.poll_quotas")
def poll_quotas() -> None:
    """Look at the quotas whose fallback check is due."""
    recovering.poll(clock=database_now)


@shared_task(name="scheduler.all_clear")
def all_clear() -> None:
    """Resolve the alerts of what is well again."""
    resolve_what_is_well(now=database_now())


@shared_task(name="scheduler.replan")
def replan() -> None:
    """Correct the next runs that are no longer right."""
    replanning.replan(now=database_now())


@shared_task(name="scheduler.seal_ended")
def seal_ended() -> None:
    """Seal the runs that have ended."""
    sealing.seal_ended()


@shared_task(name=launching.RUN_TASK)
def run(hint: list[tuple[int, int]]) -> None:
    """Execute the hinted runs.

    Args:
        hint: pairs of a run's id and its lease token.
    """
    claims = [Claim(run_id, token) for run_id, token in hint]
    executing.execute_hint(claims, this_worker(), run_clock)
