"""The form of a quota: what is wrong stands on its field, nobody overwrites unawares, secrets stay where they are."""

import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from project.kit.clock import database_now
from quotas import charging, defining
from quotas.models import Quota
from tests.panel import chief, errors_of, name_of, posted_by, text_of
from tests.quotas.admin.desk import charge, list_of, make_daily, make_quota, make_rate, page_of, viewer

pytestmark = pytest.mark.django_db

ADD = list_of("quota") + "add/"
DOTS = '{"Authorization": "••••••"}'
PROBED: dict[str, Any] = {
    "probe_url": "https://api.example.com/usage",
    "probe_headers": {"Authorization": "Bearer very-secret"},
    "probe_remaining": "data.left",
}


def empty(client: Client) -> dict[str, str]:
    """Return what a browser would post from the untouched form, but for the key."""
    return posted_by(client.get(ADD), "quota_form") | {"key": "mail", "limit": "1000"}


def opened(client: Client, quota: Quota) -> dict[str, str]:
    """Open the form of a quota, and return what the browser would post back unchanged."""
    return posted_by(client.get(page_of(quota, "edit")), "quota_form")


# --- adding --------------------------------------------------------------------------------------------------------


def test_a_quota_is_added_with_its_limit_in_the_ledger_and_its_page_is_shown() -> None:
    client = chief()
    values = {"kind": "periodic", "reset_preset": "week", "reset_time": "06:30", "reset_weekday": "4"}
    response = client.post(ADD, empty(client) | values | {"timezone": "Europe/Berlin"})
    quota = Quota.objects.get()
    assert response.headers["Location"] == page_of(quota)
    assert (quota.reset_weekday, f"{quota.reset_time:%H:%M}", quota.version) == (4, "06:30", 1)
    entry = quota.entries.get()
    assert (entry.kind, entry.amount, entry.actor) == ("limit", 1000, name_of(client))
    assert LogEntry.objects.get().user.username == name_of(client)


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("key", {"key": ""}, "This field is required."),
        ("limit", {"limit": "-1"}, "greater than or equal to 0"),
        ("limit", {"kind": "rate", "limit": "", "refill_amount": "1", "refill_seconds": "1"}, "A rate needs a limit"),
        ("refill_seconds", {"kind": "rate", "refill_amount": "1"}, "A rate needs both"),
        ("reset_preset", {"kind": "periodic"}, "needs to know when it resets"),
        ("reset_cron", {"kind": "periodic", "reset_preset": "cron", "reset_cron": "x"}, "is not five fields"),
        ("timezone", {"kind": "periodic", "reset_preset": "day", "timezone": "Berlin"}, "Europe/Berlin"),
        ("resume_threshold", {"resume_threshold": "1"}, "less than or equal to 0.999"),
        ("probe_remaining", {"probe_url": "https://a.example/x", "probe_remaining": "a["}, "no JMESPath"),
        ("probe_url", {"probe_url": "not an address"}, "Enter a valid URL."),
        ("probe_headers", {"probe_headers": "{"}, "Enter a valid JSON."),
        ("probe_headers", {"probe_headers": "[1]"}, "JSON object of texts"),
        ("probe_headers", {"probe_headers": '{"A": 1}'}, "JSON object of texts"),
        ("probe_headers", {"probe_headers": DOTS}, "no stored value behind these dots"),
    ],
)
def test_what_is_wrong_stands_on_its_field_alone(field: str, values: dict[str, str], says: str) -> None:
    client = chief()
    response = client.post(ADD, empty(client) | {"kind": "capacity", "description": "kept"} | values)
    errors = errors_of(response)
    assert list(errors) == [field]
    assert says in " ".join(errors[field])
    assert "kept" in response.content.decode()
    assert not Quota.objects.exists()


def test_a_key_that_is_taken_is_refused() -> None:
    make_quota(key="mail")
    client = chief()
    assert list(errors_of(client.post(ADD, empty(client) | {"kind": "capacity"}))) == ["key"]


# --- changing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_quota, make_daily, make_rate])
def test_a_form_that_is_posted_back_changes_nothing(make: Any) -> None:
    quota, client = make(50, **PROBED), chief()
    before = Quota.objects.filter(pk=quota.pk).values().get()
    response = client.post(page_of(quota, "edit"), opened(client, quota))
    assert response.headers["Location"] == page_of(quota)
    assert Quota.objects.filter(pk=quota.pk).values().get() == before


def test_only_the_fields_of_its_kind_are_shown_and_the_limit_is_not_one_of_them() -> None:
    client = chief()
    shown = {
        make.__name__: {name for name in opened(client, make(50)) if name.startswith(("reset_", "refill_"))}
        for make in (make_quota, make_daily, make_rate)
    }
    assert shown["make_quota"] == set()
    assert shown["make_daily"] == {"reset_preset", "reset_time", "reset_weekday", "reset_day", "reset_cron"}
    assert shown["make_rate"] == {"refill_amount", "refill_seconds"}
    quota = make_quota(50)
    form = opened(client, quota)
    assert not {"limit", "kind", "key"} & form.keys()
    client.post(page_of(quota, "edit"), form | {"limit": "9999", "kind": "rate", "key": "other", "title": "Mails"})
    quota.refresh_from_db()
    assert (quota.limit, quota.kind, quota.title) == (50, "capacity", "Mails")


def test_a_limit_that_was_set_meanwhile_is_not_taken_back() -> None:
    quota, client = make_quota(50), chief()
    form = opened(client, quota)
    charging.set_limit(quota.key, 70, now=database_now())
    client.post(page_of(quota, "edit"), form | {"title": "Mails"})
    quota.refresh_from_db()
    assert (quota.limit, quota.title) == (70, "Mails")


def test_a_quota_that_was_charged_stays_where_it_is_and_none_is_part_of_itself() -> None:
    parent, quota, client = make_quota(), make_quota(), chief()
    charge(quota, 1)
    errors = errors_of(client.post(page_of(quota, "edit"), opened(client, quota) | {"parent": str(parent.pk)}))
    assert "What a quota is part of stays once it was charged." in errors["parent"][0]
    itself = errors_of(client.post(page_of(parent, "edit"), opened(client, parent) | {"parent": str(parent.pk)}))
    assert list(itself) == ["parent"]


def test_what_somebody_else_saved_meanwhile_is_shown_instead_of_overwritten() -> None:
    quota, client = make_quota(title="before"), chief()
    form = opened(client, quota)
    theirs = Quota.objects.get(pk=quota.pk)
    theirs.title, theirs.unit = "theirs", "calls"
    defining.save_changes(theirs, expected_version=1, now=database_now(), actor="bob")
    response = client.post(page_of(quota, "edit"), form | {"title": "mine"})
    assert "Somebody else saved this while you were editing it" in text_of(response)
    assert "Title mine theirs you and them" in text_of(response)
    quota.refresh_from_db()
    assert (quota.title, quota.version) == ("theirs", 2)
    again = client.post(page_of(quota, "edit"), posted_by(response, "quota_form"))
    assert again.headers["Location"] == page_of(quota)
    quota.refresh_from_db()
    assert (quota.title, quota.unit, quota.version) == ("mine", "calls", 3)


def test_a_tick_that_somebody_else_set_meanwhile_is_not_taken_away() -> None:
    quota, client = make_quota(title="before"), chief()
    form = opened(client, quota)
    theirs = Quota.objects.get(pk=quota.pk)
    theirs.shadow = True
    defining.save_changes(theirs, expected_version=1, now=database_now(), actor="bob")
    response = client.post(page_of(quota, "edit"), form | {"title": "mine"})
    assert "Shadow mode – on them; the form shows it now" in text_of(response)
    assert "Title mine before you" in text_of(response)
    box = re.search(r'<input type="checkbox" name="shadow"[^>]*>', response.content.decode())
    assert box is not None
    assert "checked" in box[0]


def test_a_tick_that_nobody_touched_is_no_difference() -> None:
    quota, client = make_quota(title="before", shadow=True), chief()
    form = opened(client, quota) | {"shadow": "on"}
    theirs = Quota.objects.get(pk=quota.pk)
    theirs.unit = "calls"
    defining.save_changes(theirs, expected_version=1, now=database_now(), actor="bob")
    text = text_of(client.post(page_of(quota, "edit"), form | {"title": "mine"}))
    assert "Title mine before you" in text
    assert "Shadow mode on" not in text


def test_who_may_not_change_it_posts_in_vain() -> None:
    quota, client = make_quota(title="before"), chief()
    form = opened(client, quota)
    assert viewer("top_up_quota").post(page_of(quota, "edit"), form | {"title": "mine"}).status_code == 403
    quota.refresh_from_db()
    assert quota.title == "before"


# --- secrets -------------------------------------------------------------------------------------------------------


def test_headers_are_shown_by_name_and_kept_where_the_dots_were_left() -> None:
    quota, client = make_quota(**PROBED), chief()
    form = opened(client, quota)
    assert json.loads(form["probe_headers"]) == {"Authorization": "••••••"}
    typed = '{"Authorization": "••••••", "X-Team": "reports"}'
    client.post(page_of(quota, "edit"), form | {"probe_headers": typed})
    quota.refresh_from_db()
    assert quota.revealed_headers() == {"Authorization": "Bearer very-secret", "X-Team": "reports"}
    client.post(page_of(quota, "edit"), opened(client, quota) | {"probe_headers": '{"Authorization": "new"}'})
    quota.refresh_from_db()
    assert quota.revealed_headers() == {"Authorization": "new"}


@pytest.mark.parametrize("address", ["https://evil.example/usage", "http://api.example.com/usage"])
def test_stored_headers_are_not_sent_to_another_host(address: str) -> None:
    quota, client = make_quota(**PROBED), chief()
    errors = errors_of(client.post(page_of(quota, "edit"), opened(client, quota) | {"probe_url": address}))
    assert "Write the headers anew" in errors["probe_headers"][0]
    typed = {"probe_url": address, "probe_headers": '{"Authorization": "theirs"}'}
    assert client.post(page_of(quota, "edit"), opened(client, quota) | typed).status_code == 302
    quota.refresh_from_db()
    assert quota.revealed_headers() == {"Authorization": "theirs"}


def test_another_path_of_the_same_host_keeps_the_headers() -> None:
    quota, client = make_quota(**PROBED), chief()
    form = opened(client, quota) | {"probe_url": "https://api.example.com/v2/usage"}
    assert client.post(page_of(quota, "edit"), form).status_code == 302
    quota.refresh_from_db()
    assert quota.revealed_headers() == PROBED["probe_headers"]


def test_a_refused_save_does_not_show_the_stored_headers() -> None:
    quota, client = make_quota(**PROBED), chief()
    response = client.post(page_of(quota, "edit"), opened(client, quota) | {"resume_threshold": "7"})
    assert list(errors_of(response)) == ["resume_threshold"]
    assert "very-secret" not in response.content.decode()
    assert not [entry for entry in LogEntry.objects.all() if "very-secret" in entry.change_message]
