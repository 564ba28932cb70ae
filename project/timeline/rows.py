"""What is read for the pictures: plain values, so that a layout can be tried without a database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

# So many of the latest rows are counted.
MOST_ROWS = 20_000
# A lane with more runs or fires than this is drawn hour by hour.
MOST_ONE_BY_ONE = 72


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of a schedule; `kind` is that of its fire, where it has one."""

    id: int
    schedule_id: int
    state: str
    due_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class FireRow:
    """A fire that was made up, or of which no run came; a skip may stand for several due times."""

    id: int
    schedule_id: int
    fire_at: datetime
    kind: str
    outcome: str
    reason: str = ""
    missed_from: datetime | None = None
    missed_until: datetime | None = None
    missed_count: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How many runs of a schedule ended in an hour in one state; without a schedule: those that have none."""

    schedule_id: int | None
    hour: int
    state: str
    count: int


@dataclass(frozen=True, slots=True)
class Fired:
    """How many fires of a schedule in an hour had one kind and outcome, and for how many due times they stand."""

    schedule_id: int
    hour: int
    kind: str
    outcome: str
    count: int
    times: int


@dataclass(frozen=True, slots=True)
class Waited:
    """How many runs were opened in one hour and begun, or ended, in another; None: they wait still."""

    opened: int
    left: int | None
    count: int


@dataclass(frozen=True, slots=True)
class Late:
    """How long after they were due the executions of an hour were begun."""

    hour: int
    count: int
    p50: timedelta
    p95: timedelta


@dataclass(frozen=True, slots=True)
class Reset:
    """A reset of a quota."""

    quota_id: int
    quota: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """When a schedule is due next; `remarks` says of an instant why no run will come of it."""

    instants: Sequence[datetime] = ()
    goes_on: bool = False  # there are more than these in the window
    remarks: dict[datetime, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """A schedule that has a lane of its own."""

    id: int
    name: str
    words: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Rows:
    """All that the pictures are made of."""

    shown: Sequence[Shown] = ()
    runs: Sequence[RunRow] = ()
    fires: Sequence[FireRow] = ()
    ended: Sequence[Ended] = ()
    fired: Sequence[Fired] = ()
    waited: Sequence[Waited] = ()
    late: Sequence[Late] = ()
    resets: Sequence[Reset] = ()
    planned_elsewhere: dict[int, int] = field(default_factory=dict)  # by hour: schedules without a lane that come due
    cut: bool = False  # more rows than are read: the first hours lack some
