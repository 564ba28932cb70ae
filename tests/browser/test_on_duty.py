"""What a person on duty does at the control panel, in a real browser, before real processes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from project.kit.clock import database_now
from quotas import defining
from quotas.states import Kind
from scheduler.models import TaskRun
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, simulated_carrier
from scheduler.polling.models import CardCheck, CarrierAccount
from scheduler.states import RunState
from tests.browser.person import Person
from tests.browser.site import PASSWORD, Site, make_chief
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleets import make_cards_at

JOBS = "tests.demo_jobs,tests.flow.spending_jobs,tests.browser.duty_jobs"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def site(site: Site) -> Site:
    site.environ |= {"TIDELINE_JOBS": JOBS}
    return site


@pytest.fixture
def ann(visit: Callable[..., Person]) -> Person:
    return visit(viewport={"width": 1440, "height": 900}).is_logged_in(make_chief())


def test_what_failed_at_night_is_found_from_home_understood_and_run_again_from_where_it_was(
    site: Site, ann: Person, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.touch()
    site.scanners()
    site.runner()
    run = site.open("test.books", name="Nightly settlement", away=str(away))
    site.wait_for(RunState.FAILED, run)

    ann.goes_to("/admin/").photographs("home")
    ann.follows(re.compile("failed in 24 h")).photographs("list")
    ann.follows(f"#{run.pk}").reads("the bank cut the connection").photographs("failed run")
    away.unlink()
    ann.follows("Run again from progress").fills(Reason="The bank is back").photographs("confirmation")
    ann.presses("Run again from progress").sees_state("done").photographs("done run")

    again = TaskRun.objects.get(rerun_of=run)
    assert (site.items(run), site.items(again)) == ([1], [2, 3])


def test_a_quota_that_ran_out_is_topped_up_and_what_waited_goes_on(site: Site, ann: Person) -> None:
    defining.create(key="sms-credits", kind=Kind.CAPACITY, limit=4, unit="messages", now=database_now())
    site.scanners()
    site.runner()
    run = site.open("test.spends", name="Reminders", of="sms-credits", items=10)
    site.wait_for(RunState.PAUSED, run)

    ann.goes_to("/admin/").follows("sms-credits").reads("Reminders").photographs("used up quota")
    ann.follows("Top up").fills(Amount="6", Reason="Invoice 8").photographs("confirmation").presses("Top up")
    ann.reads("Nothing waits for it.").photographs("topped up quota")
    ann.goes_to(f"/admin/scheduler/taskrun/{run.pk}/change/").sees_state("done").photographs("run")

    assert site.items(run) == list(range(1, 11))


def test_a_carrier_that_throttles_is_seen_slowed_down_and_seen_to_recover(site: Site, ann: Person) -> None:
    with simulated_carrier(AccountPlan("northern")) as carrier:
        site.environ |= {"TIDELINE_ALLOWED_HOSTS_INWARD": carrier.place}
        make_tier(usage_seconds=2, card_status_seconds=2)
        account = make_cards_at(carrier, "northern", cards=4)
        carrier.order(Fault(kind=FaultKind.THROTTLE, account="northern", retry_after=120))
        site.start("worker", "beat", "poller")
        throttled = CarrierAccount.objects.filter(held_class="throttled")
        site.wait_until(throttled.exists, 60, "the carrier to throttle")

        ann.goes_to("/admin/").follows(account.name).sees_state("held").photographs("throttled account")
        ann.follows(re.compile("^edit$")).fills(Rate_windows='[{"limit": 2, "seconds": 1}]').presses("Save")
        ann.is_told("changed")
        carrier.clear_faults()
        ann.follows("Release").fills(Reason="Slowed down; they say that it is enough")
        ann.presses("Release").sees_state("polled")
        answered = CardCheck.objects.filter(card__account=account, succeeded_at__isnull=False)
        site.wait_until(lambda: answered.count() == 8, what="all cards to be answered")
        ann.photographs("recovered account")

        account.params.refresh_from_db()
        assert account.params.rate_windows == [{"limit": 2, "seconds": 1}]


def test_a_deploy_amid_a_run_loses_neither_the_work_nor_the_page_nor_the_session(site: Site, ann: Person) -> None:
    site.scanners()
    runner = site.runner()
    run = site.open(items=20, seconds=0.2)
    site.wait_for_item(run, 3)
    ann.goes_to(f"/admin/scheduler/taskrun/{run.pk}/change/").sees_state("running")

    with ann.expecting_an_outage():
        for process in (site.web, runner):
            process.terminate()
            process.wait()
        site.open_for_visitors()
        site.runner()
        ann.sees_state("done", seconds=60)
    ann.photographs("done run")

    assert [site.items(run).count(item) for item in range(1, 21)] == [1] * 20
    ann.goes_to("/admin/").reads("Failed lately")


def test_who_is_asked_approves_or_rejects_with_a_word(site: Site, ann: Person) -> None:
    site.scanners()
    site.runner()
    wanted, refused = (site.open("test.asks", name="Invoices", items=number) for number in (214, 3))
    site.wait_for(RunState.AWAITING_APPROVAL, wanted, refused)

    ann.goes_to("/admin/").follows(re.compile("waiting for approval")).photographs("questions")
    ann.follows(f"#{wanted.pk}").reads("Send 214 invoices?").photographs("question")
    ann.fills(Why="Checked").presses("Approve").sees_state("done")
    ann.goes_to(f"/admin/scheduler/taskrun/{refused.pk}/change/").fills(Why="Too few")
    ann.presses("Reject").sees_state("cancelled").reads("Too few").photographs("rejected run")

    assert (site.items(wanted), site.items(refused)) == ([214], [])


def test_who_logs_in_with_a_wrong_password_is_told_so_and_with_the_right_one_comes_to_the_page_that_was_wanted(
    visit: Callable[..., Person],
) -> None:
    make_chief("ann")
    ann = visit().goes_to("/admin/quotas/quota/")

    ann.fills(Username="ann", Password="not-it").presses("Log in").reads(re.compile("correct username and password"))
    ann.photographs("wrong password")
    ann.fills(Username="ann", Password=PASSWORD).presses("Log in").reads("Quotas")

    assert ann.page.url.endswith("/admin/quotas/quota/")
    ann.presses("Log out").reads("Log in again")
    assert ann.goes_to("/admin/").page.url.endswith("/admin/login/?next=/admin/")
