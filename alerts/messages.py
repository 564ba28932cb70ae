"""What is told to a channel, before any format: the same facts whichever way they go out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from alerts.states import Severity, Telling


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        event_id: names the event, the same in each try; without a dot.
        telling: what it tells of the subject; it stands first in every format, in the same form.
        kind: what happened, by a key such as "run_failed".
        title: what it is about, in one line.
        text: what happened and what to do, in plain lines.
        facts: further details, as pairs of a label and a value.
        url: where to look, or empty.
        at: when it happened.
        labels: by which channels choose.
    """

    event_id: str
    telling: Telling
    kind: str
    severity: Severity
    title: str
    text: str
    at: datetime
    facts: tuple[tuple[str, str], ...] = ()
    url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
