"""The form of a channel: secrets go in and never come out, what is wrong stands on its field, nobody overwrites
unawares.
"""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from alerts import defining
from alerts.kinds import NOTICES, PROBLEMS
from alerts.models import Channel
from project.kit.clock import database_now
from project.kit.secrets import Secret
from tests.alerts.admin.desk import SIGNING, TOKEN, list_of, make_hook, page_of, viewer
from tests.panel import chief, errors_of, posted_by, text_of

pytestmark = pytest.mark.django_db

ADD = list_of("channel") + "add/"
HOOK = f"https://hooks.example.org/{TOKEN}"


def empty(client: Client) -> dict[str, Any]:
    """Return what a browser would post from the untouched form, but for what has to be filled in."""
    return posted_by(client.get(ADD), "channel_form") | {"name": "operations", "address": HOOK}


def opened(client: Client, channel: Channel) -> dict[str, Any]:
    """Open the form of a channel, and return what the browser would post back unchanged."""
    form = posted_by(client.get(page_of(channel, "edit")), "channel_form")
    return form | {"kinds": channel.kinds}


# --- adding --------------------------------------------------------------------------------------------------------


def test_a_channel_is_added_with_its_format_by_the_address_and_its_page_is_shown() -> None:
    client = chief()
    chosen = {"kinds": ["run_failed", "my_own, another"], "labels": '{"name": "nightly"}', "secrets": SIGNING}
    response = client.post(ADD, empty(client) | chosen)
    channel = Channel.objects.get()
    assert response.headers["Location"] == page_of(channel)
    assert (channel.format, channel.address_shown, channel.enabled) == ("generic", "hooks.example.org", True)
    assert (channel.kinds, channel.labels) == (["another", "my_own", "run_failed"], {"name": "nightly"})
    assert (channel.address.reveal(), channel.secrets.reveal()) == (HOOK, SIGNING)


def test_problems_and_notices_are_offered_apart_and_what_choosing_none_means_is_said() -> None:
    content = chief().get(ADD).content.decode()
    problems, notices = content.split("<legend>Problems</legend>")[1].split("<legend>Notices</legend>")
    assert all(f'value="{kind}"' in problems for kind in PROBLEMS)
    assert all(f'value="{kind}"' in notices for kind in NOTICES)
    assert "run is done" in notices
    assert "None chosen: every problem, and no notice." in content


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("name", {"name": ""}, "This field is required."),
        ("address", {"address": ""}, "Write the address"),
        ("address", {"address": "https://127.0.0.1/"}, "lies in a private network"),
        ("address", {"address": "https://example.org:0/"}, "a number from 1 to 65535"),
        ("address", {"address": "https://hooks.slack.com/services/x", "format": "feishu"}, "choose the format Slack"),
        ("format", {"format": "pigeon"}, "Select a valid choice."),
        ("secrets", {"secrets": "short"}, "A secret must"),
        ("keyword", {"keyword": "a\u200bb\u2028c"}, "invisible characters"),
        ("kinds", {"kinds": "Not a kind!"}, "is no kind"),
        ("labels", {"labels": "[]"}, "as a JSON object of texts"),
        ("quiet_until", {"quiet_from": "22:00"}, "both ends"),
        ("quiet_until", {"quiet_from": "22:00", "quiet_until": "22:00"}, "would never end"),
        ("timezone", {"timezone": "Berlin"}, "Europe/Berlin"),
        ("repeat_hours", {"repeat_hours": "-1"}, "greater than or equal to 0"),
        ("repeat_hours", {"repeat_hours": "0"}, "Repeat after 1 to 8,760 hours"),
    ],
)
def test_what_is_wrong_stands_on_its_field_alone(field: str, values: dict[str, str], says: str) -> None:
    client = chief()
    response = client.post(ADD, empty(client) | {"keyword": "kept"} | values)
    errors = errors_of(response)
    assert list(errors) == [field]
    assert says in " ".join(errors[field])
    assert "kept" in response.content.decode()
    assert not Channel.objects.exists()


def test_a_name_that_is_taken_is_refused() -> None:
    make_hook(name="operations")
    client = chief()
    assert list(errors_of(client.post(ADD, empty(client)))) == ["name"]


# --- changing ------------------------------------------------------------------------------------------------------


def test_a_form_that_is_posted_back_changes_nothing() -> None:
    channel, client = make_hook(kinds=["my_own", "run_failed"], labels={"a": "b"}, retry_ambiguous=True), chief()
    before = Channel.objects.values().get()
    response = client.post(page_of(channel, "edit"), opened(client, channel))
    assert response.headers["Location"] == page_of(channel)
    assert str(Channel.objects.values().get()) == str(before)


def test_an_empty_field_leaves_a_secret_as_it_was_and_a_typed_one_replaces_it() -> None:
    channel, client = make_hook(), chief()
    client.post(page_of(channel, "edit"), opened(client, channel) | {"name": "renamed"})
    channel.refresh_from_db()
    assert (channel.name, channel.address.reveal(), channel.secrets.reveal()) == ("renamed", HOOK, SIGNING)
    client.post(page_of(channel, "edit"), opened(client, channel) | {"address": "https://other.example/new"})
    channel.refresh_from_db()
    assert channel.address.reveal() == "https://other.example/new"
    assert (channel.address_shown, channel.secrets.reveal(), channel.version) == ("other.example", SIGNING, 3)


def test_signing_secrets_are_removed_only_by_saying_so() -> None:
    channel, client = make_hook(), chief()
    both = {"forget_secrets": "on", "secrets": SIGNING}
    assert "not both" in errors_of(client.post(page_of(channel, "edit"), opened(client, channel) | both))["secrets"][0]
    client.post(page_of(channel, "edit"), opened(client, channel) | {"forget_secrets": "on"})
    channel.refresh_from_db()
    assert channel.secrets.reveal() == ""
    assert channel.address.reveal() == HOOK


def test_an_old_channel_is_renamed_though_its_address_would_be_refused_now() -> None:
    channel, client = make_hook(address="http://10.0.0.7/hook", format="slack", secrets=""), chief()
    client.post(page_of(channel, "edit"), opened(client, channel) | {"name": "renamed"})
    channel.refresh_from_db()
    assert channel.name == "renamed"
    errors = errors_of(client.post(page_of(channel, "edit"), opened(client, channel) | {"format": ""}))
    assert "lies in a private network" in errors["address"][0]


def test_secrets_whose_key_is_gone_are_entered_anew() -> None:
    channel, client = make_hook(), chief()
    Channel.objects.update(address=Secret("gAAAAA"), secrets=Secret("gAAAAA"))
    assert client.get(page_of(channel)).status_code == 200
    form = opened(client, channel)
    errors = errors_of(client.post(page_of(channel, "edit"), form | {"address": HOOK}))
    assert "encrypted with another key" in errors["secrets"][0]
    client.post(page_of(channel, "edit"), form | {"address": HOOK, "secrets": SIGNING})
    channel.refresh_from_db()
    assert (channel.address.reveal(), channel.secrets.reveal()) == (HOOK, SIGNING)


def test_what_somebody_else_saved_meanwhile_is_shown_instead_of_overwritten_and_no_secret_with_it() -> None:
    channel, client = make_hook(name="before"), chief()
    form = opened(client, channel)
    theirs = Channel.objects.get()
    theirs.name, theirs.keyword, theirs.kinds, theirs.address = "theirs", "Tide", ["run_failed"], Secret.of(f"{HOOK}-2")
    defining.save_changes(theirs, expected_version=1, now=database_now())
    typed = {"name": "mine", "address": "https://mine.example/typed", "retry_ambiguous": "on"}
    response = client.post(page_of(channel, "edit"), form | typed)
    text = text_of(response)
    assert "Somebody else saved this while you were editing it" in text
    assert "Name mine theirs you and them" in text
    assert "Kinds – run_failed them; the form shows it now" in text
    differences = {difference.label: difference for difference in response.context["adminform"].form.differences}
    assert "typed" not in differences["Address"].typed
    assert "Try again when unknown" in differences
    channel.refresh_from_db()
    assert (channel.name, channel.version) == ("theirs", 2)
    again = posted_by(response, "channel_form") | {"kinds": ["run_failed", ""], "retry_ambiguous": ""}
    saved = client.post(page_of(channel, "edit"), again)
    assert saved.headers["Location"] == page_of(channel)
    channel.refresh_from_db()
    assert (channel.name, channel.keyword, channel.kinds, channel.version) == ("mine", "Tide", ["run_failed"], 3)
    assert channel.address.reveal() == "https://mine.example/typed"


def test_who_may_not_change_it_posts_in_vain() -> None:
    channel, client = make_hook(name="before"), chief()
    form = opened(client, channel)
    assert viewer("test_channel").post(page_of(channel, "edit"), form | {"name": "mine"}).status_code == 403
    channel.refresh_from_db()
    assert channel.name == "before"


# --- secrets -------------------------------------------------------------------------------------------------------


def test_what_is_stored_stands_on_no_page_and_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    channel, client = make_hook(), chief()
    form = opened(client, channel)
    assert (form["address"], form["secrets"]) == ("", "")
    pages = [
        client.get(page_of(channel)),
        client.get(page_of(channel, "edit")),
        client.get(list_of("channel")),
        client.post(page_of(channel, "edit"), form | {"timezone": "x"}),
        client.post(page_of(channel, "edit"), form | {"name": "renamed", "format": "generic"}),
        client.get(page_of(channel, "history")),
        viewer().get(page_of(channel)),
    ]
    stored = Channel.objects.get()
    for page in pages:
        content = page.content.decode()
        for secret in (TOKEN, SIGNING, stored.address.sealed, stored.secrets.sealed):
            assert secret not in content
    client.post(page_of(channel, "edit"), opened(client, stored) | {"address": f"{HOOK}-2", "secrets": SIGNING})
    messages = [entry.change_message for entry in LogEntry.objects.all()]
    assert len(messages) == 2
    assert TOKEN not in str(messages) + caplog.text
    assert SIGNING not in str(messages) + caplog.text
