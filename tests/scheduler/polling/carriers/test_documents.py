"""What expressions find: plain names are looked up without JMESPath, and find what it would."""

from typing import Any

import jmespath
import pytest

from scheduler.polling.carriers.documents import Expression

DOCUMENT = {"data": {"used": 7, "none": None, "cards": [{"id": 1}], "text": "ab", "_0": {"true": False}}, "code": "0"}


@pytest.mark.parametrize(
    "text",
    [
        "code",
        "data",
        "data.used",
        "data.none",
        "data.none.deeper",
        "data.cards",
        "data.cards.id",
        "data.text.upper",
        "data.missing.deeper",
        "data._0.true",
        "missing",
    ],
)
@pytest.mark.parametrize("document", [DOCUMENT, [DOCUMENT], "text", 7, None, {}])
def test_plain_names_find_what_jmespath_finds(text: str, document: Any) -> None:
    assert Expression(text)(document) == jmespath.search(text, document)


def test_everything_else_is_jmespath() -> None:
    assert Expression("data.cards[0].id")(DOCUMENT) == 1
    assert Expression('"code"')(DOCUMENT) == "0"
    assert Expression("length(data.cards)")(DOCUMENT) == 1
