"""Secrets at rest, with keys that rotate."""

import logging

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pytest_django import Settings

from project.kit.secrets import DOTS, Secret, SecretField, SecretJSONField, UnreadableSecret

OLD, NEW = "old key, which is long enough for this", "new key, which is long enough for this"
TEXT = "https://example.org/hook/token-告警"


@pytest.fixture(autouse=True)
def _old_key(settings: Settings) -> None:
    settings.TIDELINE_SECRETS_KEYS = [OLD]


def test_what_is_stored_does_not_hold_the_text_and_gives_it_back() -> None:
    secret = Secret.of(TEXT)
    assert "token" not in secret.sealed
    assert Secret(secret.sealed).reveal() == TEXT


def test_the_same_text_is_stored_differently_each_time_and_is_equal() -> None:
    first, second = Secret.of(TEXT), Secret.of(TEXT)
    assert first.sealed != second.sealed
    assert first == second
    assert first != Secret.of("another")


def test_wherever_it_is_printed_it_is_dots(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret.of(TEXT)
    with caplog.at_level(logging.INFO):
        logging.getLogger("test").info("%s %r", secret, [secret])
    assert caplog.messages == [f"{DOTS} [{DOTS}]"]


def test_none_is_empty_and_false() -> None:
    assert not Secret.of("")
    assert Secret.of("").reveal() == ""
    assert str(Secret.of("")) == ""


def test_a_new_key_in_front_still_reads_the_old_one_and_writes_with_the_new(settings: Settings) -> None:
    secret = Secret.of(TEXT)
    settings.TIDELINE_SECRETS_KEYS = [NEW, OLD]
    rotated = secret.rotated()
    settings.TIDELINE_SECRETS_KEYS = [NEW]
    assert rotated.reveal() == TEXT
    with pytest.raises(UnreadableSecret, match="TIDELINE_SECRETS_KEYS"):
        secret.reveal()


def test_without_keys_of_its_own_it_is_read_after_the_secret_key_changed(settings: Settings) -> None:
    settings.TIDELINE_SECRETS_KEYS = []
    settings.SECRET_KEY = OLD
    secret = Secret.of(TEXT)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    assert secret.reveal() == TEXT


def test_a_column_takes_texts_and_secrets_and_gives_secrets() -> None:
    column = SecretField()
    stored = column.get_prep_value(TEXT)
    assert column.from_db_value(stored).reveal() == TEXT  # type: ignore[union-attr]
    assert column.get_prep_value(Secret(stored)) == stored
    assert column.get_prep_value(None) is None


def test_a_column_of_json_holds_nothing_where_there_is_nothing() -> None:
    column = SecretJSONField()
    assert column.get_prep_value({}) == ""
    assert Secret(column.get_prep_value({"Authorization": "x"})).reveal() == '{"Authorization": "x"}'


def test_a_short_key_is_refused_with_the_way_to_a_good_one_and_is_not_shown(settings: Settings) -> None:
    settings.TIDELINE_SECRETS_KEYS = [OLD]
    call_command("check")
    settings.TIDELINE_SECRETS_KEYS = [OLD, "short-key"]
    with pytest.raises(SystemCheckError) as refused:
        call_command("check")
    assert "Key 2 of TIDELINE_SECRETS_KEYS is too short: it has 9 characters." in str(refused.value)
    assert "openssl rand" in str(refused.value)
    assert "short-key" not in str(refused.value)
