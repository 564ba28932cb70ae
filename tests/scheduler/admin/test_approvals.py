"""A run's question stands at the top of its page, is answered there by who may, and stays in the history."""

import pytest
from django.contrib.admin.models import LogEntry

from scheduler import operations
from scheduler.models import Approval, TaskRun
from scheduler.states import RunState
from tests.panel import chief, listed, name_of, text_of, told
from tests.scheduler.admin.desk import action_on, confirm, list_of, page_of, person
from tests.scheduler.factories import NOW, make_question, make_run

pytestmark = pytest.mark.django_db

APPROVED, REJECTED = Approval.Answer.APPROVED, Approval.Answer.REJECTED


def test_the_open_question_stands_above_the_facts_with_its_answers() -> None:
    run = make_question(question="Send 214 invoices\nof <May>?")
    page = person("scheduler.answer_approval").get(page_of(run))
    text, html = text_of(page), page.content.decode()
    assert "It asks Send 214 invoices of <May>?" in text
    assert "<May>" not in html
    assert text.index("It asks") < text.index("Data day")
    assert action_on(run, "approve") in html
    assert action_on(run, "reject") in html


def test_who_may_not_answer_sees_the_question_without_buttons() -> None:
    run = make_question()
    page = person("scheduler.resume_taskrun", "scheduler.cancel_taskrun").get(page_of(run))
    assert "It asks Send 214 invoices?" in text_of(page)
    assert action_on(run, "approve") not in page.content.decode()


def test_the_confirmation_repeats_the_question() -> None:
    run = make_question()
    for name in ("approve", "reject"):
        assert "“Send 214 invoices?”" in text_of(chief().get(action_on(run, name)))


def test_an_approval_is_kept_with_who_and_why_and_logged() -> None:
    run, client = make_question(), chief()
    response = confirm(client, run, "approve", reason="the sums are right")
    assert told(response) == [f"Run #{run.pk} is approved and goes on."]
    given = Approval.objects.get(run=run)
    assert (given.answer, given.answered_by, given.why) == (APPROVED, name_of(client), "the sums are right")
    assert TaskRun.objects.get(pk=run.pk).state == RunState.PENDING
    assert LogEntry.objects.get().get_change_message() == "Approve: the sums are right"
    assert f"Send 214 invoices? approved {name_of(client)}" in text_of(client.get(page_of(run)))


def test_a_rejection_wants_a_reason_and_cancels_the_run() -> None:
    run, client = make_question(), chief()
    assert confirm(client, run, "reject").status_code == 200
    assert Approval.objects.get(run=run).answer == ""
    assert told(confirm(client, run, "reject", reason="wrong month")) == [f"Run #{run.pk} is rejected and cancelled."]
    assert Approval.objects.get(run=run).answer == REJECTED
    assert TaskRun.objects.get(pk=run.pk).state == RunState.CANCELLED


def test_an_answer_to_a_question_that_was_answered_meanwhile_is_refused() -> None:
    run, client = make_question(), chief()
    seen = client.get(action_on(run, "approve")).context["seen"]
    operations.answer(run, approve=False, now=NOW, actor="somebody else")
    response = client.post(action_on(run, "approve"), {"seen": seen, "reason": ""})
    assert told(response) == [f"Run #{run.pk} is cancelled; it asks nothing."]
    assert Approval.objects.get(run=run).answered_by == "somebody else"


def test_an_answer_to_an_earlier_question_does_not_count_for_the_next() -> None:
    run, client = make_question(), chief()
    seen = client.get(action_on(run, "approve")).context["seen"]
    Approval.objects.filter(run=run).update(answer=APPROVED, answered_at=NOW, answered_by="somebody else")
    Approval.objects.create(run=run, segment=2, question="Book them?", asked_at=NOW)
    TaskRun.objects.filter(pk=run.pk).update(attempt_count=2)
    response = client.post(action_on(run, "approve"), {"seen": seen, "reason": ""})
    assert response.status_code == 409
    assert "“Book them?”" in text_of(response)


def test_questions_are_not_answered_by_the_dozen() -> None:
    make_question()
    offered = chief().get(list_of("taskrun")).context["action_form"].fields["action"].choices
    assert {"approve", "reject"}.isdisjoint(name for name, _ in offered)
    assert "give-up" in [name for name, _ in offered]


def test_the_list_of_approvals_shows_what_waits_what_was_answered_and_what_never_was() -> None:
    client = chief()
    waiting, answered, cancelled = make_question(), make_question(), make_question()
    operations.answer(answered, approve=True, now=NOW, actor="ann", why="fine")
    operations.cancel(cancelled, now=NOW, actor="bob")
    shown = {
        name: listed(client.get(list_of("approval", f"?show={name}"))) for name in ("open", "answered", "left-open")
    }
    ids = {run.pk: run.approvals.get().pk for run in (waiting, answered, cancelled)}
    assert shown == {"open": [ids[waiting.pk]], "answered": [ids[answered.pk]], "left-open": [ids[cancelled.pk]]}
    text = text_of(client.get(list_of("approval")))
    assert all(said in text for said in ("waits", "approved", "never answered", "fine", "Send 214 invoices?"))
    assert listed(client.get(list_of("approval", f"?q={answered.pk}"))) == [ids[answered.pk]]


def test_a_suspended_run_is_given_up_with_a_reason_beside_letting_it_go_on() -> None:
    run, client = make_run(RunState.SUSPENDED), chief()
    html = client.get(page_of(run)).content.decode()
    assert action_on(run, "go-on") in html
    assert action_on(run, "give-up") in html
    assert confirm(client, run, "give-up").status_code == 200
    assert told(confirm(client, run, "give-up", reason="the host is gone")) == [f"Run #{run.pk} is given up."]
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.FAILED, "the host is gone")


def test_the_page_of_a_sealed_run_shows_its_seal() -> None:
    run = make_run(RunState.DONE)
    TaskRun.objects.filter(pk=run.pk).update(seal="ab12" * 16)
    html = chief().get(page_of(run)).content.decode()
    assert "ab12" * 3 + "…" in html
    assert "ab12" * 16 in html
