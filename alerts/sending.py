"""Sends one message to one channel, by whichever way its format goes. Network I/O: never within a transaction."""

from dataclasses import replace
from functools import partial

from apprise import Apprise as AppriseLibrary
from apprise import AppriseAsset
from django.conf import settings

from alerts.channels.base import Answer, Endpoint, Letter, Notice, Refused, Request, Verdict
from alerts.channels.judging import judge
from alerts.channels.registry import APPRISE, HTTP_FORMATS, format_of
from alerts.mailing import mail
from alerts.messages import Message
from alerts.models import Channel
from alerts.states import DeliveryOutcome
from project.kit.bounded import within
from project.kit.clock import database_now
from project.kit.outbound import Answered, NotTaken, Unanswered, leads_inwards, post
from project.kit.secrets import UnreadableSecret

# For all of a message over HTTP, and for one answer of a mail server.
TIMEOUT_SECONDS = 15.0
# For all of a letter, and for all services that one address of apprise names. No message may outlast the lease of its
# sender (delivering.SENDER_LEASE).
LETTER_SECONDS = 60.0


def send(channel: Channel, message: Message) -> tuple[Verdict, int | None]:
    """Send the message and return what came of it, with the HTTP status if there was one. It never raises: what cannot
    be sent is a verdict as well.
    """
    try:
        endpoint = endpoint_of(channel)
        written = format_of(channel.format).render(with_whole_link(message), endpoint, now=database_now())
    except (Refused, LookupError, UnreadableSecret) as error:
        return Verdict(DeliveryOutcome.PERMANENT, "", str(error)), None
    match written:
        case Request():
            return _post(channel.format, written)
        case Letter():
            return mail(written, step_seconds=TIMEOUT_SECONDS, timeout_seconds=LETTER_SECONDS), None
        case Notice():
            return _notify(written), None


def with_whole_link(message: Message) -> Message:
    """Return the message with a link that leads to the control panel from anywhere, if it is known where that is."""
    if not settings.TIDELINE_URL or not message.url.startswith("/"):
        return message
    return replace(message, url=f"{settings.TIDELINE_URL.rstrip('/')}{message.url}")


def endpoint_of(channel: Channel) -> Endpoint:
    """Return where to and as whom, with its secrets revealed.

    Raises:
        UnreadableSecret: they were encrypted with a key that is not given any more.
        Refused: the keyword cannot be.
    """
    secrets = channel.secrets.reveal() if channel.secrets else ""
    return Endpoint(channel.address.reveal(), tuple(secrets.split()), channel.keyword)


def _post(name: str, request: Request) -> tuple[Verdict, int | None]:
    posted = post(
        request.url,
        request.body,
        request.headers,
        timeout_seconds=TIMEOUT_SECONDS,
        allowed_hosts=settings.TIDELINE_ALLOWED_HOSTS_INWARD,
    )
    match posted:
        case Answered():
            answer = Answer(posted.status, posted.headers, posted.body)
            return judge(HTTP_FORMATS[name], request.url, answer), posted.status
        case NotTaken():
            outcome = DeliveryOutcome.PERMANENT if posted.final else DeliveryOutcome.RETRY
            return Verdict(outcome, "", posted.sentence), None
        case Unanswered():
            return Verdict(DeliveryOutcome.AMBIGUOUS, "", posted.sentence), None


def _notify(notice: Notice) -> Verdict:
    # It opens its connections itself. Of services with a host of their own that host is looked at before.
    library = AppriseLibrary(asset=AppriseAsset(http_redirects=False))
    library.add(notice.address)
    hosts = {service.host for service in library if getattr(service, "host", None)}
    if any(leads_inwards(host, allowed_hosts=settings.TIDELINE_ALLOWED_HOSTS_INWARD) for host in hosts):
        return Verdict(DeliveryOutcome.PERMANENT, "", "The address leads into a private network, which is not called.")
    try:
        taken = within(LETTER_SECONDS, partial(library.notify, body=notice.text, title=notice.title), name="apprise")
    except TimeoutError:
        return Verdict(DeliveryOutcome.AMBIGUOUS, "", f"The service did not end within {LETTER_SECONDS:g} s.")
    return APPRISE.judge(bool(taken))
