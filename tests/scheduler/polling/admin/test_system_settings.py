"""Every setting is shown, set or not; it changes with a reason if it is what was seen, and goes back to its default."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.polling import system_settings
from scheduler.polling.cutover import switching
from scheduler.polling.models import Cutover, SystemSetting
from scheduler.polling.system_settings import Mode
from tests.panel import asked_by, chief, name_of, text_of, told
from tests.scheduler.polling.admin.desk import confirm, list_of, page_of, viewer

pytestmark = pytest.mark.django_db

TIMEOUT = SystemSetting(key="polling.steps.timeout")


def set_timeout(seconds: int) -> SystemSetting:
    """Set the timeout past the panel, as somebody else."""
    return system_settings.change(TIMEOUT.key, seconds, actor="ann", now=database_now())


def test_every_setting_is_shown_with_its_meaning_its_value_and_its_default() -> None:
    set_timeout(30)
    text = text_of(viewer().get(list_of("systemsetting")))
    assert all(key in text for key in system_settings.FIELDS)
    assert "polling.steps.timeout Seconds that one check of a card may take. 30 set by ann, now 20" in text
    assert "polling.scheduler.mode" in text


def test_the_list_asks_one_question_of_the_settings() -> None:
    client = chief()
    with CaptureQueriesContext(connection) as captured:
        client.get(list_of("systemsetting"))
    assert len([query for query in captured if "polling_systemsetting" in query["sql"]]) == 1


@pytest.mark.parametrize("key", system_settings.FIELDS)
def test_every_setting_has_a_page_with_its_json_schema(key: str) -> None:
    response = viewer().get(page_of(SystemSetting(key=key)))
    assert response.status_code == 200
    assert "default" in text_of(response)
    assert '"description"' in text_of(response)


def test_there_is_no_page_of_what_is_no_setting() -> None:
    assert chief().get(page_of(SystemSetting(key="polling.no.such"))).status_code == 302
    assert chief().get(page_of(SystemSetting(key="polling.no.such"), "action", "change")).status_code == 404


def test_a_setting_is_changed_with_a_reason_and_says_who_did() -> None:
    client = chief()
    response = confirm(client, TIMEOUT, "change", value="30", reason="Slow carriers.")
    assert told(response) == ["The setting polling.steps.timeout is 30."]
    row = SystemSetting.objects.get()
    assert (row.value, row.changed_by, row.version) == (30, name_of(client), 1)
    assert LogEntry.objects.get().change_message == "Change: Slow carriers."
    assert "30 set" in text_of(client.get(page_of(TIMEOUT)))


def test_who_decides_is_not_typed_but_begun_as_a_cut_over_with_a_reason() -> None:
    client, mode = chief(), SystemSetting(key=system_settings.MODE_KEY, value="carrier")
    page = client.get(page_of(mode)).content.decode()
    assert page_of(mode, "action", "cut-over") in page
    assert page_of(mode, "action", "change") not in page
    assert "legacy" in text_of(client.get(page_of(mode, "action", "cut-over")))
    (sentence,) = told(confirm(client, mode, "cut-over", reason="Back."))
    row = Cutover.objects.get()
    assert "→ legacy</a>" in sentence
    assert (row.wanted, row.phase, row.actor) == ("legacy", "stopping", name_of(client))
    assert told(client.get(page_of(mode, "action", "cut-over"), follow=True))[-1] == "A cut-over is under way."


def test_no_cut_over_is_begun_without_the_permission_for_it_or_on_the_page_of_another_setting() -> None:
    mode = SystemSetting(key=system_settings.MODE_KEY)
    assert viewer().get(page_of(mode, "action", "cut-over")).status_code == 403
    other = chief().get(page_of(TIMEOUT, "action", "cut-over"), follow=True)
    assert told(other) == ["It is changed without a cut-over."]
    assert not Cutover.objects.exists()


def test_a_cut_over_shows_its_phases_what_it_counted_and_what_it_waits_for() -> None:
    row = switching.start(Mode.LEGACY, actor="ann", now=database_now())
    Cutover.objects.update(phase="draining", note="3 cards are worked on.", progress={"at_work": 3})
    page = viewer().get(page_of(row))
    assert b"data-refresh" in page.content
    text = text_of(page)
    assert "work in progress ends 3 cards are worked on." in text
    assert "Claiming stops done Work in progress ends now The other side is built" in text
    assert "3 cards are worked on." in text_of(viewer().get(list_of("cutover")))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("0", "greater than or equal to 1"),
        ('"x"', "valid integer"),
        ("[1", "valid integer"),
        ("[" * 3000, "valid integer"),
        ("", "required"),
    ],
)
def test_a_bad_value_is_refused_on_its_field_and_what_held_stays(value: str, says: str) -> None:
    set_timeout(30)
    response = confirm(chief(), TIMEOUT, "change", value=value, reason="A try.")
    assert says in " ".join(response.context["form"].errors["value"])  # type: ignore[attr-defined]
    assert SystemSetting.objects.get().value == 30


def test_a_change_needs_a_reason() -> None:
    assert "This field is required." in text_of(confirm(chief(), TIMEOUT, "change", value="30"))
    assert not SystemSetting.objects.exists()


@pytest.mark.parametrize("before", [None, 25])
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(before: int | None) -> None:
    client = chief()
    if before is not None:
        set_timeout(before)
    page = client.get(page_of(TIMEOUT, "action", "change"))
    set_timeout(40)
    address = page_of(TIMEOUT, "action", "change")
    response = client.post(address, asked_by(page, value="30", reason="Slow carriers."))
    assert response.status_code == 409
    assert "It is 40 now" in text_of(response)
    assert SystemSetting.objects.get().value == 40


def test_a_setting_goes_back_to_its_default() -> None:
    set_timeout(30)
    client = chief()
    assert told(confirm(client, TIMEOUT, "default", reason="They are quick again."))[0].startswith("The default of")
    assert not SystemSetting.objects.exists()
    assert told(client.get(page_of(TIMEOUT, "action", "default")))[-1] == "Its default holds already."


def test_only_who_may_change_settings_is_offered_to() -> None:
    address = page_of(TIMEOUT, "action", "change")
    assert address not in viewer().get(page_of(TIMEOUT)).content.decode()
    assert viewer().post(address, {"value": "30", "reason": "x", "seen": "0"}).status_code == 403
    client = viewer("change_systemsetting")
    assert address in client.get(page_of(TIMEOUT)).content.decode()
    confirm(client, TIMEOUT, "change", value="30", reason="Slow carriers.")
    assert SystemSetting.objects.get().value == 30
