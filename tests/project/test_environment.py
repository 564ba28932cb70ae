"""Settings come from the environment, and the try-out's file fills in what it does not say."""

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from project.environment import choice, flag, load_tryout, number, postgresql, redis, words


@pytest.mark.parametrize(
    ("value", "meant"), [("1", True), ("yes", True), ("ON", True), ("0", False), ("False", False), ("", False)]
)
def test_a_flag_is_yes_or_no_in_the_usual_spellings(monkeypatch, value, meant):
    monkeypatch.setenv("A_FLAG", value)
    assert flag("A_FLAG", not meant) is meant


def test_a_flag_that_is_not_said_has_its_default(monkeypatch):
    monkeypatch.delenv("A_FLAG", raising=False)
    assert flag("A_FLAG", True) is True
    assert flag("A_FLAG", False) is False


def test_a_flag_that_is_neither_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("A_FLAG", "maybe")
    with pytest.raises(ImproperlyConfigured, match="A_FLAG is 'maybe': say 1 or 0"):
        flag("A_FLAG", False)


@pytest.mark.parametrize("value", ["-1", "1.5", "many", ""])
def test_a_number_that_is_none_is_refused_by_name(monkeypatch, value):
    monkeypatch.setenv("A_NUMBER", value)
    with pytest.raises(ImproperlyConfigured, match="A_NUMBER"):
        number("A_NUMBER", 30)


def test_a_choice_is_one_of_the_words_that_are_known(monkeypatch):
    monkeypatch.delenv("A_FORM", raising=False)
    assert choice("A_FORM", "text", ("text", "json")) == "text"
    monkeypatch.setenv("A_FORM", "json")
    assert choice("A_FORM", "text", ("text", "json")) == "json"
    monkeypatch.setenv("A_FORM", "xml")
    with pytest.raises(ImproperlyConfigured, match="A_FORM is 'xml': say one of text, json"):
        choice("A_FORM", "text", ("text", "json"))


def test_words_are_separated_by_commas_and_blank_ones_do_not_count(monkeypatch):
    monkeypatch.setenv("SOME_WORDS", " one, two ,,three,")
    assert words("SOME_WORDS") == ["one", "two", "three"]


def test_the_environment_wins_over_the_tryouts_file(monkeypatch, tmp_path):
    file = tmp_path / "env"
    file.write_text("# a comment=not a setting\nSAID=by the file\nUNSAID=by the file = all of it\nno pair\n")
    monkeypatch.setenv("SAID", "by the environment")
    monkeypatch.setenv("UNSAID", "")
    monkeypatch.delenv("UNSAID")
    load_tryout(file)
    assert os.environ["SAID"] == "by the environment"
    assert os.environ["UNSAID"] == "by the file = all of it"


def test_without_a_tryout_nothing_is_filled_in(tmp_path):
    before = dict(os.environ)
    load_tryout(Path(tmp_path / "no such file"))
    assert dict(os.environ) == before


def test_a_socket_in_a_database_url_is_understood(monkeypatch):
    monkeypatch.setenv("A_DATABASE", "postgresql://me@%2Ftmp%2Fsome%20folder/tideline")
    database = postgresql("A_DATABASE", "postgresql:///other", conn_max_age=7)
    assert (database["HOST"], database["NAME"], database["CONN_MAX_AGE"]) == ("/tmp/some folder", "tideline", 7)


@pytest.mark.parametrize("url", ["mysql://me:secret@host/x", "me:secret@host", "postgresql://me:secret@[host/x"])
def test_a_database_url_of_another_kind_is_refused_without_showing_it(monkeypatch, url):
    monkeypatch.setenv("A_DATABASE", url)
    with pytest.raises(ImproperlyConfigured, match="A_DATABASE is no address of a PostgreSQL") as refused:
        postgresql("A_DATABASE", "postgresql:///other")
    assert "secret" not in str(refused.value)


def test_the_address_of_a_redis_is_taken_as_it_is_said(monkeypatch):
    monkeypatch.setenv("A_REDIS", "sentinel://:secret@one:1,two:2/3?master=tideline")
    assert redis("A_REDIS", "redis://other") == os.environ["A_REDIS"]
    monkeypatch.setenv("A_REDIS", "")
    assert redis("A_REDIS", "redis://other") == "redis://other"


def test_the_address_of_a_redis_that_is_none_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("A_REDIS", "unix://:secret@/run/redis.sock")
    with pytest.raises(ImproperlyConfigured, match="A_REDIS is no address of a Redis: it begins neither") as refused:
        redis("A_REDIS", "redis://other")
    assert "secret" not in str(refused.value)
