"""Actions ask first, act by POST, want a permission each, are bound to what was seen, and are written down."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client

from scheduler import operations
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.panel import chief, name_of, text_of, told
from tests.scheduler.admin.desk import action_on, confirm, list_of, page_of, person
from tests.scheduler.factories import DAY, NOW, events_of, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db


def paused() -> Schedule:
    """Return a schedule that was paused."""
    return make_schedule(enabled=False, pause_reason="the ledger moves")


def ended_with_progress() -> TaskRun:
    """Return a run that has ended and left a checkpoint."""
    return make_run(RunState.DONE, progress={"account": 7}, progress_done=7, progress_total=9)


# action, what it needs, a row with which it is possible, one with which it is not
ACTIONS: dict[str, tuple[str, Callable[[], Model], Callable[[], Model] | None]] = {
    "run-now": ("run_schedule", make_schedule, lambda: make_schedule(due=NOW, timezone="Mars/Olympus")),
    "pause": ("pause_schedule", make_schedule, paused),
    "enable": ("pause_schedule", paused, make_schedule),
    "cancel": ("cancel_taskrun", make_run, ended_with_progress),
    "retry": ("retry_taskrun", lambda: make_run(RunState.FAILED), lambda: make_run(RunState.FAILED, ended=True)),
    "go-on": ("resume_taskrun", lambda: make_run(RunState.SUSPENDED), make_run),
    "give-up": ("resume_taskrun", lambda: make_run(RunState.SUSPENDED), make_run),
    "approve": ("answer_approval", make_question, make_run),
    "reject": ("answer_approval", make_question, lambda: make_run(RunState.SUSPENDED)),
    "resume": ("resume_taskrun", lambda: make_run(RunState.PAUSED), lambda: make_run(RunState.SUSPENDED)),
    "again-from-nothing": ("retry_taskrun", ended_with_progress, make_run),
    "again-from-progress": ("retry_taskrun", ended_with_progress, lambda: make_run(RunState.DONE)),
}
PERMISSIONS = sorted({needed for needed, _, _ in ACTIONS.values()})


def snapshot() -> Any:
    """Return all that an action could change."""
    runs = list(TaskRun.objects.order_by("pk").values())
    return runs, list(Schedule.objects.order_by("pk").values()), LogEntry.objects.count()


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize("name", ACTIONS)
def test_each_action_wants_its_own_permission(name: str, permission: str) -> None:
    needed, possible, _ = ACTIONS[name]
    row = possible()
    client = person(f"scheduler.{permission}", "scheduler.change_schedule")
    before = snapshot()
    asked, acted = client.get(action_on(row, name)), confirm(client, row, name, reason="why not")
    if permission == needed:
        assert (asked.status_code, acted.status_code) == (200, 302)
        assert snapshot() != before
    else:
        assert (asked.status_code, acted.status_code) == (403, 403)
        assert snapshot() == before


@pytest.mark.parametrize("name", ACTIONS)
def test_a_button_is_shown_when_the_action_is_possible_and_allowed(name: str) -> None:
    needed, possible, impossible = ACTIONS[name]
    allowed, stranger = person(f"scheduler.{needed}"), person()
    row = possible()
    assert action_on(row, name) in allowed.get(page_of(row)).content.decode()
    assert action_on(row, name) not in stranger.get(page_of(row)).content.decode()
    assert impossible is not None
    other = impossible()
    assert action_on(other, name) not in allowed.get(page_of(other)).content.decode()


@pytest.mark.parametrize("name", ACTIONS)
def test_asking_changes_nothing_and_says_what_will_happen(name: str) -> None:
    row = ACTIONS[name][1]()
    before = snapshot()
    page = chief().get(action_on(row, name))
    assert len(page.context["consequences"]) >= 2
    assert snapshot() == before


@pytest.mark.parametrize("name", ACTIONS)
def test_what_is_not_possible_is_refused_with_a_sentence(name: str) -> None:
    impossible = ACTIONS[name][2]
    assert impossible is not None
    row = impossible()
    before = snapshot()
    client = chief()
    for response in (client.get(action_on(row, name)), client.post(action_on(row, name), {"seen": "", "reason": "x"})):
        assert response.status_code == 302
        assert response.headers["Location"] == page_of(row)
    assert len(told(response)) == 2  # one for each request
    assert snapshot() == before


def test_an_action_is_not_performed_without_the_token_of_its_page() -> None:
    run = make_run()
    client = chief(enforce_csrf_checks=True)
    assert client.post(action_on(run, "cancel"), {"seen": "", "reason": ""}).status_code == 403
    run.refresh_from_db()
    assert run.state == RunState.PENDING


def test_an_unknown_action_and_an_unknown_row_are_not_found() -> None:
    run, client = make_run(), chief()
    assert client.get(action_on(run, "explode")).status_code == 404
    run.pk = 999_999_999
    assert client.get(action_on(run, "cancel")).status_code == 404
    assert client.put(action_on(run, "cancel")).status_code == 405


# --- bound to what was seen ----------------------------------------------------------------------------------------


def test_a_run_that_moved_on_while_it_was_looked_at_is_shown_again_instead_of_cancelled() -> None:
    run, client = make_run(RunState.SUSPENDED), chief()
    seen = client.get(action_on(run, "cancel")).context["seen"]
    operations.let_go_on(run, now=NOW, actor="somebody else")
    response = client.post(action_on(run, "cancel"), {"seen": seen, "reason": "no use"})
    assert response.status_code == 409
    assert "It changed while you were looking at it." in text_of(response)
    assert 'value="no use"' in response.content.decode()
    run.refresh_from_db()
    assert run.state == RunState.PENDING
    assert client.post(action_on(run, "cancel"), {"seen": response.context["seen"], "reason": ""}).status_code == 302
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_a_checkpoint_made_meanwhile_does_not_matter() -> None:
    run, client = make_run(RunState.RUNNING), chief()
    seen = client.get(action_on(run, "cancel")).context["seen"]
    TaskRun.objects.filter(pk=run.pk).update(progress={"account": 8})
    assert client.post(action_on(run, "cancel"), {"seen": seen, "reason": ""}).status_code == 302
    run.refresh_from_db()
    assert run.cancel_requested_at is not None


def test_what_the_domain_refuses_at_the_last_moment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise operations.NotPossible("Run #1 has just ended.")

    monkeypatch.setattr(operations, "cancel", refuse)
    run = make_run()
    before = snapshot()
    response = confirm(chief(), run, "cancel")
    assert told(response) == ["Run #1 has just ended."]
    assert snapshot() == before


# --- what they do --------------------------------------------------------------------------------------------------


def test_a_run_is_opened_by_hand_for_the_day_that_was_asked_for_and_shown() -> None:
    schedule, client = make_schedule(), chief()
    planned = schedule.next_run_at
    response = confirm(client, schedule, "run-now", stat_date="2026-05-04", reason="figures were wrong")
    run = TaskRun.objects.get(schedule=schedule)
    assert response.headers["Location"] == page_of(run)
    assert (run.stat_date.isoformat(), run.reason, run.progress) == ("2026-05-04", "figures were wrong", {})
    schedule.refresh_from_db()
    assert schedule.next_run_at == planned
    assert run.fire is not None
    assert run.fire.actor == name_of(client)


def test_a_run_is_opened_by_hand_from_the_checkpoint_of_an_earlier_one_for_the_day_of_that() -> None:
    schedule, client = make_schedule(), chief()
    failed = make_run(RunState.FAILED, ended=True, schedule=schedule, progress={"account": 7}, progress_done=7)
    assert f"the checkpoint of #{failed.pk} for {failed.stat_date}, failed 7" in text_of(
        client.get(action_on(schedule, "run-now"))
    )
    confirm(client, schedule, "run-now", begin_from=failed.pk)
    run = TaskRun.objects.get(rerun_of=failed)
    assert (run.stat_date, run.progress, run.progress_done) == (failed.stat_date, {"account": 7}, 7)


def test_a_checkpoint_is_not_taken_for_another_day_nor_from_another_schedule() -> None:
    schedule, client = make_schedule(), chief()
    own = make_run(RunState.FAILED, ended=True, schedule=schedule, progress={"account": 7})
    foreign = make_run(RunState.FAILED, ended=True, schedule=make_schedule(), progress={"account": 8})
    page = confirm(client, schedule, "run-now", begin_from=own.pk, stat_date="2020-02-02")
    assert f"The checkpoint of #{own.pk} is one of {own.stat_date}." in text_of(page)
    assert confirm(client, schedule, "run-now", begin_from=foreign.pk).status_code == 200
    assert TaskRun.objects.count() == 2


def test_a_day_that_is_none_is_asked_for_again() -> None:
    schedule = make_schedule()
    response = confirm(chief(), schedule, "run-now", stat_date="someday")
    assert response.status_code == 200
    assert not TaskRun.objects.exists()


def test_a_pause_wants_a_reason_and_shows_it() -> None:
    schedule, client = make_schedule(), chief()
    assert confirm(client, schedule, "pause").status_code == 200
    schedule.refresh_from_db()
    assert schedule.enabled
    assert confirm(client, schedule, "pause", reason="the ledger moves").status_code == 302
    schedule.refresh_from_db()
    assert not schedule.enabled
    assert f"is paused by {name_of(client)}: the ledger moves." in text_of(client.get(page_of(schedule)))


def test_a_run_is_run_again_from_nothing_or_from_its_progress() -> None:
    run, client = ended_with_progress(), chief()
    confirm(client, run, "again-from-nothing")
    confirm(client, run, "again-from-progress")
    nothing, progress = run.reruns.order_by("pk")
    assert (nothing.progress, progress.progress) == ({}, {"account": 7})
    assert nothing.stat_date == progress.stat_date == run.stat_date
    page = text_of(client.get(page_of(run)))
    assert f"#{nothing.pk} (pending)" in page
    assert f"#{progress.pk} (pending)" in page


def test_a_running_run_is_asked_to_cancel() -> None:
    run, client = make_run(RunState.RUNNING), chief()
    response = confirm(client, run, "cancel", reason="no use")
    assert told(response) == [f"Run #{run.pk} is asked to cancel; it ends at its next checkpoint."]
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert run.cancel_requested_by == name_of(client)
    page = text_of(client.get(page_of(run)))
    assert "cancel asked" in page
    assert f"{name_of(client)} asked to cancel it: no use." in page


def test_a_suspended_run_goes_on_in_the_name_of_who_let_it() -> None:
    run, client = make_run(RunState.SUSPENDED, progress={"account": 7}), chief()
    confirm(client, run, "go-on", reason="the host is back")
    assert events_of(run)[-1] == ("suspended", "pending", "manual")
    event = run.events.order_by("-id")[0]
    assert (event.actor, event.reason) == (name_of(client), "the host is back")


def test_the_audit_log_has_who_what_and_why() -> None:
    run, client = make_run(), chief()
    confirm(client, run, "cancel", reason="no use")
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id, entry.get_change_message()) == (
        name_of(client),
        str(run.pk),
        "Cancel run: no use",
    )


# --- several at once ------------------------------------------------------------------------------------------------


def select(client: Client, name: str, rows: list[TaskRun]) -> Any:
    """Choose rows of the list and an action."""
    data = {"action": name, "index": "0", "_selected_action": [str(row.pk) for row in rows]}
    return client.post(list_of("taskrun", "?show=unfinished"), data)


def post_of(page: Any, **values: str) -> dict[str, Any]:
    """Return what the confirmation of several rows posts."""
    lines = page.context["lines"]
    seen = {f"seen-{line['row'].pk}": line["seen"] for line in lines}
    return {"row": [line["row"].pk for line in lines], "back": page.context["back"], "reason": "", **seen, **values}


def test_several_runs_are_cancelled_at_once_and_those_that_cannot_be_are_named() -> None:
    waiting, suspended, moving = make_run(), make_run(RunState.SUSPENDED), make_run(RunState.SUSPENDED)
    client = chief()
    page = select(client, "cancel", [waiting, suspended, moving])
    assert page.status_code == 200
    assert not TaskRun.objects.filter(state=RunState.CANCELLED).exists()
    operations.let_go_on(moving, now=NOW, actor="somebody else")
    response = client.post(page.context["post_to"], post_of(page, reason="tidying up"))
    assert response.headers["Location"] == list_of("taskrun", "?show=unfinished")
    assert told(response) == [
        "Cancel run: done for 2.",
        f"Cancel run: skipped 1. #{moving.pk}: It changed while you were looking at it.",
    ]
    assert set(TaskRun.objects.filter(state=RunState.CANCELLED)) == {waiting, suspended}
    assert LogEntry.objects.count() == 2


def test_only_possible_and_allowed_actions_are_offered_for_several() -> None:
    make_run()
    offered = person("scheduler.cancel_taskrun").get(list_of("taskrun")).context["action_form"].fields["action"].choices
    assert [name for name, _ in offered] == ["", "cancel"]
    assert person().get(list_of("taskrun")).context["action_form"] is None


def test_several_are_refused_to_who_may_not() -> None:
    run = make_run()
    page = select(chief(), "cancel", [run])
    response = person("scheduler.retry_taskrun").post(page.context["post_to"], post_of(page))
    assert response.status_code == 403
    run.refresh_from_db()
    assert run.state == RunState.PENDING


def test_nonsense_posted_for_several_does_nothing() -> None:
    run, client = make_run(), chief()
    page = select(client, "cancel", [run])
    response = client.post(
        page.context["post_to"], {"row": ["x", "", "99999999"], "reason": "", "back": "//evil.example"}
    )
    assert response.headers["Location"] == list_of("taskrun")
    assert told(response) == ["Cancel run: skipped 1. #99999999: It does not exist any more."]


def test_too_many_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("project.kit.admin.bulk_actions.ROWS_AT_ONCE", 2)
    response = select(chief(), "cancel", [make_run() for _ in range(3)])
    assert told(response) == ["At most 2 at once. Narrow the list and select fewer."]


def test_a_schedule_is_run_neither_by_the_dozen_nor_deleted_so() -> None:
    make_schedule()
    offered = chief().get(list_of("schedule")).context["action_form"].fields["action"].choices
    assert [name for name, _ in offered] == ["", "enable", "pause"]


def test_a_confirmation_says_the_instant_at_which_it_would_have_run() -> None:
    run = make_run(RunState.FAILED, due_at=NOW + 9000 * DAY)
    assert "It would be due in " in text_of(chief().get(action_on(run, "retry")))
