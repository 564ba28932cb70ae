"""`polling_init` builds the live order and says how far that is."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.queue import Queue, calls
from tests.scheduler.polling.factories import NOW, make_account, make_cards

pytestmark = pytest.mark.django_db


def told(*arguments: str) -> tuple[str, int]:
    """Run the command and return what it printed and its exit status."""
    out = StringIO()
    try:
        call_command("polling_init", *arguments, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


def test_all_active_accounts_are_built_unless_some_are_named(redis: Redis, queue: Queue) -> None:
    acme, other = make_account(name="Acme"), make_account(name="Other")
    make_account(name="Off", active=False)
    make_cards(acme, 3)
    assert told("Other") == ("Other: 0 cards are in order.\n", 0)
    assert queue.ask(calls.count(acme.pk)).epoch == ""
    assert told() == ("Acme: 3 cards are in order.\nOther: 0 cards are in order.\n", 0)
    assert queue.ask(calls.count(acme.pk)).cards == 3
    assert queue.ask(calls.count(other.pk)).epoch


def test_only_what_is_lost_is_built_if_so_wanted(redis: Redis) -> None:
    make_account(name="Acme")
    told()
    make_account(name="New")
    assert told("--lost") == ("Acme: its order is there.\nNew: 0 cards are in order.\n", 0)


def test_an_account_that_is_switched_off_is_named_as_such(redis: Redis) -> None:
    make_account(name="Off", active=False)
    assert told("Off") == ("Off: it is switched off, and has no order.\n", 0)


def test_one_that_another_builds_is_left_to_it(redis: Redis) -> None:
    acme = make_account(name="Acme")
    right = Rebuild(redis, acme.pk)
    assert right.taken()
    right.begin("ann", 7, NOW)
    assert told() == ("Acme: another rebuild is under way; see --progress.\n", 3)
    progress = "Acme: under way, 0 of 7 cards, begun 2026-06-01 12:00:00 UTC by ann.\n"
    assert told("--progress") == (progress, 0)
    right.let_go()
    assert told("--progress") == (progress.replace("under way", "interrupted"), 0)


def test_programs_are_told_in_json(redis: Redis) -> None:
    make_cards(make_account(name="Acme"), 2)
    assert json.loads(told("--json")[0]) == {"accounts": [{"account": "Acme", "outcome": "rebuilt", "cards": 2}]}
    (progress,) = json.loads(told("--progress", "--json")[0])["accounts"]
    assert (progress["state"], progress["done"], progress["total"]) == ("done", 2, 2)


def test_without_accounts_it_says_so(redis: Redis) -> None:
    assert told() == ("There is no active account yet.\n", 0)
    assert told("--progress") == ("There is no active account yet.\n", 0)


def test_an_account_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no account “Nobody”"):
        told("Nobody")


def test_an_account_that_was_not_built_lately_says_so(redis: Redis) -> None:
    make_account(name="Acme")
    assert told("--progress") == ("Acme: not rebuilt lately.\n", 0)
