"""Sends one letter through the mail back-end that Django is set to, within a time for all of it: the back-end's own
limit is for each step, and a server that answers a byte at a time would never reach it. Network I/O: never within a
transaction.
"""

import smtplib
import socket
import threading
from contextlib import suppress

from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend

from alerts.channels.base import Letter, Verdict
from alerts.channels.email import as_mail
from alerts.channels.registry import EMAIL
from alerts.states import DeliveryOutcome
from project.kit.bounded import within

_UNWRITABLE = (
    "The letter cannot be written. Check the channel's addresses, the one that letters come from, and EMAIL_*."
)
_UNREACHED = "The mail server (EMAIL_HOST) cannot be reached, or takes no letters now. It is tried again."


def mail(letter: Letter, *, step_seconds: float, timeout_seconds: float) -> Verdict:
    """Send the letter and return what came of it. It is not under way any more then.

    Args:
        step_seconds: for one answer of the server.
        timeout_seconds: for all of it.
    """
    dispatch = _Dispatch(as_mail(letter), step_seconds)
    try:
        within(timeout_seconds, dispatch.perform, name="mail")
    except (smtplib.SMTPException, OSError) as error:
        return dispatch.ended(error)
    except ValueError:  # of Django and the standard library: a line end in a header, no address, contrary settings
        return Verdict(DeliveryOutcome.PERMANENT, "", _UNWRITABLE)
    return EMAIL.judge(None)


class _Dispatch:
    """One letter on its way, and how far it came."""

    def __init__(self, letter: EmailMultiAlternatives, step_seconds: float) -> None:
        self._letter, self._step_seconds = letter, step_seconds
        self._backend: BaseEmailBackend | None = None
        self._lock = threading.Lock()
        self._begun = self._taken = self._over = False

    def perform(self) -> None:
        """Send it, unless the time is over before it has begun."""
        self._backend = backend = get_connection(timeout=self._step_seconds)
        backend.open()
        try:
            if self._begin():
                backend.send_messages([self._letter])
                self._taken = True
        finally:
            backend.close()

    def ended(self, error: Exception) -> Verdict:
        """Stop it, and return what is known: it took too long, or the error came."""
        with self._lock:
            self._over = True
        self._hang_up()
        verdict = EMAIL.judge(None if self._taken else error)
        if verdict.outcome == DeliveryOutcome.AMBIGUOUS and not self._begun:
            return Verdict(DeliveryOutcome.RETRY, "", _UNREACHED)
        return verdict

    def _begin(self) -> bool:
        with self._lock:
            self._begun = not self._over
            return self._begun

    def _hang_up(self) -> None:
        """Close the connection under whoever still waits for the server; other back-ends than SMTP's have none."""
        connection = getattr(getattr(self._backend, "connection", None), "sock", None)
        if connection is not None:
            with suppress(OSError):  # the server was quicker
                connection.shutdown(socket.SHUT_RDWR)
