"""After a rotation every stored secret is read by the present key alone."""

import pytest
from pytest_django import Settings

from alerts.models import Channel
from project.kit.rotating import rotate_secrets, secret_columns
from project.kit.secrets import Secret, SecretField
from tests.alerts.factories import make_channel
from tests.scheduler.commands.asking import Shell

pytestmark = pytest.mark.django_db

OLD, NEW = "old key, which is long enough for this", "new key, which is long enough for this"


@pytest.fixture(autouse=True)
def _old_key(settings: Settings) -> None:
    settings.TIDELINE_SECRETS_KEYS = [OLD]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)


def make_channels(count: int) -> None:
    """Insert channels of which every other one has a signing secret."""
    for number in range(count):
        make_channel(address=f"https://hooks.example.org/{number}", secrets="signing" if number % 2 else "")


def test_all_rows_are_written_anew_in_batches(settings: Settings) -> None:
    make_channels(5)
    settings.TIDELINE_SECRETS_KEYS = [NEW, OLD]
    rotated = rotate_secrets(batch=2)
    assert (rotated.secrets, rotated.unreadable) == (5 + 2, [])
    settings.TIDELINE_SECRETS_KEYS = [NEW]
    channels = list(Channel.objects.order_by("id"))
    assert [channel.address.reveal() for channel in channels] == [f"https://hooks.example.org/{n}" for n in range(5)]
    assert [channel.secrets.reveal() for channel in channels] == ["", "signing", "", "signing", ""]
    assert {channel.version for channel in channels} == {1}


def test_a_secret_that_no_key_reads_is_named_and_left_and_the_others_are_done(settings: Settings) -> None:
    make_channels(2)
    first, second = Channel.objects.order_by("id")
    Channel.objects.filter(pk=first.pk).update(address=Secret("gAAAAA"))
    settings.TIDELINE_SECRETS_KEYS = [NEW, OLD]
    rotated = rotate_secrets()
    assert rotated.unreadable == [f"channel {first.pk}: address"]
    assert Channel.objects.get(pk=first.pk).address.sealed == "gAAAAA"
    settings.TIDELINE_SECRETS_KEYS = [NEW]
    assert Channel.objects.get(pk=second.pk).address.reveal() == "https://hooks.example.org/1"


def test_the_columns_are_found_by_their_kind() -> None:
    found = dict(secret_columns())
    assert found[Channel] == ["address", "secrets"]
    assert all(isinstance(model._meta.get_field(name), SecretField) for model, names in found.items() for name in names)


def test_the_command_says_how_many(shell: Shell) -> None:
    make_channels(2)
    assert shell.says("rotate_secrets") == "3 secrets are encrypted with the present key."
    assert shell.values("rotate_secrets") == {"secrets": 3, "unreadable": []}


def test_the_command_ends_with_status_three_where_one_cannot_be_read(shell: Shell) -> None:
    channel = make_channel()
    Channel.objects.update(address=Secret("gAAAAA"))
    says = shell.says("rotate_secrets", status=3)
    assert f"channel {channel.pk}: address: This secret was encrypted with another key." in says
    assert "gAAAAA" not in says
