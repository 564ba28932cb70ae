"""What a page shows to a person, and which Latin words of it are nobody's data."""

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

from django.apps import apps
from django.db.models import Model

from scheduler.jobs.registry import JOBS

UNSEEN = {"script", "style", "svg", "template", "pre", "code", "head"}
SHOWN_ATTRIBUTES = {"aria-label", "alt", "placeholder", "title"}
# A run of Latin words, as they stand in a sentence or alone.
LATIN = re.compile(r"[A-Za-z][A-Za-z'’]*(?:[ ,;.-]+[A-Za-z][A-Za-z'’]*)*")


class Text(HTMLParser):
    """Collects what is shown: texts and the attributes that are read out."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note an element that is not shown, and the attributes that are."""
        named = dict(attributes)
        if tag in UNSEEN or (tag == "button" and named.get("name") == "language"):
            self._within.append(tag)
        if not self._within:
            self.shown += [value for name, value in attributes if name in SHOWN_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        """Leave an element that is not shown."""
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        """Note a text that is shown."""
        if not self._within and data.strip():
            self.shown.append(" ".join(data.split()))


def latin_phrases(page: str) -> Iterator[str]:
    """Yield the runs of Latin words that a page shows."""
    text = Text()
    text.feed(page)
    for shown in text.shown:
        yield from LATIN.findall(shown)


class Data:
    """What the rows hold, and the code of the house: a phrase that stands there is data."""

    def __init__(self, models: Iterable[type[Model]] | None = None) -> None:
        self._texts = "\n".join([*_texts(models or apps.get_models()), *(job.title for job in JOBS.values())])

    def holds(self, phrase: str) -> bool:
        """Tell whether the phrase stands in some row."""
        return phrase in self._texts


def _texts(models: Iterable[type[Model]]) -> Iterator[str]:
    for model in models:
        for values in model._default_manager.values_list():
            yield from (str(value) for value in values if isinstance(value, str | dict | list))
            yield " ".join(str(value) for value in values)
