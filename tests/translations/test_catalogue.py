"""The Chinese catalogue: whole, sound, and compiled as it stands."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Catalog, Message
from django.utils import translation
from django.utils.translation import gettext

from tests.translations.catalogue import (
    KEYWORDS,
    MO_FILE,
    PO_FILE,
    compiled,
    forms,
    marked,
    merged,
    missing,
    sources,
    translated,
    written,
)

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%s|\{\w*\}")
HAN = r"[\u4e00-\u9fff]"
# A Chinese sign touches a Latin letter or a figure without a space between them.
CRAMPED = re.compile(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}")
# A sign of Latin punctuation where a Chinese one belongs.
HALF_WIDTH = re.compile(rf"{HAN}[,;:?!]|{HAN}\.(?:\s|$)")
REMEDY = "run bin/messages and translate what it names"


@pytest.fixture(scope="module")
def texts() -> Catalog:
    return marked()


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    return translated()


def test_every_marked_text_is_translated(texts: Catalog, catalogue: Catalog) -> None:
    assert missing(merged(texts, catalogue)) == [], REMEDY


def test_it_holds_nothing_that_the_code_no_longer_says(texts: Catalog, catalogue: Catalog) -> None:
    said = {(message.id, message.context) for message in texts}
    assert [message.id for message in catalogue if (message.id, message.context) not in said] == [], REMEDY


def test_it_is_written_as_the_command_writes_it(texts: Catalog, catalogue: Catalog) -> None:
    assert written(merged(texts, catalogue)) == PO_FILE.read_bytes(), REMEDY


def test_what_django_reads_is_compiled_from_it(catalogue: Catalog) -> None:
    assert compiled(catalogue) == MO_FILE.read_bytes(), REMEDY


def test_no_text_is_marked_within_an_f_string_where_some_pythons_do_not_find_it() -> None:
    faults = [
        f"{path}: {ast.unparse(marked_within)}"
        for path in sources()
        if path.suffix == ".py"
        for string in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(string, ast.JoinedStr)
        for marked_within in ast.walk(string)
        if isinstance(marked_within, ast.Call)
        and isinstance(marked_within.func, ast.Name)
        and marked_within.func.id in KEYWORDS
        and isinstance(marked_within.args[0], ast.Constant)
    ]
    assert faults == []


def test_each_translation_has_the_placeholders_of_its_text(catalogue: Catalog) -> None:
    faults = [
        (message.id, form)
        for message in messages(catalogue)
        for form in forms(message)
        if Counter(PLACEHOLDER.findall(form)) != Counter(PLACEHOLDER.findall(singular_or_plural(message)))
    ]
    assert faults == []


def test_each_translation_can_be_filled_in(catalogue: Catalog) -> None:
    for message in messages(catalogue):
        names = re.findall(r"%\((\w+)\)", singular_or_plural(message))
        for form in forms(message) if names else ():
            assert form % dict.fromkeys(names, 1), message.id


def test_chinese_keeps_its_distance_from_latin_and_has_its_own_punctuation(catalogue: Catalog) -> None:
    faults = [
        (message.id, form)
        for message in messages(catalogue)
        for form in forms(message)
        for plain in [PLACEHOLDER.sub("", form).replace("%%", "%")]
        if CRAMPED.search(plain) or HALF_WIDTH.search(plain)
    ]
    assert faults == []


def test_a_text_and_its_translation_begin_and_end_alike(catalogue: Catalog) -> None:
    faults = [
        (message.id, form)
        for message in messages(catalogue)
        for form in forms(message)
        if form != form.strip() and singular_or_plural(message) == singular_or_plural(message).strip()
    ]
    assert faults == []


def test_django_finds_it_by_the_name_of_the_language() -> None:
    with translation.override("zh-hans"):
        assert gettext("Control panel") == "控制面板"


def messages(catalogue: Catalog) -> Iterator[Message]:
    """Return the texts that are translated."""
    return (message for message in catalogue if message.id and all(forms(message)))


def singular_or_plural(message: Message) -> str:
    """Return the text that Chinese, which has no plural, stands for."""
    return str(message.id) if isinstance(message.id, str) else str(message.id[1])
