"""What docs/alerts.md says of formats, limits, waits and codes is so in the code."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from alerts import delivering, digesting, failing, families, noticing, opening, repeating, sending
from alerts.channels import dingtalk, feishu, slack, teams, wecom
from alerts.channels.answers import LONGEST_WAIT
from alerts.channels.base import Rates
from alerts.channels.registry import FORMATS
from alerts.kinds import NOTICES, PROBLEMS
from alerts.models.channels import MOST_REPEAT_HOURS
from alerts.states import DeliveryOutcome

PAGE = Path(settings.BASE_DIR, "docs", "alerts.md").read_text()
IN_WORDS = {DeliveryOutcome.PERMANENT: "failed", DeliveryOutcome.RETRY: "tried again"}


def codes_table() -> list[str]:
    """Return the rows of the table of codes, as the page has them."""
    return [f"| {platform} | `{code}` | {becomes} | {meaning} |" for platform, code, becomes, meaning in _codes()]


def _codes() -> Iterator[tuple[str, str, str, str]]:
    for module in (feishu, wecom, dingtalk):
        book = module.CODEBOOK
        for number, code in book.codes.items():
            yield book.platform, str(number), IN_WORDS[code.outcome], code.meaning
    for word, meaning in slack.REFUSALS.items():
        yield "Slack", word, "failed", meaning
    for word in sorted(slack.TOO_OFTEN):
        yield "Slack", word, "tried again", "It is asked too often."
    for word, meaning in teams.ERRORS.items():
        yield "Microsoft Teams", word, "failed", meaning


def kinds_table() -> list[str]:
    """Return the rows of the table of kinds, as the page has them."""
    told = [(PROBLEMS, "a problem"), (NOTICES, "a notice")]
    return [f"| `{kind}` | {words} | {what} |" for kinds, what in told for kind, words in kinds.items()]


def rates_in_words(rates: Rates) -> str:
    return ", ".join(f"{count} in {seconds:g} s" for count, seconds in rates) or "as they come"


def rows_under(heading: str) -> list[str]:
    """Return the rows of the table under the heading, without its head."""
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def words_of_the_page() -> str:
    """Return its text in one line, in which a sentence is found wherever it is wrapped."""
    return " ".join(PAGE.split())


def test_each_code_stands_in_the_table_with_what_becomes_of_it_and_its_meaning() -> None:
    assert rows_under("The codes of the platforms") == codes_table()


def test_each_kind_stands_there_with_its_words() -> None:
    assert rows_under("Kinds") == kinds_table()


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_stands_there_with_its_bytes_and_its_limit(name: str) -> None:
    form = FORMATS[name]
    (row,) = [row for row in rows_under("Formats") if row.startswith(f"| {form.label} |")]
    _, _, _, size, taken, _ = (cell.strip() for cell in row.split("|"))
    assert size.startswith(f"{form.body_limit:,}")
    assert taken.startswith(rates_in_words(form.rates))


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        ("eight tries over about eight hours", len(delivering.RETRY_DELAYS) == 7),
        (
            "over about eight hours",
            timedelta(hours=7) < sum(delivering.RETRY_DELAYS, timedelta()) < timedelta(hours=8, minutes=30),
        ),
        ("`Retry-After` is kept, up to a day", timedelta(days=1).total_seconds() == LONGEST_WAIT),
        ("more than three of one severity wait", digesting.BURST == 3),
        ("one **digest** of up to 100", delivering.BATCH == 100),
        ("it names the first 30", digesting.LINES == 30),
        ("at most five minutes apart", failing.PAUSES[-1] == timedelta(minutes=5)),
        ("Three failures in a row are a critical alert", failing.FAILURES_UNTIL_TOLD == 3),
        ("Its channel goes on within 90 s", timedelta(seconds=90) == delivering.SENDER_LEASE),
        ("An HTTP message has 15 s, a letter 60 s", (sending.TIMEOUT_SECONDS, sending.LETTER_SECONDS) == (15, 60)),
        ("and 15 minutes longer, it speaks for them", timedelta(minutes=15) == families.GRACE),
        ("What opens four times within an hour", (opening.FLAPS_AFTER, timedelta(hours=1)) == (4, opening.HOUR)),
        ("until it has not changed for an hour", timedelta(hours=1) == repeating.CALM),
        ("is heeded within 5 seconds", noticing.REFRESH_SECONDS == 5),
        ("1 to 8,760, or never", MOST_REPEAT_HOURS == 8760),
        ("and 4,000 characters", slack.TEXT_LIMIT == 4000),
        (f"with “{delivering.LOST_SENDER}”", True),
    ],
)
def test_each_number_is_the_one_of_the_code(said: str, is_so: bool) -> None:
    assert said in words_of_the_page()
    assert is_so
