"""E-mail, through the back-end that Django is set to."""

import smtplib
import socket
from collections.abc import Iterable
from datetime import datetime
from html import escape

from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from alerts.channels.base import Endpoint, Letter, Rates, Refused, Verdict
from alerts.channels.page import Line, Page, fitted, lay_out
from alerts.channels.text import shortened
from alerts.messages import Message
from alerts.states import DeliveryOutcome

LONGEST_SUBJECT = 200
MOST_RECIPIENTS = 50

BODY = """<!doctype html>
<html><body style="font-family: sans-serif; line-height: 1.5">
<h2 style="margin: 0">{head}</h2>
<p style="color: #666; margin: 0 0 1em">{particulars}</p>
{text}
{facts}
{more}
{link}
</body></html>
"""


class Email:
    """Writes letters. The address is one e-mail address, or several with commas between them."""

    name = "email"
    label = "E-mail"
    # Far below what servers refuse, and more than anybody reads.
    body_limit = 100_000
    rates: Rates = ()

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint.

        Raises:
            Refused: there is no recipient, or one is no e-mail address, or there are too many.
        """
        _recipients(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Letter:
        """Write the message as a letter. Its id is the event's, so that of two copies a reader sees one.

        Raises:
            Refused: as `check` does.
        """
        page = fitted(lay_out(message, endpoint), lambda page: _size(page) <= self.body_limit)
        return Letter(
            recipients=_recipients(endpoint.address),
            subject=shortened(page.head, LONGEST_SUBJECT),
            text=page.as_text() + "\n",
            html=_html(page),
            headers={"Message-ID": f"<{message.event_id}@tideline.invalid>", "Auto-Submitted": "auto-generated"},
        )

    def judge(self, error: Exception | None) -> Verdict:
        """Read what sending the letter raised, or None if it raised nothing."""
        match error:
            case None:
                meaning = "The mail server took it. Whether it arrives, it does not say."
                return Verdict(DeliveryOutcome.SENT, "250", meaning)
            case smtplib.SMTPRecipientsRefused():
                return _refused(max((code for code, _ in error.recipients.values()), default=550), "a recipient")
            case smtplib.SMTPAuthenticationError():
                return _refused(error.smtp_code, "the login")
            case smtplib.SMTPResponseException():
                return _refused(error.smtp_code, "the letter")
        return _unanswered(error)


def as_mail(letter: Letter) -> EmailMultiAlternatives:
    """Return the letter as Django sends it, from the address that Django is set to."""
    mail = EmailMultiAlternatives(
        subject=letter.subject, body=letter.text, to=list(letter.recipients), headers=dict(letter.headers)
    )
    mail.attach_alternative(letter.html, "text/html")
    return mail


def _recipients(address: str) -> tuple[str, ...]:
    recipients = tuple(filter(None, (part.strip() for part in address.removeprefix("mailto:").split(","))))
    if not recipients:
        raise Refused(_("The address is empty: put in one or more e-mail addresses, with commas between them."))
    if len(recipients) > MOST_RECIPIENTS:
        raise Refused(
            _("There are more than %(most_recipients)s e-mail addresses: use a mailing list.")
            % {"most_recipients": MOST_RECIPIENTS}
        )
    for recipient in recipients:
        _check_recipient(recipient)
    return recipients


def _check_recipient(recipient: str) -> None:
    try:
        validate_email(recipient)
    except ValidationError:
        raise Refused(
            _("The address holds something that is no e-mail address: write them with commas between.")
        ) from None


def _size(page: Page) -> int:
    return max(len(page.as_text().encode()), len(_html(page).encode()))


def _html(page: Page) -> str:
    return BODY.format(
        head=escape(page.head),
        particulars=escape(page.particulars),
        text="\n".join(f"<p>{escape(line.text)}</p>" for line in page.lines if not line.label),
        facts=_table(line for line in page.lines if line.label),
        more=f"<p>{escape(page.more)}</p>" if page.more else "",
        link=f'<p><a href="{escape(page.url)}">{escape(page.url)}</a></p>' if page.url else "",
    )


def _table(facts: Iterable[Line]) -> str:
    rows = [f"<tr><th align=left>{escape(fact.label)}</th><td>{escape(fact.text)}</td></tr>" for fact in facts]
    return f"<table cellpadding=4>{''.join(rows)}</table>" if rows else ""


def _refused(code: int, what: str) -> Verdict:
    """Judge by the rule of SMTP: 4xx is for now, 5xx for good."""
    if 400 <= code < 500:
        return Verdict(
            DeliveryOutcome.RETRY, str(code), f"The mail server does not take {what} now. It is tried again."
        )
    meaning = f"The mail server refuses {what}. Check the addresses, and the settings of the mail server."
    return Verdict(DeliveryOutcome.PERMANENT, str(code), meaning)


def _unanswered(error: Exception) -> Verdict:
    """Judge what went wrong outside the server's replies. A connection that breaks may break after the letter."""
    match error:
        case smtplib.SMTPNotSupportedError() | smtplib.SMTPHeloError():
            return Verdict(DeliveryOutcome.PERMANENT, "", "The mail server does not do what the settings ask for.")
        case ConnectionRefusedError() | socket.gaierror():
            return Verdict(
                DeliveryOutcome.RETRY, "", "The mail server (EMAIL_HOST) cannot be reached. It is tried again."
            )
    meaning = "The connection to the mail server broke. Whether it took the letter is not known."
    return Verdict(DeliveryOutcome.AMBIGUOUS, "", meaning)
