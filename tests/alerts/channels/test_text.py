"""Text is cut where no character breaks, and calls nobody."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from alerts.channels.text import CUT, LONGEST_URL, clean, cut, defused, json_bytes, link, most, one_line, shortened
from tests.alerts.channels.factories import FAMILY

FLAG = "🇨🇳"
# Also what hardly comes up by chance: halves of characters, control characters, marks of direction.
ODD = st.sampled_from(["\ud800", "\udfff", "\x00", "\x1b", "\r", "\u202e", "\u2028", "\ufeff", "\u200d", "\u0301"])
ANY_TEXT = st.lists(st.characters(exclude_categories=()) | ODD).map("".join)
CLUSTERS = st.lists(st.sampled_from([FAMILY, FLAG, "é", "告", "नि", "한", "👍🏽", "✈️", "a", " ", '"'])).map("".join)


def bytes_up_to(limit: int) -> Callable[[str], bool]:
    return lambda text: len(text.encode()) <= limit


@pytest.mark.parametrize("limit", range(3, 40))
def test_case_70_three_byte_characters_are_cut_whole_whatever_the_limit(limit: int) -> None:
    result = cut("告" * 100, bytes_up_to(limit))
    assert result == ("告" * ((limit - 3) // 3) + CUT if limit >= 6 else "")
    assert len(result.encode()) <= limit


def test_case_71_the_mark_of_the_cut_counts() -> None:
    assert cut("a" * 11, bytes_up_to(10)) == "a" * 7 + CUT
    assert cut("a" * 10, bytes_up_to(10)) == "a" * 10


@pytest.mark.parametrize("limit", range(4, 60))
def test_case_71_an_emoji_at_the_cut_stays_whole_or_goes(limit: int) -> None:
    result = cut("🚨" * 20, bytes_up_to(limit))
    assert result.removesuffix(CUT) == "🚨" * len(result.removesuffix(CUT))


@pytest.mark.parametrize("cluster", [FAMILY, FLAG, "e\u0301\u0302", "नि", "👍🏽"])
def test_what_is_seen_as_one_character_is_not_cut_apart(cluster: str) -> None:
    for limit in range(3, 120):
        kept = cut(cluster * 20, bytes_up_to(limit)).removesuffix(CUT)
        assert kept == cluster * (len(kept) // len(cluster))


@pytest.mark.parametrize("units", [1, 2, 4])
def test_case_85_the_unit_is_the_platforms(units: int) -> None:
    cyrillic = "ж" * 2049
    assert len(cut(cyrillic, bytes_up_to(4096)).encode()) <= 4096
    assert cut(cyrillic, lambda text: len(text) <= 4096) == cyrillic


@given(text=CLUSTERS, limit=st.integers(0, 200))
def test_a_cut_text_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    result = cut(text, bytes_up_to(limit))
    if len(text.encode()) <= limit:
        assert result == text
        return
    characters = list(iter_graphemes(text))
    beginnings = ["".join(characters[:count]).rstrip() + CUT for count in range(1, len(characters))]
    assert result == max(["", *(one for one in beginnings if len(one.encode()) <= limit)], key=len)


@given(text=ANY_TEXT, longest=st.integers(1, 50))
def test_a_shortened_text_is_never_longer(text: str, longest: int) -> None:
    assert len(shortened(text, longest)) <= longest


@given(bound=st.integers(0, 1000), largest=st.integers(0, 1000))
def test_the_most_that_fits_is_found(bound: int, largest: int) -> None:
    assert most(largest, lambda count: count <= bound) == min(bound, largest)


@given(text=ANY_TEXT)
def test_clean_text_can_be_sent_and_stays_as_it_is_when_cleaned_again(text: str) -> None:
    cleaned = clean(text)
    assert json_bytes(cleaned).decode()
    assert clean(cleaned) == cleaned
    assert not set(cleaned) & {"\x00", "\r", "\x1b", "\u202e", "\ufeff", "\u2028"}


@pytest.mark.parametrize("text", ["a\r\nb", "a\rb", "a\u2028b", "a\x85b", "a\vb"])
def test_all_line_ends_are_one(text: str) -> None:
    assert clean(text) == "a\nb"
    assert one_line(text) == "a b"


def test_marks_that_turn_the_reading_direction_are_taken_out_and_joiners_stay() -> None:
    assert clean("user\u202egpj.exe\u2066") == "usergpj.exe"
    assert clean(FAMILY) == FAMILY


@pytest.mark.parametrize(
    "text",
    [
        "<!channel>",
        "<!here|here>",
        "<!subteam^S1>",
        "<@U123>",
        "<@all>",
        "<#C1>",
        '<at user_id="all">x</at>',
        "<AT id=all></AT>",
        "@all",
        "@ALL",
        "@everyone",
        "@here",
        "@channel",
        "@所有人",
    ],
)
def test_a_mention_becomes_text_that_looks_the_same(text: str) -> None:
    harmless = defused(f"x {text} y")
    assert text not in harmless
    assert harmless.replace("\u2060", "") == f"x {text} y"


@pytest.mark.parametrize("text", ["a < b", "mail me@example.com", "<attr>", "<b>bold</b>", "a<b@c"])
def test_what_calls_nobody_stays_as_it_is(text: str) -> None:
    assert defused(text) == text


@pytest.mark.parametrize("url", ["https://a.example/x?y=1&z=%20", "http://a.example", "https://ä.example/ü"])
def test_a_web_address_is_a_link(url: str) -> None:
    assert link(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://a.example",
        "/runs/1",
        "https://",
        "https://a b",
        "https://a\n.example",
        "https://a\u202e.example",
        "http://[::1",
        "https://a.example/" + "x" * LONGEST_URL,
    ],
)
def test_anything_else_is_no_link(url: str) -> None:
    assert link(url) == ""
