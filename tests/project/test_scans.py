"""Marks of the periodic scans, and the watch that scans in beat's place while beat is silent."""

import logging
from datetime import timedelta

import pytest
from django.db import OperationalError

from project.beat import SCANS, Scan
from project.kit.clock import database_now
from project.models import ScanMark
from project.scans import ScanWatch, mark

pytestmark = pytest.mark.django_db

OFTEN = Scan("test.often", timedelta(seconds=1), "a test")
RARE = Scan("test.rare", timedelta(seconds=10), "a test")


class Watcher:
    """A process that watches, on a monotonic clock that stands still until it is moved."""

    def __init__(self, name: str = "watch", **scans: Scan) -> None:
        self.seconds = 1000.0
        self.scanned: list[str] = []
        self.note = ""
        self.failing: dict[str, Exception] = {}
        self._watch = ScanWatch(scans or {"often": OFTEN}, self._scan, name, lambda: self.seconds)
        self._watch.tick()

    def _scan(self, name: str) -> str:
        self.scanned.append(name)
        if name in self.failing:
            raise self.failing[name]
        return self.note

    def after(self, seconds: float) -> list[str]:
        """Let so many seconds pass, look once, and return what was scanned at this look."""
        self.seconds += seconds
        self.scanned.clear()
        self._watch.tick()
        return list(self.scanned)


# --- marks --------------------------------------------------------------------------------------------------------


def test_a_mark_says_when_a_scan_ran_by_whom_and_what_it_noted() -> None:
    before = database_now()
    mark("often", by="worker 1", note="broker unreachable")
    (row,) = ScanMark.objects.all()
    assert (row.name, row.last_by, row.note, str(row)) == ("often", "worker 1", "broker unreachable", "often")
    assert before <= row.last_at <= database_now()


def test_marks_count_apart_what_beat_asked_for_and_what_a_watch_did() -> None:
    for from_beat in (True, True, False):
        mark("often", by="somebody", from_beat=from_beat)
    mark("rare", by="somebody", from_beat=False)
    counts = dict(ScanMark.objects.values_list("name", "beat_count"))
    assert counts == {"often": 2, "rare": 0}
    assert set(ScanMark.objects.values_list("watch_count", flat=True)) == {1}


def test_the_latest_mark_is_what_is_shown() -> None:
    mark("often", by="one", note="broker unreachable")
    first = ScanMark.objects.get().last_at
    mark("often", by="two" * 100)
    row = ScanMark.objects.get()
    assert (row.note, row.last_by[:6], len(row.last_by)) == ("", "twotwo", 200)
    assert row.last_at > first


# --- while beat asks ----------------------------------------------------------------------------------------------


def test_while_beat_asks_the_watch_only_watches() -> None:
    watcher = Watcher()
    for _ in range(20):
        mark("often", by="worker")
        assert watcher.after(4.9) == []


@pytest.mark.parametrize(
    ("every", "patience"),
    [(0.1, 5.0), (1, 5.0), (2, 10.0), (10, 50.0)],
)
def test_beat_is_silent_after_five_intervals_and_at_least_five_seconds(every: float, patience: float) -> None:
    watcher = Watcher(scan=Scan("test.scan", timedelta(seconds=every), "a test"))
    assert watcher.after(patience - 0.01) == []
    assert watcher.after(0.01) == ["scan"]


def test_the_silence_counts_from_the_last_scan_that_beat_asked_for() -> None:
    watcher = Watcher()
    watcher.after(4)
    mark("often", by="worker")
    assert watcher.after(4) == []
    assert watcher.after(4.9) == []
    assert watcher.after(0.2) == ["often"]


def test_a_watch_that_begins_while_beat_is_silent_is_patient_first() -> None:
    """A worker that starts a second before beat does not scan in its place."""
    mark("often", by="worker")
    ScanMark.objects.update(last_at=database_now() - timedelta(days=1))
    watcher = Watcher()
    assert watcher.after(4.9) == []
    assert watcher.after(0.1) == ["often"]


# --- while beat is silent -----------------------------------------------------------------------------------------


def test_while_beat_is_silent_each_scan_is_done_at_its_interval() -> None:
    watcher = Watcher(often=OFTEN, rare=RARE)
    assert watcher.after(5) == ["often"]
    assert watcher.after(0.9) == []
    assert watcher.after(0.1) == ["often"]
    assert watcher.after(44) == ["often", "rare"]
    assert watcher.after(9.9) == ["often"]
    assert watcher.after(0.1) == ["rare"]


def test_a_scan_in_beat_s_place_is_marked_as_such_with_its_note() -> None:
    watcher = Watcher("watch of worker 1")
    watcher.note = "broker unreachable"
    watcher.after(5)
    row = ScanMark.objects.get()
    assert (row.beat_count, row.watch_count, row.last_by, row.note) == (
        0,
        1,
        "watch of worker 1",
        "broker unreachable",
    )


def test_when_beat_is_back_the_watch_only_watches_again() -> None:
    watcher = Watcher()
    assert watcher.after(5) == ["often"]
    mark("often", by="worker")
    assert watcher.after(1) == []
    assert watcher.after(4) == []


def test_only_the_scan_that_is_not_asked_for_is_done() -> None:
    watcher = Watcher(often=OFTEN, other=OFTEN)
    for _ in range(10):
        mark("often", by="worker")
        done = watcher.after(1)
    assert done == ["other"]


def test_several_watches_scan_side_by_side_and_none_takes_the_other_for_beat() -> None:
    one, two = Watcher("one"), Watcher("two")
    for _ in range(3):
        assert one.after(5) == ["often"]
        assert two.after(5) == ["often"]
    assert ScanMark.objects.get().watch_count == 6


@pytest.mark.parametrize("stepped", [timedelta(days=-1), timedelta(days=1)])
def test_a_wall_clock_that_steps_deceives_nobody(stepped: timedelta) -> None:
    """B47, B79: neither hides that beat is silent nor makes it seem so."""
    watcher = Watcher()
    mark("often", by="worker")
    ScanMark.objects.update(last_at=database_now() + stepped)
    assert watcher.after(4.9) == []
    ScanMark.objects.update(last_at=database_now() - stepped)
    assert watcher.after(5) == ["often"]


def test_the_silence_and_the_return_of_beat_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher()
    with caplog.at_level(logging.WARNING, logger="project.scans"):
        for _ in range(4):
            watcher.after(5)
        mark("often", by="worker")
        for _ in range(4):
            watcher.after(1)
    assert caplog.messages == ["beat is silent: scanning in its place", "beat is back"]


# --- faults -------------------------------------------------------------------------------------------------------


def test_a_database_that_is_away_is_borne(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("project.scans.connection.close", lambda: None)
    watcher = Watcher()
    watcher.failing["often"] = OperationalError("the database is away")
    assert watcher.after(5) == ["often"]
    watcher.failing.clear()
    assert watcher.after(1) == ["often"]
    assert ScanMark.objects.get().watch_count == 1


def test_a_scan_that_fails_each_time_does_not_keep_the_others_from_their_turn() -> None:
    watcher = Watcher(broken=OFTEN, sound=OFTEN)
    watcher.failing["broken"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        watcher.after(5)
    assert watcher.scanned == ["broken"]
    assert watcher.after(0.25) == ["sound"]


def test_each_of_the_real_scans_says_why_it_is() -> None:
    assert all(scan.reason for scan in SCANS.values())
