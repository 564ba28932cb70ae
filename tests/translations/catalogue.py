"""The Chinese catalogue: which texts the code marks, and the files that hold their translations."""

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from tests.translations.borrowed import DJANGO, GATEWAYS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("alerts", "project", "quotas", "scheduler")
PO_FILE = ROOT / "project" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
MO_FILE = PO_FILE.with_suffix(".mo")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
WIDTH = 120


def marked() -> Catalog:
    """Return every text that the code and the templates mark for translation, with the files in which it stands."""
    catalogue = Catalog(locale="zh_Hans", fuzzy=False)
    for text in (*DJANGO, *GATEWAYS):
        catalogue.add(text)
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        for _, text, _, context in extract("python", io.BytesIO(_as_python(path).encode()), KEYWORDS):
            catalogue.add(text, locations=[(name, 0)], context=context)
    return catalogue


def translated() -> Catalog:
    """Return the catalogue as it stands in the repository."""
    with PO_FILE.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def merged(texts: Catalog, known: Catalog) -> Catalog:
    """Return the texts of `texts` with their translations in `known`; what has none stays empty, for nothing is
    guessed from what looks alike.
    """
    texts.header_comment = known.header_comment
    texts.mime_headers = known.mime_headers
    for message in _messages(texts):
        translation = known.get(message.id, message.context)
        if translation is not None:
            message.string = translation.string
    return texts


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts that have no translation, or one that nobody has confirmed."""
    return [str(message.id) for message in _messages(catalogue) if message.fuzzy or not all(forms(message))]


def forms(message: Message) -> tuple[str, ...]:
    """Return the translations of `message`: one, as Chinese has no plural."""
    return (message.string or "",) if isinstance(message.string, str | None) else tuple(message.string)


def written(catalogue: Catalog) -> bytes:
    """Return `catalogue` as people read and write it, in the order of its texts."""
    target = io.BytesIO()
    write_po(target, catalogue, width=WIDTH, sort_output=True, ignore_obsolete=True, include_lineno=False)
    return target.getvalue()


def compiled(catalogue: Catalog) -> bytes:
    """Return `catalogue` as Django reads it."""
    target = io.BytesIO()
    write_mo(target, catalogue)
    return target.getvalue()


def sources() -> Iterator[Path]:
    """Yield the files in which texts are marked."""
    for folder in SOURCES:
        for suffix in ("py", "html", "txt"):
            yield from sorted((ROOT / folder).rglob(f"*.{suffix}"))


def _as_python(path: Path) -> str:
    code = path.read_text("utf-8")
    return code if path.suffix == ".py" else templatize(code, origin=str(path))


def _messages(catalogue: Catalog) -> Iterator[Message]:
    return (message for message in catalogue if message.id)
