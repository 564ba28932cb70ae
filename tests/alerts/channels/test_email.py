"""A message as an e-mail, and what the mail server's replies mean."""

import smtplib
import socket
from email import message_from_bytes
from email.policy import default

import pytest

from alerts.channels.base import Endpoint, Letter, Refused
from alerts.channels.email import LONGEST_SUBJECT, MOST_RECIPIENTS, as_mail
from alerts.channels.recognising import settle_format
from alerts.channels.registry import EMAIL
from alerts.channels.text import CUT
from alerts.messages import Message
from alerts.states import DeliveryOutcome
from tests.alerts.channels.factories import FAMILY, NOW, message

SENT, PERMANENT = DeliveryOutcome.SENT, DeliveryOutcome.PERMANENT
RETRY, AMBIGUOUS = DeliveryOutcome.RETRY, DeliveryOutcome.AMBIGUOUS
SECRET = "person-in-the-reply@company.example"


def letter(written: Message, address: str = "ops@company.example", keyword: str = "") -> Letter:
    return EMAIL.render(written, Endpoint(address, keyword=keyword), now=NOW)


def test_a_letter_tells_the_same_in_its_subject_its_text_and_its_html() -> None:
    written = letter(message(), keyword="告警")
    assert written.subject == "[opened] Tideline 告警: Run #ab12cd failed"
    for part in (written.text, written.html):
        assert "[opened] Tideline 告警: Run #ab12cd failed" in part
        assert "It failed for good." in part
        assert "nightly" in part
    assert message().url in written.text
    assert 'href="https://tideline.example/runs/1?a=1&amp;b=2"' in written.html


def test_nothing_in_a_message_becomes_html_or_a_header() -> None:
    hostile = '<script>alert("x")</script>\r\nBcc: all@company.example'
    written = letter(message(title=hostile, text=hostile, facts=((hostile, hostile),), url="javascript:alert(1)"))
    assert "<script" not in written.html
    assert "href" not in written.html
    assert "\n" not in written.subject
    parsed = message_from_bytes(as_mail(written).message().as_bytes(), policy=default)
    assert parsed["bcc"] is None
    assert parsed["to"] == "ops@company.example"


def test_django_makes_a_mail_of_both_parts_that_reads_back() -> None:
    parsed = message_from_bytes(as_mail(letter(message(title="告警 🚨"))).message().as_bytes(), policy=default)
    assert parsed["subject"] == "[opened] Tideline: 告警 🚨"
    assert parsed["auto-submitted"] == "auto-generated"
    assert [part.get_content_type() for part in parsed.iter_parts()] == ["text/plain", "text/html"]


def test_each_try_has_the_same_message_id_so_that_two_copies_are_one() -> None:
    first, second = letter(message()), letter(message())
    assert first.headers["Message-ID"] == second.headers["Message-ID"]
    assert as_mail(first).message()["Message-ID"] == f"<{message().event_id}@tideline.invalid>"


def test_a_long_message_is_cut_and_a_long_title_shortened() -> None:
    written = letter(message(title="告" * 9000, text="\n".join(f"行{number}" for number in range(90_000))))
    assert len(written.subject) == LONGEST_SUBJECT
    assert max(len(written.text.encode()), len(written.html.encode())) <= EMAIL.body_limit + 1
    assert "more lines" in written.text
    assert "more lines" in written.html


@pytest.mark.parametrize("character", ["告", "🚨", FAMILY])
def test_case_70_a_letter_of_one_long_line_is_cut_at_the_edge_of_what_is_seen_as_a_character(character: str) -> None:
    written = letter(message(text=character * 40_000, facts=()))
    line = next(line for line in written.text.split("\n") if line.endswith(CUT))
    assert line.removesuffix(CUT) == character * (len(line.removesuffix(CUT)) // len(character))
    assert 0 <= EMAIL.body_limit - len(written.html.encode()) < 2 * len(character.encode())


@pytest.mark.parametrize(
    "address", ["a@x.example,b@y.example", "mailto:a@x.example, b@y.example", "a@x.example,,b@y.example"]
)
def test_several_recipients_stand_between_commas(address: str) -> None:
    assert letter(message(), address).recipients == ("a@x.example", "b@y.example")


@pytest.mark.parametrize(
    "address",
    ["", ",", "nobody", "a@", "a@x.example; b@y.example", "a@x.example\nBcc: b@y.example", "A <a@x.example>"],
)
def test_what_is_no_e_mail_address_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(Refused, match=r"^The address .*\.$"):
        settle_format(Endpoint(address), "email")


def test_too_many_recipients_are_refused() -> None:
    with pytest.raises(Refused, match="mailing list"):
        letter(message(), ",".join(f"p{number}@x.example" for number in range(MOST_RECIPIENTS + 1)))


REPLIES: list[tuple[Exception | None, DeliveryOutcome, str]] = [
    (None, SENT, "250"),
    (smtplib.SMTPRecipientsRefused({SECRET: (550, b"no such user")}), PERMANENT, "550"),
    (smtplib.SMTPRecipientsRefused({SECRET: (450, b"greylisted")}), RETRY, "450"),
    (smtplib.SMTPRecipientsRefused({SECRET: (450, b"x"), "b": (550, b"x")}), PERMANENT, "550"),
    (smtplib.SMTPRecipientsRefused({}), PERMANENT, "550"),
    (smtplib.SMTPSenderRefused(553, SECRET.encode(), "from@x.example"), PERMANENT, "553"),
    (smtplib.SMTPDataError(552, SECRET.encode()), PERMANENT, "552"),
    (smtplib.SMTPDataError(451, b"try later"), RETRY, "451"),
    (smtplib.SMTPAuthenticationError(535, SECRET.encode()), PERMANENT, "535"),
    (smtplib.SMTPAuthenticationError(454, b"temporary"), RETRY, "454"),
    (smtplib.SMTPConnectError(421, b"too many connections"), RETRY, "421"),
    (smtplib.SMTPHeloError(501, b"x"), PERMANENT, "501"),
    (smtplib.SMTPNotSupportedError(SECRET), PERMANENT, ""),
    (smtplib.SMTPServerDisconnected(SECRET), AMBIGUOUS, ""),
    (ConnectionRefusedError(SECRET), RETRY, ""),
    (socket.gaierror(-2, SECRET), RETRY, ""),
    (TimeoutError(SECRET), AMBIGUOUS, ""),
    (ConnectionResetError(SECRET), AMBIGUOUS, ""),
    (OSError(SECRET), AMBIGUOUS, ""),
]


@pytest.mark.parametrize(("error", "outcome", "code"), REPLIES, ids=lambda value: repr(value)[:40])
def test_the_mail_server_s_reply_is_judged_and_not_repeated(
    error: Exception | None, outcome: DeliveryOutcome, code: str
) -> None:
    verdict = EMAIL.judge(error)
    assert (verdict.outcome, verdict.code) == (outcome, code)
    assert verdict.meaning.endswith(".")
    assert SECRET not in repr(verdict)
