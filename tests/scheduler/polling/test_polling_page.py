"""What docs/polling.md states of settings, parameters, defaults and error classes is so in the code, and its example of
a carrier is connected as it is written there.
"""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project_settings
from django.core.management import call_command
from django.utils import translation
from pydantic import BaseModel
from pytest_django import Settings

from project.kit.clock import database_now
from quotas.ratelimit.windows import EVEN_SECONDS, LATE_PERCENT, MOST_WINDOWS
from scheduler.polling import defining, dispatching, holding, policy, stepping, system_settings
from scheduler.polling import engine as engine_module
from scheduler.polling.carriers.client import Timeouts
from scheduler.polling.carriers.http_json.parts import BatchCall, Call, Check, Fields, Lookup, TokenCall
from scheduler.polling.carriers.http_json.settings import (
    Errors,
    HeaderAuth,
    HttpJsonSettings,
    QueryAuth,
    TokenAuth,
)
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier, credentials_for, simulated_carrier
from scheduler.polling.connecting import client
from scheduler.polling.fleet import following, initializing
from scheduler.polling.models import Card, CardCheck, CarrierAccount
from scheduler.polling.outcomes import LATER_SECONDS
from scheduler.polling.params import DEFAULTS
from scheduler.polling.queue.keys import NAMES, TRAFFIC
from scheduler.polling.settler import MOST_CARDS
from scheduler.polling.states import OF_THE_ACCOUNT, TOLD_AT_ONCE, CheckType, ErrorClass
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, poller, wait_until

PAGE = Path(project_settings.BASE_DIR, "docs", "polling.md").read_text()
SETTINGS_FILE = Path(project_settings.BASE_DIR, "project", "settings.py").read_text()
IN_WORDS = {2: "two", 5: "five", 7: "seven"}

Row = tuple[str, ...]


def rows_after(mark: str) -> list[Row]:
    """Return the rows of the first table behind a mark, without its head."""
    text = PAGE.partition(mark)[2]
    assert text, mark
    lines = re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)[0].splitlines()
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def names_in(rows: list[Row], column: int = 0) -> set[str]:
    """Return the names that stand in backticks in a column."""
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[column])}


def block(language: str, number: int = 0) -> str:
    """Return a block of code of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]


def fields_of(*models: type[BaseModel]) -> set[str]:
    return {name for model in models for name in model.model_fields}


# --- the example of a carrier ----------------------------------------------------------------------------------


@pytest.fixture
def carrier(settings: Settings) -> Iterator[RunningCarrier]:
    with simulated_carrier() as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        yield carrier


@pytest.fixture
def account(carrier: RunningCarrier) -> CarrierAccount:
    """The account of the page, at the carrier that runs here."""
    said = json.loads(block("json"))
    said["base_url"] = said["base_url"].replace("http://127.0.0.1:8900", carrier.url)
    credentials = json.loads(block("json", 1))
    return defining.create_account(
        name="Acme", gateway="http_json", settings=said, credentials=credentials, now=database_now()
    )


def test_the_credentials_are_those_of_the_simulated_carrier() -> None:
    assert json.loads(block("json", 1)) == credentials_for(AccountPlan(), token=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis")
@pytest.mark.slow
def test_the_example_imports_its_cards_asks_about_them_and_finds_what_the_page_shows(
    account: CarrierAccount, carrier: RunningCarrier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cards.csv"
    file.write_text(block("csv"))
    make_tier(**{f"{check}_seconds": 1 for check in CheckType})
    call_command("import_cards", str(file), "--dry-run")
    call_command("import_cards", str(file))
    assert capsys.readouterr().out.splitlines() == re.findall(r"^3 new\..*", PAGE, re.MULTILINE)

    initializing.rebuild(client(), account.pk, by="the test", now=database_now())
    with poller() as engine:

        def all_is_known() -> bool:
            engine.submit(account.pk, claimed(account))
            return CardCheck.objects.filter(failures=0, succeeded_at__isnull=False).count() == 3 * len(CheckType)

        wait_until(all_is_known, "all checks of the three cards")

    shown = Card.objects.values_list("iccid", "state", "real_name_state", "package", "allowance_bytes").order_by("pk")
    assert [(*words, f"{allowance:,}") for *words, allowance in shown] == rows_after("what the pages show then")
    assert carrier.stats()["calls"]["usage"] < 3 * carrier.stats()["calls"]["status"]


# --- every setting of http_json --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "column", "fields"),
    [
        ("**The account**", 0, fields_of(HttpJsonSettings)),
        ("**Who asks**", 1, fields_of(TokenAuth, HeaderAuth, QueryAuth) - {"kind"}),
        ("**A call**", 0, fields_of(Call, Check, BatchCall, Lookup, TokenCall)),
        ("**What stands where**", 0, fields_of(Fields)),
        ("**What went wrong**", 0, fields_of(Errors)),
    ],
)
def test_every_setting_is_explained_and_none_that_there_is_not(mark: str, column: int, fields: set[str]) -> None:
    assert names_in(rows_after(mark), column) == fields


def test_the_timeouts_are_those_of_the_code() -> None:
    line = PAGE.partition("**How long is waited**")[2].partition("\n")[0]
    assert {name: float(value) for name, value in re.findall(r"`(\w+)` (\d+)", line)} == Timeouts().model_dump()


# --- parameters ------------------------------------------------------------------------------------------------


def test_the_parameters_have_the_defaults_of_the_code() -> None:
    told = {name.strip("`"): default for name, default, _ in rows_after("## Parameters")}
    (window,) = DEFAULTS["rate_windows"]
    as_told = {"rate_windows": f"{window.limit} in {window.seconds} s", "max_concurrency": "none"}
    assert told == {name: str(value) for name, value in DEFAULTS.items()} | as_told


def test_the_settings_have_the_keys_and_defaults_of_the_code() -> None:
    told = {key.strip("`"): default for key, default, _ in rows_after("**Settings**")}
    assert told == {key: _as_told(system_settings.default(key)) for key in system_settings.FIELDS}


def _as_told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower()


@pytest.mark.parametrize("row", [row for row in rows_after("**In the environment:**") if row[1].isdigit()])
def test_the_numbers_of_the_environment_have_the_defaults_of_the_code(row: Row) -> None:
    assert f'number("{row[0].strip("`")}", {row[1]})' in SETTINGS_FILE


def test_the_keys_in_redis_are_those_of_the_code() -> None:
    assert [row[0].strip("`") for row in rows_after("### Keys in Redis")] == [*NAMES, TRAFFIC]


@pytest.mark.parametrize(
    "words",
    [
        f"messages of up to<br/>{dispatching.CARDS_A_MESSAGE} cards",
        f"within the next {dispatching.HORIZON.total_seconds()} s",
        f"their share ({DEFAULTS['priority_max_ratio'] * 100:.0f} %)",
        f"**Results** of up to {MOST_CARDS} cards",
        f"says every {IN_WORDS[engine_module.SAY_SECONDS]} seconds which queues",
        f"lets what is in work end for {IN_WORDS[engine_module.GRACE_SECONDS]} seconds",
        f"between {IN_WORDS[policy.RESET_LEAD // timedelta(hours=1)]} hours and a quarter of an hour before the end",
        f"up to {policy.JITTER_PERCENT} % earlier or later",
        f"back-off, {policy.BACKOFF_JITTER_PERCENT} % earlier or later",
        f"at least {following.LEAST_SPREAD.total_seconds():.0f} s",
        f"a window of up to {IN_WORDS[EVEN_SECONDS]} seconds are spaced evenly",
        f"may see {LATE_PERCENT} % and one call more",
        f"all of which hold; at most {MOST_WINDOWS} ",
    ],
)
def test_the_figures_in_the_text_are_those_of_the_code(words: str) -> None:
    assert words in " ".join(PAGE.split())


def test_what_the_page_says_in_words_is_so() -> None:
    assert timedelta(minutes=15) == policy.RESET_MARGIN
    assert timedelta(days=1) == holding.LONGEST_PAUSE
    assert timedelta(seconds=1) == stepping.SHORTEST_WAIT


# --- error classes ---------------------------------------------------------------------------------------------


def test_the_table_of_error_classes_says_what_the_code_does() -> None:
    with translation.override("en"):
        expected = [(f"`{error}`", str(error.label), *_what_is_done(error)) for error in ErrorClass]
    assert rows_after("## What each error class does") == expected


def _what_is_done(error: ErrorClass) -> tuple[str, str, str]:
    """Return whose it is, when it is asked again, and when it is told."""
    if error in OF_THE_ACCOUNT:
        pauses = ", ".join(map(str, holding.PAUSES[error]))
        told = f"at the {holding.THROTTLES_BORNE}rd hold in a row" if error is ErrorClass.THROTTLED else "at once"
        return "the account's", f"after {pauses} s", told
    if error in (ErrorClass.COOLDOWN, ErrorClass.PENDING):
        return "nobody's", f"after {LATER_SECONDS} s", "never"
    threshold = system_settings.default("polling.failure.alert_threshold")
    told = "at once" if error in TOLD_AT_ONCE else f"after {threshold} failures in a row"
    return "the card's", "after the back-off", told
