"""Whatever else the library apprise knows: a hundred services, each with an address of its own form.

It answers only whether it worked, so its own senders for platforms that answer 200 to a failure would call a refused
message sent. Addresses of those are refused here: Tideline's formats read the answers.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from alerts.channels.base import Endpoint, Notice, Rates, Refused, Verdict
from alerts.channels.page import fitted, lay_out_for_chat
from alerts.messages import Message
from alerts.states import DeliveryOutcome

OWN: Mapping[str, str] = {
    "dingtalk": "DingTalk",
    "feishu": "Feishu/Lark",
    "lark": "Feishu/Lark",
    "wecombot": "WeCom",
    "slack": "Slack",
    "workflow": "Microsoft Teams",
    "workflows": "Microsoft Teams",
    "msteams": "Microsoft Teams",
    "mailto": "E-mail",
    "mailtos": "E-mail",
    "form": "Standard Webhooks",
    "forms": "Standard Webhooks",
    "json": "Standard Webhooks",
    "jsons": "Standard Webhooks",
    "xml": "Standard Webhooks",
    "xmls": "Standard Webhooks",
}
# These speak to the machine on which the worker runs, where nobody looks.
LOCAL = frozenset({"dbus", "glib", "gnome", "growl", "kde", "macosx", "qt", "syslog", "windows"})


class Apprise:
    """Writes notices for apprise."""

    name = "apprise"
    label = "Apprise"
    # Each service of apprise cuts by its own limit; this is what nobody would read on.
    body_limit = 20_000
    rates: Rates = ()

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint.

        Raises:
            Refused: a format of Tideline's own is for it, or it speaks to this machine, or apprise does not know it.
        """
        scheme, separator, _rest = endpoint.address.partition("://")
        if not separator:
            raise Refused(_("The address must have the form that apprise asks for, such as ntfys://topic."))
        _check_scheme(scheme.strip().lower())
        if not _known(endpoint.address):
            raise Refused(_("Apprise does not understand the address. Compare it with apprise's page of the service."))

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Notice:
        """Write the message as plain text: apprise fits it to the service.

        Raises:
            Refused: as `check` does.
        """
        self.check(endpoint)
        page = fitted(lay_out_for_chat(message, endpoint), lambda page: len(page.as_text().encode()) <= self.body_limit)
        lines = filter(None, [page.particulars, *page.body, page.url])
        return Notice(endpoint.address, title=page.head, text="\n".join(lines))

    def judge(self, taken: bool) -> Verdict:
        """Read whether apprise says that it worked. What went wrong it does not say, nor whether anything went out."""
        if taken:
            return Verdict(DeliveryOutcome.SENT, "true", "Apprise says that the service took it.")
        meaning = "Apprise says that it failed, and not why. Check the address with apprise's own command."
        return Verdict(DeliveryOutcome.AMBIGUOUS, "false", meaning)


def _check_scheme(scheme: str) -> None:
    if scheme in OWN:
        raise Refused(
            _(
                "For %(scheme)s:// choose the format %(own)s and the service's own address: apprise does "
                "not read the service's answer."
            )
            % {"scheme": scheme, "own": OWN[scheme]}
        )
    if scheme in LOCAL:
        raise Refused(
            _("With %(scheme)s:// apprise speaks to the machine on which it runs, where nobody looks.")
            % {"scheme": scheme}
        )


def _known(address: str) -> bool:
    # Apprise takes long to load, and only those who use it need it.
    import apprise

    service: Any = apprise.Apprise.instantiate(address)
    return service is not None
