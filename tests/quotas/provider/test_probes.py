"""A probe that cannot work is refused before it is stored, with a sentence for the field."""

import pytest

from quotas.provider.probes import ProbeSpec, check_probe


def problems(url: str = "https://example.com/usage", **parts: object) -> dict[str, str]:
    return check_probe(ProbeSpec(url, **parts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "expression", ["left", "a[0].b", "min(pools[].left)", "max(a)", "usage[?name=='calls'].left | [0]"]
)
def test_a_probe_that_can_work_has_no_problems(expression: str) -> None:
    assert problems(headers={"X-Api-Key": "k"}, remaining=expression, limit=expression, reset=expression) == {}


@pytest.mark.parametrize(
    "url", ["", "example.com/usage", "ftp://example.com", "file:///etc/passwd", "https://", "http:///x"]
)
def test_an_address_must_be_one_of_the_web(url: str) -> None:
    assert problems(url) == {"url": "The usage endpoint must begin with http:// or https:// and name a host."}


def test_an_address_must_be_readable() -> None:
    assert problems("http://[::1") == {
        "url": "The usage endpoint cannot be read as a URL; it looks like https://example.com/usage."
    }


@pytest.mark.parametrize(("expression", "character"), [("a..b", 3), ("a $ b", 3), ('"', 1), ("[", 2), ("(" * 5000, 1)])
def test_an_expression_that_is_none_names_the_place(expression: str, character: int) -> None:
    assert problems(remaining=expression) == {
        "remaining": f"It is no JMESPath expression: it makes no sense from character {character} on."
    }


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("remains(a)", "Unknown function: remains()"),
        ("length()", "Expected 1 argument for function length(), received 0"),
    ],
)
def test_a_function_must_exist_and_have_its_arguments(expression: str, why: str) -> None:
    assert problems(reset=expression) == {"reset": f"A function in the JMESPath expression cannot be called: {why}."}


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"X Key": "s3cret"}, "“X Key” cannot be the name of a header."),
        ({"X-Key": "s3\ncret"}, "The value of the header X-Key must be printable ASCII on one line."),
        ({"X-Key": "s3crét"}, "The value of the header X-Key must be printable ASCII on one line."),
        ({"X-Key": 3}, "The value of the header X-Key must be printable ASCII on one line."),
        (["X-Key"], "The headers must be names with values, such as Authorization with its token."),
    ],
)
def test_headers_must_be_such_that_they_can_be_sent(headers: object, sentence: str) -> None:
    assert problems(headers=headers) == {"headers": sentence}


def test_several_problems_are_told_at_once() -> None:
    assert set(problems("", remaining="..", limit="..", reset="..")) == {"url", "remaining", "limit", "reset"}


def test_the_text_of_a_probe_holds_no_secrets() -> None:
    spec = ProbeSpec("https://user:s3cret@example.com:8443/s3cret?key=s3cret", {"Authorization": "s3cret"}, "left")

    assert "s3cret" not in repr(spec) + spec.server
    assert spec.server == "https://example.com:8443"
