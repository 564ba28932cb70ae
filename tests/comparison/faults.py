"""The faults that are shown, each a name that stands in the page's table. Read by us and by the peers."""

import re
from dataclasses import dataclass

AWAY = "Daily at 02:00; the scheduler is down from 01:00 to 05:00; watched until 03:00 of the next day"
SWITCHED = "Hourly; switched off at 12:00 and on again at 15:10, by the actions of the admin's list"
UPDATED = "The same, by a bulk update of the rows, past the admin"
KILLED = "Once, at 12:00; it is sent; the scheduler is killed before it saves what it remembers; another starts"
DOUBLED = "Daily at 02:00; two schedulers run on one database"
SUSPENDED = "Every minute; the process is suspended from 12:00 to 15:00"
BROKEN = "Hourly; beside it a row that says 31 April"
SEVEN = "Sundays at 08:00 as `0 8 * * 7`; watched on Sunday, 7 June"


@dataclass(frozen=True)
class Right:
    """What is right: in words, and as the pattern of what is seen then."""

    words: str
    pattern: str

    def verdict(self, seen: str) -> str:
        """Return what was seen, with the verdict before it."""
        return f"{'right' if re.fullmatch(self.pattern, seen) else 'wrong'}: {seen}"


RIGHT = {
    AWAY: Right("one run at 05:00; then 02:00", r"\w+ at 06-02 05:00, 06-03 02:00"),
    SWITCHED: Right("nothing at 15:10; the next at 16:00", r"\w+ at 06-01 16:00.*"),
    UPDATED: Right("nothing at 15:10; the next at 16:00", r"\w+ at 06-01 16:00.*"),
    KILLED: Right("one run", r"\w+ at 06-01 12:0\d"),
    DOUBLED: Right("one run", r"\w+ at 06-02 02:00"),
    SUSPENDED: Right("one run", r"\w+ at 06-01 15:00.*"),
    BROKEN: Right(
        "the hourly one runs; the other is refused, or says that it is broken",
        r"\w+ at 06-01 12:00; .*(refused|recorded).*",
    ),
    SEVEN: Right("one run at 08:00, or a refusal", r"\w+ at 06-07 08:00|refused.*"),
}
