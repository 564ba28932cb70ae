"""What apprise knows goes through it, except what Tideline's own formats do better."""

import apprise
import pytest

from alerts.channels.apprise import LOCAL, OWN
from alerts.channels.base import Endpoint, Notice, Refused
from alerts.channels.registry import APPRISE, FORMATS
from alerts.channels.text import CUT
from alerts.messages import Message
from alerts.states import DeliveryOutcome
from tests.alerts.channels.factories import FAMILY, NOW, message

# Apprise loads a module of the standard library that Python 3.13 no longer has, where it brings its own.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

ADDRESS = "tgram://123456789:abcdefg_hijklmnop/12315544/"


def notice(written: Message, address: str = ADDRESS) -> Notice:
    return APPRISE.render(written, Endpoint(address, keyword="告警"), now=NOW)


def test_a_notice_holds_the_head_as_its_title_and_the_rest_as_text() -> None:
    written = notice(message())
    assert written.address == ADDRESS
    assert written.title == "[opened] Tideline 告警: Run #ab12cd failed"
    assert written.text.split("\n")[1:] == [
        "It failed for good.",
        "Look at its last attempt.",
        "Schedule: nightly",
        message().url,
    ]


def test_a_notice_is_within_the_limit_and_calls_nobody() -> None:
    written = notice(message(text="@everyone 告警\n" * 9000))
    assert len(f"{written.title}\n{written.text}".encode()) <= APPRISE.body_limit
    assert "more lines" in written.text
    assert "@everyone" not in written.text


@pytest.mark.parametrize("character", ["告", "🚨", FAMILY])
def test_case_70_a_notice_of_one_long_line_is_cut_at_the_edge_of_what_is_seen_as_a_character(character: str) -> None:
    written = notice(message(text=character * 9000, facts=()))
    line = next(line for line in written.text.split("\n") if line.endswith(CUT))
    assert line.removesuffix(CUT) == character * (len(line.removesuffix(CUT)) // len(character))
    size = len(f"{written.title}\n{written.text}".encode())
    assert 0 <= APPRISE.body_limit - size < 2 * len(character.encode())


@pytest.mark.parametrize("scheme", OWN)
def test_an_address_that_a_format_of_our_own_is_for_is_refused_with_a_sentence_that_says_which(scheme: str) -> None:
    with pytest.raises(Refused, match=rf"^For {scheme}:// choose the format {OWN[scheme]} .*\.$"):
        APPRISE.check(Endpoint(f"{scheme.upper()}://token-abc"))


@pytest.mark.parametrize("scheme", sorted(LOCAL))
def test_an_address_that_speaks_to_the_worker_s_own_machine_is_refused(scheme: str) -> None:
    with pytest.raises(Refused, match="where nobody looks"):
        APPRISE.check(Endpoint(f"{scheme}://"))


@pytest.mark.parametrize("address", ["nope://x", "discord://bad", "https://receiver.example/x", "", "tgram:", "words"])
def test_an_address_that_apprise_does_not_know_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(Refused, match=r"apprise.*\.$|Apprise.*\.$") as refusal:
        notice(message(), address)
    assert not address or address not in str(refusal.value)


def test_true_is_sent_and_false_says_nothing_of_what_went_out() -> None:
    assert APPRISE.judge(True).outcome is DeliveryOutcome.SENT
    assert APPRISE.judge(False).outcome is DeliveryOutcome.AMBIGUOUS


def test_the_formats_that_are_named_exist() -> None:
    assert set(OWN.values()) <= {each.label for each in FORMATS.values()}


def test_each_scheme_that_is_refused_is_one_of_apprise_s() -> None:
    """A scheme that apprise renames would slip through. Of its older versions one is kept: people still have it."""
    schemes = set(apprise.manager_plugins.NotificationManager().schemas())
    assert set(OWN) - {"msteams"} <= schemes
