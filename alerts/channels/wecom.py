"""WeCom (企业微信): a group's bot.

The message is plain text: it reads the same in WeCom and in the WeChat of members, and needs no escaping, which WeCom's
markdown does not have.
"""

from datetime import datetime

from alerts.channels.base import Answer, Endpoint, Rates, Request, Verdict
from alerts.channels.codes import Codebook, permanent, retry
from alerts.channels.page import Page, fitted, lay_out_for_chat
from alerts.channels.posting import JSON_HEADERS, check_https
from alerts.channels.text import json_bytes
from alerts.messages import Message

CODEBOOK = Codebook(
    platform="WeCom",
    fields=("errcode",),
    texts=("errmsg",),
    pause=60,
    codes={
        -1: retry("It is busy."),
        40008: permanent("It does not know this type of message."),
        40058: permanent("The message is too long, or not what it expects."),
        44004: permanent("The message is empty."),
        45002: permanent("The message is too long."),
        45009: retry("It is asked too often: more than 20 messages a minute."),
        45033: retry("It is asked by too many at the same time."),
        93000: permanent("There is no such bot. Check the address; the bot may have been removed from the group."),
        93004: permanent("The bot is switched off. Switch it on in the group."),
        93008: permanent("The bot is not in the group any more. Make a new one."),
    },
)


class WeCom:
    """Writes for the bot of a WeCom group."""

    name = "wecom"
    label = "WeCom"
    # WeCom counts the text alone; the whole body within it is on the safe side.
    body_limit = 2048
    rates: Rates = ((20, 60.0),)

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_https(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message; WeCom has no signature. See `Format.render`."""
        self.check(endpoint)
        page = fitted(lay_out_for_chat(message, endpoint), lambda page: len(_body(page)) <= self.body_limit)
        return Request(endpoint.address, _body(page), JSON_HEADERS)

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer; see `Format.judge`."""
        return CODEBOOK.judge(answer)


def _body(page: Page) -> bytes:
    return json_bytes({"msgtype": "text", "text": {"content": page.as_text()}})
