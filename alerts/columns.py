"""What came from elsewhere, as the rows of the alerts keep it: without secrets and without what no column can hold, cut
where no character breaks.
"""

from collections.abc import Iterable, Mapping

from alerts import masking
from alerts.channels import text

LONGEST_LINE, LONGEST_SENTENCE = 300, 2000
# So much of a text is looked at, before it is masked and cut.
LONGEST_READ = 20_000


def line(words: str) -> str:
    """Return the words as one line: a title, or a value beside its label."""
    return _told_in(LONGEST_LINE, text.one_line(words))


def sentences(words: str) -> str:
    """Return what happened and what to do, in its lines."""
    return _told_in(LONGEST_SENTENCE, words)


def facts(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the labels and values."""
    return [[line(label), line(value)] for label, value in pairs]


def labels(by_name: Mapping[str, str]) -> dict[str, str]:
    """Return the labels, which are compared with those of channels and silences."""
    return {text.clean(name): text.clean(value) for name, value in by_name.items()}


def _told_in(longest: int, words: str) -> str:
    return text.shortened(masking.masked(text.clean(words[:LONGEST_READ])), longest)
