"""docs/comparison.md: the two tables, and the words around them."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tests.comparison.tables import Answers, cron_table, fault_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparison.md"
OURS = "Tideline"
CRON_PEERS = {
    "django_celery_beat": "django-celery-beat",
    "apscheduler": "APScheduler",
    "croniter": "croniter",
    "cronsim": "cronsim",
}
FAULT_PEERS = {
    "django_celery_beat": "django-celery-beat",
    "apscheduler": "APScheduler",
    "procrastinate": "procrastinate",
}

_TOP = """\
# Beside the peers

Inputs that broke schedulers, put to Tideline and to its peers. `python -m tests.comparison --write` ran them all and
wrote this page; nothing in its tables is copied from anybody's report.

- **Run** on {day}, with Python {python}. The peers are installed from `tests/comparison/requirements.txt` into a
  virtual environment of their own.
- **Versions**: {versions}.
- **How.** django-celery-beat's entry is asked minute by minute whether it is due, as its scheduler asks; over years,
  hour by hour. The others are asked for the next time after the previous one. For the faults, django-celery-beat's
  real scheduler ticks on SQLite under a clock that is set, and what it sends is noted; procrastinate's periodic
  deferrer is asked what it would defer; Tideline's scan runs on PostgreSQL with its time as an argument.
- **What counts as right** is [our rule](daylight-saving.md), written down in `tests/comparison/cases.py` and
  `tests/scheduler/cases/cron.json`, not taken from our code. It is that of Debian's cron, made exact. So we are
  measured by our own yardstick, on inputs that we knew: read our column as “does what it says”, and the others' as how
  far they part.
- **policy** marks an answer that parts from our rule and can be defended, such as a refusal that says so. In the
  table of faults it does not stand: what can be defended there is said below it.
- `tests/comparison/test_comparison.py` checks that our column is what our code answers today.
"""

_AFTER_CRON = """\
Seen fairly:

- **cronsim** follows the same rule, and here parts from it only at a change of half an hour. Tideline reads expressions
  with it, and walks over the changes of the clocks itself.
- **croniter** is right but for a fixed time that the clock shows twice, which it names twice. Whoever counts real
  hours can want that; a daily job then runs twice on that day.
- **Where 02:30 does not exist**, 03:30 keeps the distance from midnight, and 03:00 is the first instant after the gap.
  Both are sound. The same goes for the 02:00 of `0 */2`, made up at 03:00 or not.
- **The two day fields**: one of them is enough in cron, both must match in Celery and APScheduler, whose manuals say
  so. `manage.py import_celery_beat` leaves such a row in beat and says why, unless cron has a name for its days.
- **Weekdays in APScheduler** count from Monday, as its manual says; names (`sun`) are safe there. A line of a
  crontab that is taken over runs on other days.
- **No policy** stands behind an hour of silence when the clocks go back, a first of April that is left out, or a row
  that is accepted and never runs.
"""

_AFTER_FAULTS = """\
Seen fairly:

- **Down at 02:00.** django-celery-beat 2.9 loads only crontabs whose hour is within two hours of now; so what was
  missed at 02:00 is sent when the clock comes near again, at midnight. Tideline makes it up here because the schedule
  has four hours of grace; with the usual hour it would be one recorded skip.
- **Switched off and on.** Saving the form of django-celery-beat is another path than its list's action, and is not
  shown. An update past our functions is not a pause to us either: what was due within the grace of an hour is made up
  at 15:10, the earlier ones are one recorded skip. We count it as wrong all the same, as for the others: pause by
  the admin, the command line or `schedules.pause`.
- **Killed.** django-celery-beat is killed by a real SIGKILL. Ours is a transaction that is broken off: it is all that
  there is to lose. Real kills of our processes: `tests/faults`.
- **Two schedulers.** django-celery-beat does not offer this, and Celery's manual says to run one. Here the two act in
  turn; ours are raced in `tests/races`.
- **Suspended.** django-celery-beat is right: one. procrastinate makes up every minute, which can be meant where each
  timestamp is work of its own; its limit of ten minutes' delay holds only for a process that has just started.
  APScheduler, by its usual options, gives up what is more than a second late (it woke ten seconds past the minute);
  `misfire_grace_time` makes it one run.
- **31 April, weekday 7.** django-celery-beat's own validation accepts both rows. The other rows go on, which is right;
  that a row is left out is not said.

Not shown here: the other faults with APScheduler and procrastinate, which keep their plan in the program or in a store
that several of them do not share by design; celery-redbeat, which needs a Redis with its lock; and what takes longer
than seconds, such as ten thousand rows (`bin/bench`).
"""


def text(
    peers: Mapping[str, Mapping[str, Any]], *, python: str, cron: Answers, faults: Mapping[str, str], day: date
) -> str:
    """Return the page.

    Args:
        peers: the peers' reports, by the name of their program.
        python: the version that all ran under.
        cron: our answers to the cases.
        faults: what was seen of the faults with us.
        day: when all this was run.
    """
    versions = {name: version for report in peers.values() for name, version in report["versions"].items()}
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    expressions = {OURS: cron} | {title: peers[name]["cron"] for name, title in CRON_PEERS.items()}
    performed = {OURS: faults} | {title: peers[name]["faults"] for name, title in FAULT_PEERS.items()}
    parts = [
        _TOP.format(day=day, python=python, versions=shown),
        "## Expressions\n",
        "\n".join(cron_table(expressions)) + "\n",
        _AFTER_CRON,
        "## Faults\n",
        "Times are UTC, as month-day and hour.\n",
        "\n".join(fault_table(performed)) + "\n",
        _AFTER_FAULTS,
    ]
    return "\n".join(parts)
