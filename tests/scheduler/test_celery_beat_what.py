"""`manage.py import_celery_beat`: a row's task is executed here or sent to its own workers, or stays with beat."""

import json

import pytest
from django.core.management import CommandError, call_command

from scheduler.models import Schedule
from tests.scheduler.periodic import Run, every, only, outcomes, periodic, run

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db

REDIS = "redis://:hush@broker.example:6379/3"


@pytest.mark.parametrize("args", ["[", "not json", "[NaN]", "[1e", "[" * 100_000])
def test_arguments_that_are_no_json_are_reported(run: Run, args: str) -> None:
    periodic(args=args)
    row = only(run("--apply"))
    assert row["outcome"] == "cannot be read"
    assert row["reason"] == f"Its args cannot be read as JSON: {args[:80]}"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"args": '{"a": 1}'}, "Parameter “args”: Input should be a valid list."),
        ({"kwargs": "[1]"}, "Parameter “kwargs”: Input should be a valid dictionary."),
        ({"args": r'["\u0000"]'}, "The database cannot keep it: unsupported Unicode escape sequence."),
        ({"args": '[{"__type__": "datetime", "__value__": "2026-06-01T00:00:00"}]'}, "Its args or kwargs hold a date"),
    ],
    ids=str,
)
def test_arguments_that_the_task_would_not_get_are_refused_before_anything_is_written(
    run: Run, fields: dict[str, str], said: str
) -> None:
    periodic(**fields)
    periodic()
    assert outcomes(run()) == ["refused", "to import"]
    report = run("--apply")
    assert outcomes(report) == ["refused", "imported"]
    assert report["rows"][0]["reason"].startswith(said)


def test_what_has_no_meaning_for_a_task_that_is_executed_here_is_told(run: Run) -> None:
    periodic(queue="fast", exchange="x", routing_key="r", priority=0, expire_seconds=30, headers='{"tenant": 1}')
    row = only(run("--apply"))
    assert row["params"] == {"task": "shop.invoice"}
    assert row["notes"] == [
        "Without a meaning here: queue=fast, exchange=x, routing_key=r, priority=0, expire_seconds=30,"
        ' headers={"tenant": 1}.'
    ]


def test_a_task_that_is_not_registered_here_is_reported_with_the_remedy(run: Run) -> None:
    periodic(task="legacy.sync")
    row = only(run("--apply"))
    assert row["outcome"] == "not imported"
    assert row["reason"] == (
        "No task “legacy.sync” is registered here. Name its Django app in TIDELINE_APPS or its module in "
        "TIDELINE_JOBS, or say with --broker-url where its own workers are, and import again."
    )


def test_a_task_that_is_not_registered_here_is_sent_to_the_broker_that_is_named(run: Run) -> None:
    periodic(name="here")
    periodic(name="there", task="legacy.sync", queue="slow", priority=3, expire_seconds=30, headers='{"tenant": 1}')
    periodic(name="routed", task="legacy.sync", exchange="x", routing_key="r")
    report = run("--apply", "--broker-url", REDIS, "--result-backend", f"{REDIS}1", "--queue", "usual")
    here, there, routed = (schedule.params for schedule in Schedule.objects.order_by("pk"))
    assert here == {"task": "shop.invoice"}
    elsewhere = {"task": "legacy.sync", "broker_url": REDIS, "result_backend": f"{REDIS}1"}
    assert there == elsewhere | {"queue": "slow", "priority": 3, "expires_seconds": 30}
    assert routed == elsewhere | {"exchange": "x", "routing_key": "r"}
    assert report["rows"][1]["notes"] == ['Without a meaning here: headers={"tenant": 1}.']
    assert report["warnings"] == []
    assert "hush" not in json.dumps(report)


def test_tasks_whose_end_nobody_will_know_are_warned_of(run: Run) -> None:
    periodic(task="legacy.sync")
    report = run("--broker-url", REDIS, "--queue", "usual")
    assert only(report)["params"] == {"task": "legacy.sync", "broker_url": "••••••", "queue": "usual"}
    assert report["warnings"] == [
        "Without --result-backend it is not known how the tasks end that are sent to the other application."
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--broker-url", "nonsense"), "It must be a broker's URL"),
        (("--queue", "usual"), "queue only matters to another application; give its broker_url too"),
        (("--tz", "Berlin"), r"Did you mean Europe/Berlin\?"),
    ],
)
def test_an_option_that_would_be_wrong_in_every_row_is_one_sentence(args: tuple[str, ...], said: str) -> None:
    periodic(task="legacy.sync")
    with pytest.raises(CommandError, match=said):
        call_command("import_celery_beat", *args)


def test_tidelines_own_scans_and_celerys_housekeeping_stay_with_beat(run: Run) -> None:
    periodic(every(1, "seconds"), task="scheduler.fire_due")
    periodic(task="celery.backend_cleanup")
    report = run("--apply", "--broker-url", REDIS)
    assert [(row["outcome"], row["reason"]) for row in report["rows"]] == [
        ("not imported", "It is one of Tideline's own scans, which beat is to run."),
        ("not imported", "It is Celery's own housekeeping for its application: leave it to beat."),
    ]
