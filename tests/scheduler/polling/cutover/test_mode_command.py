"""`manage.py polling_mode` begins a cut-over, tells how far it is, and waits for its end."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from scheduler.polling import system_settings
from scheduler.polling.cutover import standing
from scheduler.polling.system_settings import Mode
from tests.scheduler.polling.factories import NOW, make_account, make_cards, make_tier

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def said(*arguments: str) -> str:
    """Return what the command says."""
    output = StringIO()
    call_command("polling_mode", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def test_one_is_begun_and_told_and_watched_to_its_end_with_what_was_counted(redis: Redis) -> None:
    make_tier()
    make_cards(make_account(), 3)
    assert said() == "carrier decides.\nThere was no cut-over yet.\n"
    assert said("legacy") == (
        "carrier decides until the cut-over to legacy is done; no card is claimed meanwhile.\n"
        "Last cut-over, to legacy: claiming stops.\n"
    )
    told_at_the_end = said("--watch")
    assert told_at_the_end.startswith("legacy decides.\nLast cut-over, to legacy: done.\nCounted: ")
    assert "cards 3, " in told_at_the_end
    assert standing.now_holds().claims is Mode.LEGACY
    told: dict[str, Any] = json.loads(said("--json"))
    assert (told["mode"], told["cutover"]["wanted"], told["cutover"]["phase"]) == ("legacy", "legacy", "done")
    assert told["cutover"]["progress"]["cards"] == 3


def test_the_way_that_holds_is_told_also_where_no_cut_over_led_to_it() -> None:
    system_settings.set_mode(Mode.LEGACY, actor="ann", now=NOW)
    told = json.loads(said("--json"))
    assert told == {"mode": "legacy", "cutover": None}


def test_what_is_not_possible_is_said_in_one_sentence() -> None:
    with pytest.raises(CommandError, match=r"^The way “carrier” decides already\.$"):
        said("carrier")
