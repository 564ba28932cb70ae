"""Beat that is silent and a broker that is away are told once, and resolved when beat's scans arrive again."""

import pytest

from alerts.models import Alert
from project import watching
from project.beat import SCANS
from project.kit.clock import database_now
from project.scans import ScanWatch, mark
from project.watching import LAUNCH, PROOF, SILENCE_TOLD_AFTER_SECONDS

pytestmark = pytest.mark.django_db


class Watch:
    """A watch over the launching scan, whose note is what `note` says."""

    def __init__(self) -> None:
        self.seconds, self.note = 1000.0, ""
        self._watch = ScanWatch({LAUNCH: SCANS[LAUNCH]}, lambda _: self.note, "watch", lambda: self.seconds)
        self._watch.tick()

    def look_for(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.seconds += 1
            self._watch.tick()


def alerts() -> list[tuple[str, int, bool]]:
    rows = Alert.objects.order_by("id").values_list("kind", "count", "resolved_at")
    return [(kind, count, resolved_at is not None) for kind, count, resolved_at in rows]


def test_the_scans_that_are_named_exist() -> None:
    assert {LAUNCH, PROOF} <= SCANS.keys()


def test_a_short_silence_of_beat_is_not_told() -> None:
    watch = Watch()
    watch.look_for(SILENCE_TOLD_AFTER_SECONDS)
    assert alerts() == []


def test_a_long_silence_of_beat_is_told_once() -> None:
    watch = Watch()
    watch.look_for(SILENCE_TOLD_AFTER_SECONDS + 100)
    assert alerts() == [("beat_silent", 1, False)]


def test_another_silence_is_told_again() -> None:
    watch = Watch()
    watch.look_for(SILENCE_TOLD_AFTER_SECONDS + 10)
    watching.all_clear(PROOF, now=database_now())
    mark(LAUNCH, by="worker")
    watch.look_for(2)
    watch.look_for(SILENCE_TOLD_AFTER_SECONDS + 10)
    assert alerts() == [("beat_silent", 1, True), ("beat_silent", 1, False)]


def test_a_broker_that_is_away_is_told_at_once_and_once() -> None:
    watch = Watch()
    watch.note = "Broker unreachable (ConnectionError): due runs stay due until it is back."
    watch.look_for(60)
    assert alerts() == [("broker_down", 1, False)]
    assert Alert.objects.get().sentence == watch.note


def test_a_scan_that_beat_sent_through_the_broker_shows_that_both_are_well() -> None:
    watching.tell_of_silence(now=database_now())
    watching.tell_of_broker("It is away.", now=database_now())
    watching.all_clear(LAUNCH, now=database_now())
    assert [resolved for _, _, resolved in alerts()] == [False, False]
    watching.all_clear(PROOF, now=database_now())
    assert [resolved for _, _, resolved in alerts()] == [True, True]
