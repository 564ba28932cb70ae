"""`manage.py polling_mode` begins a cut-over, tells how far it is, and waits for its end."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from scheduler.polling.cutover import standing
from scheduler.polling.system_settings import Mode
from tests.scheduler.polling.factories import make_account, make_cards, make_tier

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def said(*arguments: str) -> str:
    """Return what the command says."""
    output = StringIO()
    call_command("polling_mode", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def test_one_is_begun_and_told_and_watched_to_its_end_with_what_was_counted(redis: Redis) -> None:
    make_tier()
    make_cards(make_account(), 3)
    assert said() == "There was no cut-over yet. carrier decides.\n"
    assert said("legacy") == "To legacy: claiming stops.\n"
    told_at_the_end = said("--watch")
    assert told_at_the_end.startswith("To legacy: done.\nCounted: ")
    assert "cards 3, " in told_at_the_end
    assert standing.now_holds().claims is Mode.LEGACY
    told: dict[str, Any] = json.loads(said("--json"))
    assert told["cutover"]["phase"] == "done"
    assert told["cutover"]["progress"]["cards"] == 3


def test_what_is_not_possible_is_said_in_one_sentence() -> None:
    with pytest.raises(CommandError, match=r"^The way “carrier” decides already\.$"):
        said("carrier")
