"""Settings are typed, described and refused with a reason; what holds is read by each process some seconds late."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.migrations.state import ProjectState

from project.kit.versions import StaleVersion
from scheduler.polling import system_settings
from scheduler.polling.models import SystemSetting
from scheduler.polling.remembering import Remembered
from scheduler.polling.states import CheckType
from scheduler.polling.system_settings import FIELDS, Mode, Settings, UnknownSetting, change, current
from tests.scheduler.polling.factories import HOUR, NOW

pytestmark = pytest.mark.django_db

BACKOFF = "polling.failure.backoff"


def set_to(value: Any, key: str = BACKOFF, **options: Any) -> SystemSetting:
    return change(key, value, actor="ann", now=NOW, **options)


# --- what may be set ---------------------------------------------------------------------------------------------


def test_every_key_has_three_segments_a_description_a_schema_and_a_default_that_fits() -> None:
    for key, field in FIELDS.items():
        assert len(key.split(".")) >= 3
        assert field.description
        assert system_settings.schema(key)["description"] == field.description
        assert system_settings.checked(key, system_settings.default(key)) == system_settings.default(key)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("polling.steps.order", ["usage", "usage"], "Name each step once"),
        ("polling.steps.order", ["usage", "colour"], "entry 2: Input should be 'real_name', 'usage'"),
        ("polling.steps.order", [], "at least 1"),
        ("polling.steps.order", "usage", "valid array"),
        ("polling.steps.timeout", 0, "greater than or equal to 1"),
        ("polling.steps.timeout", True, "valid integer"),
        ("polling.steps.timeout", "20", "valid integer"),
        ("polling.steps.timeout", 1.5, "valid integer"),
        (BACKOFF, [60, 60], "longer than the one before"),
        (BACKOFF, [60, 300, 299], "longer than the one before"),
        (BACKOFF, [0], "entry 1: Input should be greater than or equal to 1"),
        (BACKOFF, [], "at least 1"),
        (BACKOFF, None, "valid array"),
        ("polling.stop_resume.queue_enabled", 1, "valid boolean"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason_and_the_old_one_stays(key: str, value: Any, sentence: str) -> None:
    set_to(system_settings.default(key), key)
    with pytest.raises(ValidationError) as refusal:
        set_to(value, key)
    assert sentence in refusal.value.message_dict["value"][0]
    assert key in refusal.value.message_dict["value"][0]
    assert SystemSetting.objects.get(pk=key).value == system_settings.default(key)


def test_a_key_that_nobody_knows_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownSetting, match=r"There is no setting “polling\.colour\.of”.*polling\.steps\.order"):
        set_to(3, "polling.colour.of")
    assert not SystemSetting.objects.exists()


# --- what holds --------------------------------------------------------------------------------------------------


def test_where_nothing_is_set_the_defaults_hold() -> None:
    assert current() == Settings()


@pytest.mark.django_db(transaction=True)
def test_what_is_set_holds_at_once_in_the_process_that_set_it() -> None:
    assert current().failure_backoff[0] == 60
    set_to([10, 20])
    set_to(["usage"], "polling.steps.order")
    assert current().failure_backoff == (10, 20)
    assert current().steps_order == (CheckType.USAGE,)


@pytest.mark.django_db(transaction=True)
def test_who_decides_is_changed_by_a_cut_over_alone() -> None:
    with pytest.raises(ValidationError, match="cut-over"):
        set_to("legacy", system_settings.MODE_KEY)
    with pytest.raises(ValidationError, match="'carrier' or 'legacy'"):
        set_to("both", system_settings.MODE_KEY)
    system_settings.set_mode(Mode.LEGACY, actor="ann", now=NOW)
    assert current().scheduler_mode is Mode.LEGACY
    with pytest.raises(ValidationError, match="cut-over"):
        system_settings.back_to_default(system_settings.MODE_KEY)
    assert current().scheduler_mode is Mode.LEGACY


@pytest.mark.django_db(transaction=True)
def test_back_to_the_default_forgets_what_was_set() -> None:
    set_to([10, 20])
    assert current().failure_backoff == (10, 20)
    assert system_settings.back_to_default(BACKOFF)
    assert current() == Settings()
    assert not system_settings.back_to_default(BACKOFF)


def test_a_row_that_does_not_fit_any_more_leaves_the_default_and_the_others_hold(caplog: Any) -> None:
    set_to([10, 20])
    set_to(50, "polling.gateway.max_wait")
    SystemSetting.objects.filter(pk=BACKOFF).update(value=["long", "longer"])
    SystemSetting.objects.create(key="polling.of.yore", value=1, changed_at=NOW)
    assert current().failure_backoff == Settings().failure_backoff
    assert current().gateway_max_wait == 50
    assert "polling.failure.backoff, entry 1" in caplog.text


# --- versions ----------------------------------------------------------------------------------------------------


def test_each_change_counts_the_version_and_names_who_made_it() -> None:
    assert set_to([10, 20]).version == 1
    row = change(BACKOFF, [30], actor="bob", now=NOW + HOUR)
    assert (row.version, row.changed_by, row.changed_at) == (2, "bob", NOW + HOUR)


def test_the_same_value_again_changes_nothing() -> None:
    set_to([10, 20])
    assert change(BACKOFF, [10, 20], actor="bob", now=NOW + HOUR).changed_by == "ann"


@pytest.mark.parametrize("seen", [0, 2])
def test_whoever_saw_another_version_is_refused(seen: int) -> None:
    set_to([10, 20])
    with pytest.raises(StaleVersion):
        set_to([30], expected_version=seen)
    assert current().failure_backoff == (10, 20)


def test_a_first_change_by_a_form_that_saw_none_is_taken() -> None:
    assert set_to([30], expected_version=0).version == 1


def test_a_first_change_that_is_refused_leaves_no_row() -> None:
    with pytest.raises(StaleVersion):
        set_to([30], expected_version=1)
    assert not SystemSetting.objects.exists()


# --- renamed -----------------------------------------------------------------------------------------------------


def test_a_key_that_is_renamed_keeps_its_value_there_and_back() -> None:
    SystemSetting.objects.create(key="polling.failure.pauses", value=[7, 8], changed_at=NOW)
    rename = system_settings.renamed("polling.failure.pauses", BACKOFF)
    state = ProjectState()
    with connection.schema_editor() as editor:
        rename.database_forwards("polling", editor, state, state)
    assert current().failure_backoff == (7, 8)
    with connection.schema_editor() as editor:
        rename.database_backwards("polling", editor, state, state)
    assert list(SystemSetting.objects.values_list("key", "value")) == [("polling.failure.pauses", [7, 8])]


# --- remembering -------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_read_anew_after_some_seconds_and_when_it_was_forgotten() -> None:
    answers, clock = iter(range(10)), iter([0.0, 4.9, 5.0, 5.0, 5.1, 5.2, 5.3])
    remembered = Remembered(lambda: next(answers), seconds=5, monotonic=lambda: next(clock))
    assert [remembered(), remembered(), remembered(), remembered()] == [0, 0, 1, 1]
    remembered.forget()
    assert remembered() == 2


def test_a_read_that_fails_is_not_remembered() -> None:
    outcomes = iter([OSError("away"), 7])

    def load() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    remembered = Remembered(load)
    with pytest.raises(OSError, match="away"):
        remembered()
    assert remembered() == 7
