"""For how long history is kept, the scan that prunes a part of it, and `manage.py prune`."""

from functools import partial

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from project import pruning
from project.environment import days
from project.kit.api.models import IdempotentRequest
from project.kit.clock import database_now
from project.kit.pruning import prune
from tests.scheduler.commands.asking import Shell
from tests.scheduler.factories import DAY


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)


@pytest.fixture
def requests(db: None) -> None:
    """Five answered requests, of 5, 4, 3, 2 and 1 days ago."""
    user, now = User.objects.create(username="program"), database_now()
    IdempotentRequest.objects.bulk_create(
        IdempotentRequest(user=user, key=str(age), path="/", digest="", status=201, created_at=now - age * DAY)
        for age in range(5, 0, -1)
    )


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch of two rows a scan."""
    monkeypatch.setattr(pruning, "BATCHES_A_SCAN", 1)
    monkeypatch.setattr("project.kit.pruning.prune", partial(prune, batch=2))


def keep(settings: Settings, **kept: int) -> None:
    """Keep these kinds for so many days, and all others for ever."""
    settings.TIDELINE_KEEP_DAYS = dict.fromkeys(settings.TIDELINE_KEEP_DAYS, 0) | kept


def test_each_kind_has_its_days_and_no_days_are_of_no_kind(settings: Settings) -> None:
    assert {kind.kept_as or kind.name for kind in pruning.KINDS} == set(settings.TIDELINE_KEEP_DAYS)
    assert all(kept > 0 for kept in settings.TIDELINE_KEEP_DAYS.values())


@pytest.mark.parametrize(("value", "kept"), [("7", 7), ("0", 0), ("", 0), (None, 30)])
def test_days_are_a_number_and_none_at_all_means_for_ever(
    monkeypatch: pytest.MonkeyPatch, value: str | None, kept: int
) -> None:
    monkeypatch.delenv("KEEP", raising=False)
    if value is not None:
        monkeypatch.setenv("KEEP", value)
    assert days("KEEP", 30) == kept


@pytest.mark.parametrize("value", ["a year", "-1", "36501"])
def test_days_that_cannot_be_counted_back_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("KEEP", value)
    with pytest.raises(ImproperlyConfigured, match="KEEP is "):
        days("KEEP", 30)


def test_a_scan_deletes_a_bounded_part_and_the_next_one_goes_on(
    requests: None, small_batches: None, settings: Settings
) -> None:
    keep(settings, api_requests=2)
    now = database_now()
    assert [pruning.prune_some(now=now) for _ in range(3)] == [2, 2, 0]
    assert IdempotentRequest.objects.count() == 1


def test_what_is_kept_for_ever_stays(requests: None, settings: Settings) -> None:
    keep(settings)
    assert pruning.prune_some(now=database_now()) == 0


def test_a_dry_run_counts_and_deletes_nothing(requests: None, settings: Settings, shell: Shell) -> None:
    keep(settings, api_requests=3)
    said = shell.values("prune", "--dry-run")
    assert said["dry_run"] is True
    assert {name: rows for name, rows in said["rows"].items() if rows is not None} == {"api_requests": 3}
    assert IdempotentRequest.objects.count() == 5


def test_the_command_prunes_all_of_the_kinds_that_it_is_told(requests: None, settings: Settings, shell: Shell) -> None:
    keep(settings, api_requests=3, alerts=3)
    said = shell.says("prune", "--kind", "api_requests", "--kind", "runs")
    assert said == "runs: kept for ever.\napi_requests: 3 rows deleted; days kept: 3."
    assert IdempotentRequest.objects.count() == 2
