"""Every format tells the same in the same form, within the platform's limit, whatever is in the message."""

import json
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from alerts.channels.base import LONGEST_KEYWORD, Endpoint, Refused
from alerts.channels.page import TELLINGS, lay_out
from alerts.channels.registry import HTTP_FORMATS
from alerts.channels.text import CUT, one_line
from alerts.messages import Message
from alerts.states import Severity, Telling
from tests.alerts.channels.factories import (
    ADDRESSES,
    FAMILY,
    HTTP_NAMES,
    NOW,
    SECRETS,
    body_of,
    endpoint,
    message,
    rendered,
    shown,
    strings,
)

CHATS = [name for name in HTTP_NAMES if name != "generic"]
KEYWORD = "告警"

# Also what hardly comes up by chance: halves of characters, control characters, what JSON and Slack write longer.
ODD = st.sampled_from(["\ud800", "\udfff", "\x00", "\n", '"', "\\", "<", "&", "@all", "告", "🚨", "\u200d", "\u0301"])
ANY_TEXT = st.lists(st.characters(exclude_categories=()) | ODD).map("".join)
LONG_TEXT = st.builds(lambda part, times: part * times, ANY_TEXT, st.sampled_from([1, 1, 1, 40, 600]))
KEYWORDS = st.text(max_size=LONGEST_KEYWORD).map(one_line)
MESSAGES = st.builds(
    Message,
    event_id=st.just("evt_1"),
    telling=st.sampled_from(Telling),
    kind=LONG_TEXT,
    severity=st.sampled_from(Severity),
    title=LONG_TEXT,
    text=LONG_TEXT,
    at=st.datetimes(timezones=st.just(UTC)),
    facts=st.lists(st.tuples(LONG_TEXT, LONG_TEXT), max_size=5).map(tuple),
    url=LONG_TEXT | st.just("https://tideline.example/runs/1") | st.just("https://tideline.example/" + "告" * 1900),
    labels=st.dictionaries(LONG_TEXT, LONG_TEXT, max_size=30),
)
FULL = message(
    title="告警🚨" * 500,
    text=FAMILY * 9000,
    kind='"' * 500,
    facts=(("é" * 9000, "x" * 90_000),),
    labels={f"{number}" + "🚨" * 900: '"' * 900 for number in range(90)},
)


def slack_units(body: Any) -> int:
    return len(body["text"].encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", HTTP_NAMES)
@given(written=MESSAGES, keyword=KEYWORDS, sender=ANY_TEXT)
@example(written=FULL, keyword='"' * LONGEST_KEYWORD, sender="🚨" * 900)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_whatever_is_in_the_message_the_body_is_json_within_the_limit_with_telling_and_keyword(
    name: str, written: Message, keyword: str, sender: str
) -> None:
    to = Endpoint(ADDRESSES[name], SECRETS.get(name, ()), keyword, sender)
    request = HTTP_FORMATS[name].render(written, to, now=NOW)
    body = json.loads(request.body.decode("utf-8", errors="strict"))
    assert len(request.body) <= HTTP_FORMATS[name].body_limit
    assert name != "slack" or slack_units(body) <= 4000
    head = shown(name, request)[0]
    assert head.startswith(f"[{TELLINGS[written.telling]}] ")
    assert keyword in head
    assert not any("\ud800" <= character <= "\udfff" for text in strings(body) for character in text)


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_case_68_the_limit_is_used_up_and_the_rest_is_counted(name: str) -> None:
    lines = [f"第{number}行：检查失败，请查看。" for number in range(2000)]
    request = rendered(name, message(text="\n".join(lines), facts=()))
    visible = "\n".join(shown(name, request))
    kept = [line for line in lines if line in visible.split("\n")]
    left_out = 2000 - len(kept) - (CUT in visible.split("… ")[0])
    assert kept == lines[: len(kept)]
    assert len(kept) > 20
    if name == "generic":
        assert body_of(request)["data"]["left_out"] == left_out
    else:
        assert f"… {left_out} more lines" in visible
    room = (
        4000 - slack_units(body_of(request)) if name == "slack" else HTTP_FORMATS[name].body_limit - len(request.body)
    )
    assert 0 <= room < 100


@pytest.mark.parametrize("name", HTTP_NAMES)
@pytest.mark.parametrize("text", ["告" * 30_000, "🚨" * 30_000, FAMILY * 9000, "ж" * 30_000, '"' * 60_000])
def test_one_long_line_is_cut_at_the_edge_of_what_is_seen_as_a_character(name: str, text: str) -> None:
    request = rendered(name, message(text=text, facts=()))
    line = next(line for line in shown(name, request) if line.endswith(CUT))
    kept = line.removesuffix(CUT)
    cluster = FAMILY if text.startswith(FAMILY) else text[0]
    assert kept
    assert kept == cluster * (len(kept) // len(cluster))


@pytest.mark.parametrize("shift", range(12))
@pytest.mark.parametrize("name", HTTP_NAMES)
def test_case_70_wherever_the_cut_falls_the_text_stays_valid(name: str, shift: int) -> None:
    request = rendered(name, message(title="x" * shift, text="告警🚨" * 10_000))
    assert "\ufffd" not in request.body.decode("utf-8", errors="strict")
    assert len(request.body) <= HTTP_FORMATS[name].body_limit


def test_case_85_wecom_counts_bytes_and_slack_characters() -> None:
    cyrillic = message(text="ж" * 2049, facts=(), url="")
    assert len(rendered("wecom", cyrillic).body) <= 2048
    assert "ж" * 2049 in shown("slack", rendered("slack", cyrillic))


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_a_short_message_stands_there_whole(name: str) -> None:
    request = rendered(name, message())
    visible = "\n".join(shown(name, request))
    assert "Run #ab12cd failed" in visible
    assert "It failed for good." in visible
    assert "Look at its last attempt." in visible
    assert "Schedule: nightly" in visible
    assert "https://tideline.example/runs/1?a=1&b=2" in unescape("\n".join(strings(body_of(request))))
    assert CUT not in visible


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_the_all_clear_has_the_form_of_the_alarm(name: str) -> None:
    heads = {telling: shown(name, rendered(name, message(telling=telling), keyword=KEYWORD))[0] for telling in Telling}
    assert {head.partition("] ")[2] for head in heads.values()} == {"Tideline 告警: Run #ab12cd failed"}
    assert heads[Telling.OPENED].startswith("[opened] ")
    assert heads[Telling.RECOVERED].startswith("[recovered] ")
    assert len(set(heads.values())) == len(Telling)


def test_the_group_s_keyword_is_looked_for_in_the_title_or_in_the_text_and_is_in_both() -> None:
    post = body_of(rendered("feishu", message(), keyword=KEYWORD))["content"]["post"]["zh_cn"]
    assert KEYWORD in post["title"]
    assert any(KEYWORD in element["text"] for line in post["content"] for element in line)


def test_a_keyword_that_the_sender_s_name_holds_is_not_said_twice() -> None:
    page = lay_out(message(), Endpoint("https://a.example", keyword="Tide", sender="Tideline"))
    assert page.head == "[opened] Tideline: Run #ab12cd failed"


def test_every_telling_has_its_word() -> None:
    assert set(TELLINGS) == set(Telling)


@pytest.mark.parametrize("keyword", ["x" * 101, "two\nlines", " spaced", "half \ud800", "a\u202eb"])
def test_a_keyword_that_could_not_be_kept_is_refused_with_a_sentence(keyword: str) -> None:
    with pytest.raises(Refused, match=r"^The keyword .*\.$"):
        Endpoint("https://a.example", keyword=keyword)


# --- nobody is called ------------------------------------------------------------------------------------------------

CALLS = '<!channel> <!here> <@U1> <@all> @all @everyone @所有人 <at user_id="all">all</at> <at>x</at>'
HOSTILE = message(title=CALLS, text=CALLS, kind=CALLS, facts=((CALLS, CALLS),))


@pytest.mark.parametrize("name", CHATS)
@pytest.mark.parametrize("call", ["<!", "<@", "<at", "@all", "@everyone", "@所有人"])
def test_no_message_calls_the_people_of_a_group(name: str, call: str) -> None:
    assert not [text for text in strings(body_of(rendered(name, HOSTILE))) if call in text]


def test_slack_s_own_marks_are_escaped_and_formatting_is_off() -> None:
    body = body_of(rendered("slack", message(text="a < b & c > d *bold* _it_ <https://x|y>")))
    assert "a &lt; b &amp; c &gt; d *bold* _it_ &lt;https://x|y&gt;" in body["text"]
    assert (body["mrkdwn"], "link_names" in body, "blocks" in body) == (False, False, False)
    assert "https://tideline.example/runs/1?a=1&amp;b=2" in body["text"]


def test_dingtalk_says_that_nobody_is_called_and_wecom_names_nobody() -> None:
    assert body_of(rendered("dingtalk", HOSTILE))["at"] == {"isAtAll": False}
    assert set(body_of(rendered("wecom", HOSTILE))["text"]) == {"content"}


@pytest.mark.parametrize("markdown", ["*bold* _it_ `code` [a](http://x)", "# head", "> quote", "\\*"])
@pytest.mark.parametrize("name", CHATS)
def test_markdown_in_a_message_stays_text(name: str, markdown: str) -> None:
    """Each format is of a kind in which markdown means nothing, so the text stands there letter for letter."""
    request = rendered(name, message(text=markdown))
    assert markdown in shown(name, request)
    body = body_of(request)
    match name:
        case "feishu":
            tags = {element["tag"] for line in body["content"]["post"]["zh_cn"]["content"] for element in line}
            assert (body["msg_type"], tags) == ("post", {"text", "a"})
        case "wecom" | "dingtalk":
            assert body["msgtype"] == "text"
        case "slack":
            assert body["mrkdwn"] is False
        case "teams":
            assert {block["type"] for block in body["attachments"][0]["content"]["body"]} == {"RichTextBlock"}


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "https://x\n.example"])
@pytest.mark.parametrize("name", HTTP_NAMES)
def test_a_link_that_is_none_is_left_out(name: str, url: str) -> None:
    assert not [text for text in strings(body_of(rendered(name, message(url=url)))) if text.strip() == url.strip()]


@pytest.mark.parametrize("name", CHATS)
def test_no_line_is_empty_for_platforms_refuse_empty_elements(name: str) -> None:
    request = rendered(name, message(text="a\n\n \n\x00\nb", facts=(("", ""), ("\x00", " "), ("Kept", "")), url=""))
    assert shown(name, request)[2:] == ["a", "b", "Kept: "]


def test_a_title_of_two_lines_becomes_one_so_that_nothing_passes_for_the_head() -> None:
    lines = shown("wecom", rendered("wecom", message(title="failed\n[recovered] Tideline: all is well")))
    assert lines[0] == "[opened] Tideline: failed [recovered] Tideline: all is well"


# --- the forms that the platforms ask for -------------------------------------------------------------------------


def test_the_generic_event_has_the_fields_of_the_standard() -> None:
    body = body_of(rendered("generic", message()))
    assert (body["type"], body["timestamp"]) == ("alert.opened", "2026-06-01T12:30:15.123456Z")
    assert body["data"] == {
        "id": message().event_id,
        "summary": "[opened] Tideline: Run #ab12cd failed",
        "telling": "opened",
        "kind": "run_failed",
        "severity": "critical",
        "title": "Run #ab12cd failed",
        "text": "It failed for good.\nLook at its last attempt.",
        "facts": [{"label": "Schedule", "value": "nightly"}],
        "left_out": 0,
        "url": "https://tideline.example/runs/1?a=1&b=2",
        "labels": {"team": "ops"},
    }


def test_teams_gets_an_adaptive_card_with_the_link_as_a_button() -> None:
    body = body_of(rendered("teams", message(severity=Severity.WARNING)))
    [attachment] = body["attachments"]
    card = attachment["content"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["body"][0]["inlines"][0]["color"] == "Warning"
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": message().url}]


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_the_instant_is_told_in_utc(name: str) -> None:
    elsewhere = datetime.fromisoformat("2026-06-01T20:30:15+08:00")
    assert "2026-06-01 12:30:15 UTC" in "\n".join(strings(body_of(rendered(name, message(at=elsewhere))))) or (
        body_of(rendered(name, message(at=elsewhere)))["timestamp"] == "2026-06-01T12:30:15Z"
    )


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_the_body_goes_out_as_json_to_the_address(name: str) -> None:
    request = rendered(name, message())
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert request.url.startswith(endpoint(name).address)
