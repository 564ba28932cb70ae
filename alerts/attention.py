"""What a person should know of. It is told in the transaction that makes it so: whoever records it, as an alert or
otherwise, is connected to the signal `attention_needed`, and what he writes is committed with it or not at all.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.dispatch import Signal

from alerts.states import Severity

logger = logging.getLogger(__name__)

# Sent with `attention`, an Attention. A receiver's error undoes the transaction, so receivers only write rows.
attention_needed = Signal()


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing to know.

    Attributes:
        kind: what happened, by a key of whoever tells it.
        fingerprint: the same for the same problem, so that it can be one open alert.
        subject: what it is about, in a few words.
        sentence: what happened.
        key: the subject as a text key, such as "run:12".
        labels: by which channels and silences choose.
        url: where to look, as a path of the control panel.
        facts: further details, as pairs of a label and a value.
        parent: the fingerprint of the problem that stands over it and speaks for it, while that is open.
    """

    kind: str
    fingerprint: str
    subject: str
    sentence: str
    at: datetime
    severity: Severity = Severity.WARNING
    key: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    parent: str = ""


def tell(attention: Attention) -> None:
    """Tell it to the log and to whoever records it."""
    logger.warning("%s: %s: %s", attention.kind, attention.subject, attention.sentence)
    attention_needed.send(sender=Attention, attention=attention)
