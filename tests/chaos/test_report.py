"""The figures of a campaign as programs read them, and what makes it fail."""

import json
from pathlib import Path

from tests.chaos.report import Figure, Report, judged


def nobody_is_right() -> int:
    raise AssertionError("two fires for one instant")


def test_what_an_audit_asserts_is_the_fault_of_its_figure_and_of_the_report(tmp_path: Path) -> None:
    kept = judged("each has one outcome", "runs", lambda: 3)
    broken = judged("each has one fire", "instants", nobody_is_right)
    report = Report(1, 60, {"kill_a_child": 2}, {"attempts": 4}, [kept, broken])

    report.save(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())

    assert kept == Figure("each has one outcome", "runs", 3)
    assert report.faults == ["each has one fire: two fires for one instant"]
    assert (saved["met"], saved["harm"], saved["figures"][0]["number"]) == (False, {"kill_a_child": 2}, 3)
    assert "WRONG: two fires for one instant" in report.as_text()
