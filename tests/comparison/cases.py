"""The inputs, and what is right by docs/daylight-saving.md. Read by us and, in their own Python, by the peers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

Instants = tuple[datetime, ...]
BROKE_OTHERS = Path(__file__).parents[1] / "scheduler" / "cases" / "cron.json"


@dataclass(frozen=True)
class Case:
    """An expression in a zone between two instants.

    Attributes:
        right: what is due by our rule; None: it has to be refused.
        policies: other answers that can be defended, by what the engine decided otherwise.
    """

    cron: str
    zone: str
    after: datetime
    until: datetime
    right: Instants | None
    policies: Mapping[str, Instants] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case in a word, unique among the cases."""
        return f"{self.cron} {self.zone} {self.after:%Y-%m-%d}"


def instants(*texts: str) -> Instants:
    """Return the instants that ISO texts name."""
    return tuple(datetime.fromisoformat(text).astimezone(UTC) for text in texts)


_GAP_KEPT = "the gap's length is added"
_BOTH_FIELDS = "both day fields must match"
_MONDAY_IS_0 = "0 is Monday, as its manual says"
# Where cron.json leaves more than one answer that can be defended: its name of the case, why, and that answer.
_POLICIES: Mapping[str, Mapping[str, Instants]] = {
    "gap 02:30 daily NY": {
        _GAP_KEPT: instants("2026-03-07T02:30-05:00", "2026-03-08T03:30-04:00", "2026-03-09T02:30-04:00")
    },
    "30-min DST LordHowe 02:15": {
        _GAP_KEPT: instants(
            "2026-10-03T02:15+10:30", "2026-10-04T02:45+11:00", "2026-10-05T02:15+11:00", "2026-10-06T02:15+11:00"
        )
    },
    "dow 0": {_MONDAY_IS_0: instants("2026-06-01T08:00+00:00", "2026-06-08T08:00+00:00")},
    "dow 1-5": {_MONDAY_IS_0: instants("2026-06-05T08:00+00:00", "2026-06-06T08:00+00:00")},
    "0 */2 over gap Toronto": {
        "02:00, which the clock leaves out, is made up": instants(
            "2026-03-08T00:00-05:00",
            "2026-03-08T03:00-04:00",
            "2026-03-08T04:00-04:00",
            "2026-03-08T06:00-04:00",
            "2026-03-08T08:00-04:00",
        )
    },
}


def _from_file() -> list[Case]:
    return [
        Case(
            entry["cron"],
            entry["timezone"],
            *instants(entry["after"], entry["until"]),
            right=None if entry["expect_utc"] is None else instants(*entry["expect_utc"]),
            policies=_POLICIES.get(entry["name"], {}),
        )
        for entry in json.loads(BROKE_OTHERS.read_text())
    ]


def _case(cron: str, zone: str, span: tuple[str, str], *right: str, **policies: Instants) -> Case:
    return Case(cron, zone, *instants(*span), instants(*right), policies)


def _hours(day: str, *times: str) -> list[str]:
    return [f"{day}T{time}" for time in times]


_AUTUMN_NEW_YORK = ("2026-11-01T00:00-04:00", "2026-11-01T04:00-05:00")
_FRIDAYS_AND_13 = [f"2026-06-{day}T00:00+00:00" for day in ("05", "12", "13", "19", "26")]

MORE = [
    _case(
        "30 * * * *",
        "America/New_York",
        _AUTUMN_NEW_YORK,
        *_hours("2026-11-01", "00:30-04:00", "01:30-04:00", "01:30-05:00", "02:30-05:00", "03:30-05:00"),
    ),
    _case(
        "*/20 * * * *",
        "Europe/Berlin",
        ("2026-10-25T02:00+02:00", "2026-10-25T03:00+01:00"),
        *_hours("2026-10-25", "02:00+02:00", "02:20+02:00", "02:40+02:00", "02:00+01:00", "02:20+01:00", "02:40+01:00"),
    ),
    _case(
        "*/30 1 * * *",
        "Europe/London",
        ("2026-10-25T00:00+01:00", "2026-10-25T03:00+00:00"),
        *_hours("2026-10-25", "01:00+01:00", "01:30+01:00", "01:00+00:00", "01:30+00:00"),
    ),
    _case(
        "0 0 * * *",
        "Africa/Cairo",
        ("2026-04-23T12:00+02:00", "2026-04-25T12:00+03:00"),
        "2026-04-24T01:00+03:00",
        "2026-04-25T00:00+03:00",
    ),
    _case(
        "0 0 1 * *",
        "Europe/Berlin",
        ("2026-03-02T00:00+01:00", "2026-05-02T00:00+02:00"),
        "2026-04-01T00:00+02:00",
        "2026-05-01T00:00+02:00",
    ),
    _case(
        "0,30 2 * * *",
        "America/New_York",
        ("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        "2026-03-08T03:00-04:00",
        **{_GAP_KEPT: instants("2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00")},
    ),
    _case(
        "0 2,3 * * *",
        "America/New_York",
        ("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        "2026-03-08T03:00-04:00",
    ),
    _case(
        "*/30 2 * * *",
        "Australia/Lord_Howe",
        ("2026-04-05T00:00+11:00", "2026-04-05T04:00+10:30"),
        *_hours("2026-04-05", "02:00+10:30", "02:30+10:30"),
    ),
    _case(
        "0 12 * * *",
        "Pacific/Apia",
        ("2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00"),
        "2011-12-29T12:00-10:00",
        "2011-12-31T00:00+14:00",
        "2011-12-31T12:00+14:00",
        **{"a day that is left out is not made up": instants("2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00")},
    ),
    _case(
        "0 8 * * 7",
        "UTC",
        ("2026-06-01T00:00+00:00", "2026-06-15T00:00+00:00"),
        "2026-06-07T08:00+00:00",
        "2026-06-14T08:00+00:00",
    ),
    _case(
        "0 0 13 * 5",
        "UTC",
        ("2026-06-01T00:00+00:00", "2026-07-01T00:00+00:00"),
        *_FRIDAYS_AND_13,
        **{_BOTH_FIELDS: (), f"{_BOTH_FIELDS}, and {_MONDAY_IS_0}": instants("2026-06-13T00:00+00:00")},
    ),
    Case("0 0 30 2 *", "UTC", *instants("2026-01-01T00:00+00:00", "2026-01-02T00:00+00:00"), right=None),
]

CASES = [*_from_file(), *MORE]
