"""What time alone does to alerts: repetitions, the end of silences, and the end of flapping."""

from datetime import datetime, timedelta

import pytest

from alerts import delivering, repeating
from alerts.models import Alert, Event, Silence
from alerts.opening import FLAPS_AFTER
from alerts.recording import acknowledge, raise_alert, raise_alerts, resolve_alert
from alerts.repeating import BATCH, CALM, end_flapping, repeat_open, tell_untold
from tests.alerts.factories import PERMANENT, Clock, Sender, make_channel, problem, told_to
from tests.scheduler.factories import NOW

FAILED = "run_failed:run:1"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

pytestmark = pytest.mark.django_db


def flap(times: int = FLAPS_AFTER) -> datetime:
    """Let the problem come and go; return when it went last."""
    for number in range(times):
        raise_alert(problem(), now=NOW + 2 * number * MINUTE)
        resolve_alert(FAILED, now=NOW + (2 * number + 1) * MINUTE)
    return NOW + (2 * times - 1) * MINUTE


# --- repetitions -----------------------------------------------------------------------------------------------------


def test_an_open_alert_is_told_again_to_each_channel_after_the_hours_that_it_says() -> None:
    hourly, daily, never = make_channel(repeat_hours=1), make_channel(repeat_hours=24), make_channel()
    raise_alert(problem(), now=NOW)
    assert repeat_open(now=NOW + HOUR - timedelta(seconds=1)) == 0
    for hour in range(1, 25):
        assert repeat_open(now=NOW + hour * HOUR) == 1
        assert repeat_open(now=NOW + hour * HOUR) == 0
    assert told_to(hourly) == ["opened"] + ["repeated"] * 24
    assert told_to(daily) == ["opened", "repeated"]
    assert told_to(never) == ["opened"]


def test_a_repetition_says_since_when_and_how_often() -> None:
    make_channel(repeat_hours=1)
    for _ in range(3):
        raise_alert(problem(), now=NOW)
    repeat_open(now=NOW + HOUR)
    text = Event.objects.get(telling="repeated").text
    assert text == f"It failed.\nOpen since {NOW:%Y-%m-%d %H:%M} UTC; it occurred 3 times."


def test_what_somebody_sees_to_or_is_over_is_not_told_again() -> None:
    channel = make_channel(repeat_hours=1)
    seen_to = raise_alert(problem("run_failed:run:1"), now=NOW)
    raise_alert(problem("run_failed:run:2"), now=NOW)
    acknowledge(seen_to.pk, actor="ada")
    resolve_alert("run_failed:run:2", now=NOW)
    assert repeat_open(now=NOW + 5 * HOUR) == 0
    assert told_to(channel) == ["opened", "opened", "recovered"]


def test_a_channel_that_was_not_told_of_the_opening_is_not_told_that_it_lasts() -> None:
    refused = make_channel(repeat_hours=1)
    raise_alert(problem(), now=NOW)
    delivering.serve(refused.pk, send=Sender(PERMANENT), clock=Clock())
    later = make_channel(repeat_hours=1)
    off = make_channel(repeat_hours=1, enabled=False)
    assert repeat_open(now=NOW + 5 * HOUR) == 0
    assert told_to(refused) == ["opened"]
    assert told_to(later) == told_to(off) == []


def test_what_is_silenced_or_part_of_another_is_not_told_again() -> None:
    make_channel(repeat_hours=1)
    raise_alert(problem("card_failing:1", parent="account_failing:1", kind="card_failing"), now=NOW)
    raise_alert(problem("account_failing:1", kind="account_failing"), now=NOW)
    raise_alert(problem("card_failing:1", parent="account_failing:1", kind="card_failing"), now=NOW)
    Silence.objects.create(kind="account_failing", starts_at=NOW, ends_at=NOW + 3 * HOUR, reason="Known.")
    assert repeat_open(now=NOW + 2 * HOUR) == 0
    assert repeat_open(now=NOW + 3 * HOUR) == 1
    assert Event.objects.get(telling="repeated").kind == "account_failing"


def test_alerts_whose_channels_wait_for_longer_do_not_stand_before_those_that_are_due() -> None:
    make_channel(repeat_hours=24, kinds=["run_failed"])
    raise_alerts([problem(f"run_failed:run:{number}") for number in range(BATCH + 1)], now=NOW)
    make_channel(repeat_hours=1, kinds=["quota_exhausted"])
    raise_alert(problem("quota_exhausted:1", kind="quota_exhausted"), now=NOW + MINUTE)
    assert repeat_open(now=NOW + 2 * HOUR) == 1


# --- silences --------------------------------------------------------------------------------------------------------


def test_what_is_still_open_after_its_silence_is_told_once() -> None:
    channel = make_channel()
    Silence.objects.create(kind="run_failed", starts_at=NOW, ends_at=NOW + HOUR, reason="Works on the line.")
    raise_alert(problem("run_failed:run:1"), now=NOW)
    raise_alert(problem("run_failed:run:2"), now=NOW)
    resolve_alert("run_failed:run:2", now=NOW)
    assert tell_untold(now=NOW + HOUR - MINUTE) == 0
    assert tell_untold(now=NOW + HOUR) == 1
    assert tell_untold(now=NOW + HOUR) == 0
    assert told_to(channel) == ["opened"]
    assert Alert.objects.get(fingerprint="run_failed:run:1").untold == ""


def test_a_silence_of_other_labels_holds_nothing_back() -> None:
    channel = make_channel()
    Silence.objects.create(labels={"name": "nightly"}, starts_at=NOW, ends_at=NOW + HOUR, reason="Known.")
    Silence.objects.create(labels={"name": "hourly"}, starts_at=NOW, ends_at=NOW + 9 * HOUR, reason="Known.")
    raise_alert(problem(), now=NOW)
    assert told_to(channel) == []
    assert tell_untold(now=NOW + HOUR) == 1
    assert told_to(channel) == ["opened"]


def test_what_is_part_of_an_open_alert_or_flaps_is_not_told_as_if_it_had_been_silenced() -> None:
    make_channel()
    raise_alert(problem("account_failing:1"), now=NOW)
    raise_alert(problem("card_failing:1", parent="account_failing:1"), now=NOW)
    ended = flap()
    raise_alert(problem(), now=ended)
    assert tell_untold(now=ended + MINUTE) == 0


# --- flapping --------------------------------------------------------------------------------------------------------

BEFORE = ["opened", "recovered"] * (FLAPS_AFTER - 1)


def test_case_56_what_has_calmed_down_and_is_well_is_told_so_once() -> None:
    channel = make_channel()
    ended = flap()
    assert told_to(channel) == [*BEFORE, "flapping"]
    assert end_flapping(now=ended + CALM - MINUTE) == 0
    assert end_flapping(now=ended + CALM) == 1
    assert end_flapping(now=ended + CALM) == 0
    assert told_to(channel) == [*BEFORE, "flapping", "recovered"]


def test_case_56_what_has_calmed_down_and_stayed_is_told_so_and_later_its_end() -> None:
    channel = make_channel()
    flap(FLAPS_AFTER + 2)
    stays_since = NOW + 30 * MINUTE
    raise_alert(problem(), now=stays_since)
    assert end_flapping(now=stays_since + CALM) == 1
    resolve_alert(FAILED, now=stays_since + 2 * CALM)
    assert told_to(channel) == [*BEFORE, "flapping", "opened", "recovered"]


def test_what_stays_from_the_very_occurrence_that_was_told_as_flapping_has_one_end() -> None:
    channel = make_channel()
    ended = flap(FLAPS_AFTER - 1)
    raise_alert(problem(), now=ended)
    assert end_flapping(now=ended + CALM) == 1
    resolve_alert(FAILED, now=ended + 2 * CALM)
    assert told_to(channel) == [*BEFORE, "flapping", "opened", "recovered"]


def test_only_those_who_were_told_of_the_flapping_are_told_of_its_end() -> None:
    channel = make_channel()
    ended = flap()
    later = make_channel()
    end_flapping(now=ended + CALM)
    assert told_to(channel)[-1] == "recovered"
    assert told_to(later) == []


def test_a_problem_that_flaps_on_is_not_judged_and_holds_up_no_other() -> None:
    channel = make_channel()
    ended = flap()
    for minute in range(0, 300, 30):
        raise_alert(problem(), now=ended + minute * MINUTE)
        assert end_flapping(now=ended + minute * MINUTE) == 0
        resolve_alert(FAILED, now=ended + minute * MINUTE)
    assert told_to(channel) == [*BEFORE, "flapping"]


def test_after_its_end_the_next_opening_is_told_again() -> None:
    channel = make_channel()
    ended = flap()
    repeating.end_flapping(now=ended + CALM)
    raise_alert(problem(), now=ended + CALM + MINUTE)
    assert told_to(channel) == [*BEFORE, "flapping", "recovered", "opened"]
