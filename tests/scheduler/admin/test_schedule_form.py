"""The form of a schedule: what is wrong stands on its field, nothing typed is lost, nobody overwrites unawares."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from pydantic import BaseModel, SecretStr

from project.kit.clock import database_now
from scheduler import schedules
from scheduler.models import Schedule
from tests.panel import chief, errors_of, name_of, posted_by, text_of, told
from tests.scheduler.admin.desk import list_of, page_of, person
from tests.scheduler.factories import DAY, NOW, make_run, make_schedule, registered, utc

pytestmark = pytest.mark.django_db

ADD = list_of("schedule") + "add/"
EMPTY = {
    "name": "daily figures",
    "job": "test.noop",
    "params": "",
    "description": "",
    "trigger": "cron",
    "cron": "30 2 * * *",
    "interval_seconds": "",
    "anchor_at": "",
    "once_at": "",
    "timezone": "Europe/Berlin",
    "stat_date_offset": "0",
    "starts_at": "",
    "ends_at": "",
    "calendar": "",
    "on_excluded": "skip",
    "jitter_seconds": "0",
    "quiet_from": "",
    "quiet_until": "",
    "misfire_grace_seconds": "3600",
    "overlap": "",
    "on_interrupt": "resume",
    "retry_delays": "",
    "timeout_seconds": "",
    "priority": "0",
}
LOCK = ("expected_version", "opened_with")


class Greeting(BaseModel):
    """What a greeting takes."""

    whom: str
    times: int = 1
    password: SecretStr | None = None


def greet(run: object) -> None:
    """Greet."""


def opened(client: Client, schedule: Schedule) -> dict[str, str]:
    """Open the form of a schedule, and return what the browser would post back unchanged."""
    return posted_by(client.get(page_of(schedule)), "schedule_form")


def added(client: Client, **values: str) -> Schedule:
    """Fill in the form, save it, and return the schedule."""
    response = client.post(ADD, EMPTY | values)
    assert response.status_code == 302, errors_of(response)
    return Schedule.objects.get(name=values.get("name", EMPTY["name"]))


# --- adding ---------------------------------------------------------------------------------------------------------


def test_a_schedule_is_added_with_its_next_run_and_its_page_is_shown() -> None:
    client = chief()
    response = client.post(ADD, EMPTY | {"retry_delays": "60, 300"})
    schedule = Schedule.objects.get()
    assert response.headers["Location"] == page_of(schedule)
    assert (schedule.retry_delays, schedule.overlap, schedule.version) == ([60, 300], "queue", 1)
    assert schedule.next_run_at == schedule.as_trigger().next_after(schedule.created_at)
    assert LogEntry.objects.get().user.username == name_of(client)


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("cron", {"cron": "30 25 * * *"}, "hour field “25” is not between 0 and 23"),
        ("cron", {"cron": ""}, "is empty"),
        ("timezone", {"timezone": "Berlin"}, "Did you mean Europe/Berlin?"),
        ("interval_seconds", {"trigger": "interval"}, "The interval is empty"),
        ("once_at", {"trigger": "once"}, "is missing"),
        ("once_at", {"trigger": "once", "once_at": "2001-01-01T00:00"}, "This lies in the past"),
        ("params", {"params": "{"}, "Enter a valid JSON."),
        ("params", {"params": "[1]"}, "Write the parameters as a JSON object"),
        ("job", {"job": "nobody.knows"}, "is not one of the available choices"),
        ("retry_delays", {"retry_delays": "60,soon"}, "Enter a whole number."),
        ("timeout_seconds", {"timeout_seconds": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_is_wrong_stands_on_its_field_alone(field: str, values: dict[str, str], says: str) -> None:
    errors = errors_of(chief().post(ADD, EMPTY | values))
    assert list(errors) == [field]
    assert says in " ".join(errors[field])
    assert not Schedule.objects.exists()


def test_a_name_that_is_taken_is_refused() -> None:
    make_schedule(name=EMPTY["name"])
    assert list(errors_of(chief().post(ADD, EMPTY))) == ["name"]


def test_parameters_are_checked_against_the_jobs_schema_which_is_shown() -> None:
    with registered(greet, params=Greeting, title="Greeting") as job:
        response = chief().post(ADD, EMPTY | {"job": job, "params": '{"times": "often"}'})
        errors = errors_of(response)
        text = text_of(response)
    assert list(errors) == ["params"]
    assert "Parameter “whom”: Field required." in errors["params"][0]
    assert "Greeting whom required string times integer = 1 password secret" in text


# --- instants by the schedule's own clocks --------------------------------------------------------------------------


def test_an_instant_is_written_and_shown_by_the_clocks_of_the_schedules_zone() -> None:
    client = chief()
    client.cookies["tideline_zone"] = "America/New_York"
    schedule = added(client, trigger="once", once_at="2199-07-01T08:30", timezone="Asia/Shanghai")
    assert schedule.once_at == utc("2199-07-01 00:30")
    form = client.get(page_of(schedule)).context["adminform"].form
    assert 'value="2199-07-01T08:30"' in str(form["once_at"])


def test_an_end_that_is_typed_by_clocks_east_of_utc_is_not_past_at_once() -> None:
    zone = "Asia/Shanghai"
    soon = (database_now() + timedelta(minutes=10)).astimezone(ZoneInfo(zone)).replace(second=0, microsecond=0)
    typed = f"{soon:%Y-%m-%dT%H:%M}"
    schedule = added(chief(), cron="* * * * *", timezone=zone, ends_at=typed)
    assert (schedule.ends_at, schedule.next_run_at is None) == (soon, False)


def test_a_time_that_the_clocks_leave_out_becomes_the_instant_after_the_gap() -> None:
    schedule = added(chief(), trigger="interval", interval_seconds="600", anchor_at="2026-03-29T02:30")
    assert schedule.anchor_at == utc("2026-03-29 01:00")


def test_a_saved_form_without_a_change_keeps_even_what_it_does_not_show() -> None:
    anchor = NOW + timedelta(microseconds=123_456)
    schedule, client = make_schedule(interval_seconds=90, anchor_at=anchor), chief()
    response = client.post(page_of(schedule), opened(client, schedule))
    assert response.status_code == 302, errors_of(response)
    after = Schedule.objects.get()
    assert (after.anchor_at, after.version) == (anchor, 1)


# --- changing -------------------------------------------------------------------------------------------------------


def test_a_change_goes_through_the_domain() -> None:
    schedule, client = make_schedule(), chief()
    response = client.post(page_of(schedule), opened(client, schedule) | {"cron": "45 3 * * *"})
    assert response.headers["Location"] == page_of(schedule)
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.version) == ("45 3 * * *", 2)
    assert schedule.next_run_at is not None
    assert (schedule.next_run_at.hour, schedule.next_run_at.minute) == (3, 45)


def test_a_refused_change_changes_nothing_and_the_page_shows_what_is_stored() -> None:
    schedule, client = make_schedule(name="as it was"), chief()
    response = client.post(page_of(schedule), opened(client, schedule) | {"name": "typed", "cron": "x"})
    assert list(errors_of(response)) == ["cron"]
    assert 'value="typed"' in response.content.decode()
    assert "<h1>as it was</h1>" in response.content.decode()
    schedule.refresh_from_db()
    assert (schedule.name, schedule.version) == ("as it was", 1)


def test_a_stale_form_is_refused_with_both_versions_and_nothing_typed_is_lost() -> None:
    schedule, client = make_schedule(priority=1, retry_delays=[60]), chief()
    mine = opened(client, schedule) | {"retry_delays": "1,2,3", "cron": "5 5 * * *"}
    theirs = Schedule.objects.get()
    theirs.priority, theirs.retry_delays = 9, [30, 300]
    schedules.save_changes(theirs, expected_version=1, now=database_now())

    response = client.post(page_of(schedule), mine)
    form = response.context["adminform"].form
    assert list(form.errors) == ["__all__"]
    assert {difference.label: (difference.typed, difference.saved) for difference in form.differences} == {
        "Cron expression": ("5 5 * * *", "0 2 * * *"),
        "Retry delays in seconds": ("1,2,3", "30,300"),
        "Priority": ("1", "9"),
    }
    assert [difference.changed_by for difference in form.differences] == [
        "you",
        "you and them",
        "them; the form shows it now",
    ]
    shown = {name: form[name].value() for name in ("cron", "retry_delays", "priority", "expected_version")}
    assert shown == {"cron": "5 5 * * *", "retry_delays": "1,2,3", "priority": "9", "expected_version": "2"}
    schedule.refresh_from_db()
    assert (schedule.version, schedule.retry_delays) == (2, [30, 300])


def test_saving_again_after_looking_at_both_versions_keeps_what_the_form_showed() -> None:
    schedule, client = make_schedule(priority=1), chief()
    mine = opened(client, schedule) | {"cron": "5 5 * * *"}
    schedules.pause(schedule, now=database_now(), reason="meanwhile")
    refused = client.post(page_of(schedule), mine).context["adminform"].form
    again = mine | {name: refused[name].value() for name in LOCK}
    assert client.post(page_of(schedule), again).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.version, schedule.enabled) == ("5 5 * * *", 3, False)


def test_a_form_without_its_version_is_stale() -> None:
    schedule, client = make_schedule(), chief()
    values = {name: value for name, value in opened(client, schedule).items() if name not in LOCK}
    assert list(errors_of(client.post(page_of(schedule), values))) == ["__all__"]


# --- secrets --------------------------------------------------------------------------------------------------------


def test_a_secret_is_shown_as_dots_and_kept_while_they_are_left_standing() -> None:
    with registered(greet, params=Greeting) as job:
        schedule, client = make_schedule(job=job, params={"whom": "you", "password": "open sesame"}), chief()
        page = client.get(page_of(schedule)).content.decode()
        values = opened(client, schedule)
        assert "open sesame" not in page + str(values)
        kept = values | {"params": values["params"].replace("you", "them")}
        assert client.post(page_of(schedule), kept).status_code == 302
        schedule.refresh_from_db()
        assert schedule.params == {"whom": "them", "password": "open sesame"}
        run = make_run(schedule=schedule, params=schedule.params)
        assert "open sesame" not in client.get(page_of(run)).content.decode()


# --- who may --------------------------------------------------------------------------------------------------------

EDITOR = ("scheduler.add_schedule", "scheduler.change_schedule")


def test_shell_commands_want_a_permission_of_their_own() -> None:
    values = EMPTY | {"job": "command", "params": '{"command": "true"}'}
    editor, trusted = person(*EDITOR), person(*EDITOR, "scheduler.use_command_job")
    assert list(errors_of(editor.post(ADD, values))) == ["job"]
    assert 'value="command"' not in editor.get(ADD).content.decode()
    assert trusted.post(ADD, values).status_code == 302
    schedule = Schedule.objects.get()
    assert editor.post(page_of(schedule), opened(trusted, schedule)).status_code == 403
    assert 'name="_save"' not in editor.get(page_of(schedule)).content.decode()
    other = make_schedule()
    takeover = opened(editor, other) | {"job": "command", "params": '{"command": "true"}'}
    assert list(errors_of(editor.post(page_of(other), takeover))) == ["job"]


def test_who_may_only_look_changes_nothing() -> None:
    schedule, client = make_schedule(), person()
    assert client.post(page_of(schedule), opened(chief(), schedule)).status_code == 403
    assert client.post(ADD, EMPTY).status_code == 403


def test_a_schedule_with_a_history_is_paused_not_deleted() -> None:
    busy, fresh, client = make_schedule(name="busy"), make_schedule(), chief()
    make_run(schedule=busy)
    response = client.post(f"{list_of('schedule')}{busy.pk}/delete/", {"post": "yes"})
    assert told(response) == ["“busy” has a history, which is kept. Pause it instead."]
    assert response.headers["Location"] == page_of(busy)
    assert client.post(f"{list_of('schedule')}{fresh.pk}/delete/", {"post": "yes"}).status_code == 302
    assert list(Schedule.objects.all()) == [busy]


# --- what comes -----------------------------------------------------------------------------------------------------


def preview(client: Client, **values: str) -> str:
    """Return the text of the preview of a typed trigger."""
    fields = ("trigger", "cron", "timezone", "interval_seconds", "anchor_at", "once_at")
    return text_of(client.get(list_of("schedule") + "preview/", {name: EMPTY[name] for name in fields} | values))


def test_the_next_times_are_shown_by_both_clocks_while_they_are_typed() -> None:
    client = chief()
    client.cookies["tideline_zone"] = "Asia/Tokyo"
    text = preview(client, trigger="once", once_at="2199-07-01T08:30", timezone="Asia/Shanghai")
    assert "Mon 2199-07-01 08:30" in text
    assert "Mon 2199-07-01 09:30" in text
    assert not Schedule.objects.exists()


def test_a_preview_says_what_is_wrong_and_what_surprises() -> None:
    client = chief()
    assert "is not between 0 and 23" in preview(client, cron="30 25 * * *")
    assert "a day that matches one of them is enough" in preview(client, cron="0 8 1 * MON")
    assert "Every 1 min 30 s" in preview(client, trigger="interval", interval_seconds="90")


def test_a_preview_says_where_daylight_saving_moves_a_time() -> None:
    assert "02:30 does not exist on 2027-03-28" in preview(chief(), cron="30 2 28 3 *")


def test_a_preview_is_not_for_who_may_only_look() -> None:
    assert person().get(list_of("schedule") + "preview/").status_code == 403


def test_the_page_of_a_schedule_that_cannot_be_read_says_so() -> None:
    schedule = make_schedule(due=NOW, timezone="Mars/Olympus")
    Schedule.objects.update(next_run_at=None, broken_reason="The zone is gone.")
    for address in (page_of(schedule), list_of("schedule")):
        assert "broken" in text_of(chief().get(address))
    text = text_of(chief().get(page_of(schedule)))
    assert "The zone is gone." in text
    assert "The time zone “Mars/Olympus” is not known." in text


def test_a_paused_schedule_still_shows_its_times() -> None:
    schedule = make_schedule(enabled=False, pause_reason="the ledger moves", now=database_now() - DAY)
    text = text_of(chief().get(page_of(schedule)))
    assert "is paused: the ledger moves." in text
    assert "At 02:00 every day" in text
