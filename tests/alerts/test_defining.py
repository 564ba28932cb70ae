"""Channels come and change: each address that cannot be right is refused with its sentence, and old rows can be kept
as they are.
"""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from pytest_django import Settings

from alerts import defining
from alerts.models import Channel, Silence
from project.kit.secrets import Secret
from project.kit.versions import StaleVersion
from tests.alerts.factories import make_channel
from tests.scheduler.factories import HOUR, NOW

pytestmark = pytest.mark.django_db

HOOK = "https://hooks.example.org/path-with-token"
INWARD = "lies in a private network"
NEW_KEY = "another key, which is long enough for this"


def create(**fields: Any) -> Channel:
    return defining.create(**{"name": "operations", "address": HOOK, "now": NOW} | fields)


def refusal(**fields: Any) -> dict[str, list[str]]:
    """Return what creating a channel is refused with, by field."""
    with pytest.raises(ValidationError) as refused:
        create(**fields)
    assert not Channel.objects.exists()
    return refused.value.message_dict


def changed(channel: Channel, **fields: Any) -> list[str]:
    """Save the channel with other values, an hour later."""
    for name, value in fields.items():
        setattr(channel, name, value)
    return defining.save_changes(channel, expected_version=channel.version, now=NOW + HOUR)


# --- the address ---------------------------------------------------------------------------------------------------

ADDRESSES = {
    "": "The address is none",
    "hooks.example.org/x": "The address is none",
    "https://": "has no host",
    "https:///path": "has no host",
    "ftp://example.org/x": "begins with ftp://; only https:// and http:// can be called",
    "https://exa mple.org/x": "has a space",
    "https://example.org/a b": "has a space",
    "https://example.org/a\tb": "has a space",
    "https://example.org\\@evil.example/": "has a backslash in it",
    "https://example.org/\u200b": "has an invisible character in it (U+200B)",
    "https://example.org/\u202e": "has an invisible character in it (U+202E)",
    "https://example.org/\x07": "has an invisible character in it (U+0007)",
    "https://user:pass@example.org/": "holds a user name or password before an @",
    "https://example.org:0/": "a number from 1 to 65535",
    "https://example.org:65536/": "a number from 1 to 65535",
    "https://example.org:x/": "a number from 1 to 65535",
    "https://example.org:/": "a number from 1 to 65535",
    "https://example.org:８０/": "a number from 1 to 65535",
    "https://[2001:db8::1/": "is not closed by ]",
    "https://[hello]/": "is no IPv6 address",
    "https://example.org/#part": "has a # in it",
    "https://[fe80::1%25eth0]/": "names an interface after %",
    "https://example。org/": "dots of another script",
    "https://ｅxample.org/": "look-alikes",
    "https://xn--a.example/": "begins with xn--",
    "https://-example.org/": "The host is no name",
    "https://exa..mple.org/": "The host is no name",
    f"https://{'a' * 64}.org/": "The host is no name",
    "https://2130706433/": "a number that programs read differently",
    "https://127.1/": "a number that programs read differently",
    "https://0x7f.0.0.1/": "a number that programs read differently",
    "https://localhost/": INWARD,
    "https://127.0.0.1/": INWARD,
    "https://10.0.0.7:8443/hook": INWARD,
    "https://169.254.169.254/latest/meta-data": INWARD,
    "https://224.0.0.1/": INWARD,
    "https://[::1]/": INWARD,
    "https://[::ffff:10.0.0.1]/": INWARD,
    "https://[64:ff9b::a00:1]/": INWARD,
    "https://intranet/": INWARD,
    "https://printer.local/": INWARD,
    f"https://example.org/{'x' * 2000}": "is longer than 2,000 characters",
}


@pytest.mark.parametrize(("address", "says"), ADDRESSES.items())
def test_an_address_that_cannot_be_right_is_refused_with_a_sentence(address: str, says: str) -> None:
    faults = refusal(address=address, format="generic" if "://" in address else "")
    assert list(faults) == ["address"]
    assert says in faults["address"][0]


def test_a_refusal_does_not_repeat_what_may_be_a_secret() -> None:
    assert "path-with-token" not in str(refusal(address=f"{HOOK}\u200b"))
    assert "s3cret" not in str(refusal(address="https://u:s3cret@example.org/"))


def test_an_address_inwards_is_taken_where_an_administrator_allows_it(settings: Settings) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["chat.internal", "10.0.0.7:8443"]
    assert create(address="https://chat.internal/hook").address_shown == "chat.internal"
    assert create(name="by number", address="https://10.0.0.7:8443/hook").address_shown == "10.0.0.7"
    with pytest.raises(ValidationError, match=INWARD):
        create(name="another port", address="https://10.0.0.7/hook")


def test_an_address_is_kept_in_the_one_form_in_which_it_is_called_and_shown_by_its_host() -> None:
    channel = create(address="  HTTPS://Hooks.Bücher.Example:443/a?b=c  ")
    stored = Channel.objects.get()
    assert stored.address.reveal() == "https://hooks.xn--bcher-kva.example/a?b=c"
    assert stored.address_shown == "hooks.xn--bcher-kva.example"
    assert channel.format == "generic"


# --- the format ----------------------------------------------------------------------------------------------------

PLATFORMS = {
    "https://open.feishu.cn/open-apis/bot/v2/hook/x": ("feishu", "Feishu/Lark"),
    "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x": ("wecom", "WeCom"),
    "https://oapi.dingtalk.com/robot/send?access_token=x": ("dingtalk", "DingTalk"),
    "https://hooks.slack.com/services/T/B/x": ("slack", "Slack"),
}


@pytest.mark.parametrize(("address", "platform"), PLATFORMS.items())
def test_a_platforms_address_gets_its_own_format_and_no_other(address: str, platform: tuple[str, str]) -> None:
    name, label = platform
    for other in {"generic", "teams", "slack", "feishu"} - {name}:
        faults = refusal(address=address, format=other)
        assert f"This is an address of {label}: choose the format {label}" in faults["address"][0]
    assert create(address=address).format == name


# Apprise loads a module of the standard library that Python 3.13 no longer has, where it brings its own.
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_a_mailbox_and_a_service_of_apprise_are_shown_without_their_address() -> None:
    mail = create(address="ops@company.example")
    chat = create(name="chat", address="tgram://123456789:abcdefg_hijklmnop/12315544/")
    assert (mail.format, mail.address_shown) == ("email", "email")
    assert (chat.format, chat.address_shown) == ("apprise", "apprise")


def test_a_format_that_there_is_not_is_refused() -> None:
    assert "There is no such format" in str(refusal(format="pigeon"))


@pytest.mark.parametrize("secrets", ["not base64!", "whsec_c2hvcnQ="])
def test_a_signing_secret_that_cannot_be_one_is_refused_without_being_repeated(secrets: str) -> None:
    said = str(refusal(secrets=secrets))
    assert "A secret must" in said
    assert secrets not in said


# --- the other fields ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"timezone": "Berlin"}, "timezone", "Europe/Berlin"),
        ({"quiet_from": "22:00"}, "quiet_until", "both ends"),
        ({"quiet_until": "06:00"}, "quiet_from", "both ends"),
        ({"quiet_from": "22:00", "quiet_until": "22:00"}, "quiet_until", "would never end"),
        ({"repeat_hours": 0}, "repeat_hours", "Repeat after 1 to 8,760 hours"),
        ({"repeat_hours": 99_999_999}, "repeat_hours", "or leave it empty to be told once"),
        ({"secrets": "short"}, "secrets", "A secret must"),
        ({"keyword": "x" * 101}, "keyword", "too long"),
        ({"format": "pager"}, "format", "There is no such format"),
        ({"name": ""}, "name", "cannot be blank"),
        ({"least_severity": "loud"}, "least_severity", "not a valid choice"),
        ({"kinds": "run_failed"}, "kinds", 'as in ["run_failed"]'),
        ({"kinds": [7]}, "kinds", 'as in ["run_failed"]'),
        ({"kinds": None}, "kinds", 'as in ["run_failed"]'),
        ({"labels": ["name"]}, "labels", 'as in {"name": "nightly"}'),
        ({"labels": {"name": 7}}, "labels", 'as in {"name": "nightly"}'),
        ({"labels": {7: "name"}}, "labels", 'as in {"name": "nightly"}'),
    ],
)
def test_what_is_wrong_is_said_by_field(fields: dict[str, Any], field: str, says: str) -> None:
    faults = refusal(**fields)
    assert says in faults[field][0]


def test_all_that_is_wrong_is_said_at_once() -> None:
    assert set(refusal(kinds="x", labels=None, timezone="Berlin")) == {"kinds", "labels", "timezone"}


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"repeat_hours": 0}, "channel_repeats_in_bounds"),
        ({"repeat_hours": 8761}, "channel_repeats_in_bounds"),
        ({"kinds": {}}, "channel_kinds_are_texts"),
        ({"kinds": ["run_failed", None]}, "channel_kinds_are_texts"),
        ({"labels": []}, "channel_labels_are_texts"),
        ({"labels": {"name": ["nightly"]}}, "channel_labels_are_texts"),
    ],
)
def test_the_database_takes_no_choices_that_could_not_be_compared_or_reckoned_with(
    fields: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        make_channel(**fields)


@pytest.mark.parametrize("labels", [[], "name", {"name": 7}, {"name": {"is": "nightly"}}])
def test_the_labels_of_a_silence_are_texts(labels: Any) -> None:
    silence = Silence(labels=labels, starts_at=NOW, ends_at=NOW + HOUR, reason="work on the mains")
    with pytest.raises(ValidationError, match="Write the labels as an object of texts"):
        silence.validate_constraints()
    with pytest.raises(IntegrityError, match="silence_labels_are_texts"):
        silence.save()


def test_a_name_is_taken_once() -> None:
    create()
    with pytest.raises(ValidationError) as refused:
        create()
    assert list(refused.value.message_dict) == ["name"]


# --- changing ------------------------------------------------------------------------------------------------------


def test_only_what_changed_is_written_under_the_next_version() -> None:
    channel = create()
    assert changed(channel, keyword="Tide", repeat_hours=4) == ["keyword", "repeat_hours"]
    stored = Channel.objects.get()
    assert (stored.keyword, stored.repeat_hours, stored.version, stored.updated_at) == ("Tide", 4, 2, NOW + HOUR)


def test_what_did_not_change_is_no_new_version_not_even_a_secret_typed_again() -> None:
    channel = create()
    assert changed(channel, address=Secret.of(HOOK)) == []
    assert Channel.objects.get().version == 1


def test_who_saves_an_old_version_is_told_what_it_is_now() -> None:
    mine, theirs = create(), Channel.objects.get()
    changed(theirs, name="theirs")
    mine.name = "mine"
    with pytest.raises(StaleVersion, match="“theirs” was changed by somebody else") as stale:
        defining.save_changes(mine, expected_version=1, now=NOW)
    assert stale.value.current.version == 2
    assert Channel.objects.get().name == "theirs"


def test_an_old_row_is_renamed_and_paused_though_its_address_would_be_refused_now() -> None:
    old = make_channel(address="http://10.0.0.7/hook", format="slack")
    assert changed(old, name="renamed", enabled=False) == ["name", "enabled"]
    stored = Channel.objects.get()
    assert (stored.name, stored.enabled, stored.format) == ("renamed", False, "slack")
    assert stored.address.reveal() == "http://10.0.0.7/hook"


@pytest.mark.parametrize(
    "fields", [{"format": "generic"}, {"keyword": "x"}, {"address": Secret.of("http://10.0.0.8/")}]
)
def test_an_old_row_is_checked_when_what_leads_there_changes(fields: dict[str, Any]) -> None:
    old = make_channel(address="http://10.0.0.7/hook", format="slack")
    with pytest.raises(ValidationError) as refused:
        changed(old, **fields)
    assert list(refused.value.message_dict) == ["address"]


@pytest.mark.parametrize(("fields", "waits"), [({"name": "renamed"}, True), ({"keyword": "Tide"}, False)])
def test_a_channel_that_failed_is_tried_at_once_when_what_leads_there_changes(
    fields: dict[str, Any], waits: bool
) -> None:
    channel = create()
    Channel.objects.update(not_before=NOW + 2 * HOUR)
    changed(channel, **fields)
    assert (Channel.objects.get().not_before is not None) == waits


def test_an_address_whose_key_is_gone_is_entered_anew(settings: Settings) -> None:
    channel = create(secrets="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    settings.TIDELINE_SECRETS_KEYS = [NEW_KEY]
    with pytest.raises(ValidationError) as refused:
        changed(Channel.objects.get(), address=Secret.of(HOOK))
    assert "encrypted with another key" in refused.value.message_dict["secrets"][0]
    assert changed(channel, address=Secret.of(HOOK), secrets=Secret.of("")) == ["address", "secrets"]
    assert Channel.objects.get().address.reveal() == HOOK
