"""Feishu and Lark: a group's custom bot.

The message is a rich text (`post`), in which mentions are elements of their own: text stays text, whatever it holds.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerts.channels.base import Answer, Endpoint, Rates, Request, Verdict
from alerts.channels.codes import Codebook, permanent, retry
from alerts.channels.page import Page, fitted, lay_out_for_chat
from alerts.channels.posting import JSON_HEADERS, check_https
from alerts.channels.signing import sign, unix_seconds
from alerts.channels.text import json_bytes
from alerts.messages import Message

CODEBOOK = Codebook(
    platform="Feishu/Lark",
    fields=("code", "StatusCode"),
    texts=("msg", "StatusMessage"),
    pause=60,
    codes={
        9499: permanent("It does not understand the message."),
        10003: permanent("It does not understand the message."),
        11232: retry("It is asked too often, or is busy as it is at each full and half hour."),
        11233: retry("It is asked too often."),
        11247: retry("It is asked too often."),
        19001: permanent("There is no such bot. Check the address; the bot may have been removed from the group."),
        19002: permanent("It misses something in the message."),
        19021: permanent(
            "The signature is wrong. Check the secret, and that this machine's clock is right to within an hour."
        ),
        19022: permanent("This machine's address is not on the bot's allow-list. Put it there."),
        19024: permanent("The message does not hold the keyword that the bot asks for. Put it into the channel."),
        99991400: retry("It is asked too often."),
    },
    by_words=frozenset({9499}),
)


class Feishu:
    """Writes for the custom bot of a Feishu or Lark group."""

    name = "feishu"
    label = "Feishu/Lark"
    body_limit = 20_000
    rates: Rates = ((100, 60.0), (5, 1.0))

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_https(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message, signed in its body; see `Format.render`."""
        self.check(endpoint)
        signature = _signature(endpoint, now)

        def body(page: Page) -> bytes:
            return json_bytes({**signature, "msg_type": "post", "content": {"post": {"zh_cn": _post(page)}}})

        page = fitted(lay_out_for_chat(message, endpoint), lambda page: len(body(page)) <= self.body_limit)
        return Request(endpoint.address, body(page), JSON_HEADERS)

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer; see `Format.judge`."""
        return CODEBOOK.judge(answer)


def _signature(endpoint: Endpoint, now: datetime) -> Mapping[str, str]:
    """Sign by Feishu's rule: the time and the secret are the key, and nothing is what is signed."""
    if not endpoint.secrets:
        return {}
    timestamp = unix_seconds(now)
    return {"timestamp": str(timestamp), "sign": sign(f"{timestamp}\n{endpoint.secrets[0]}".encode(), b"")}


def _post(page: Page) -> Mapping[str, Any]:
    """Return the rich text. The head is its title and stands in the text again: which of both the group's keyword is
    looked for in is not documented.
    """
    lines = [page.head, page.particulars, *page.body]
    elements: list[dict[str, str]] = [{"tag": "text", "text": line} for line in lines]
    if page.url:
        elements.append({"tag": "a", "text": page.url, "href": page.url})
    return {"title": page.head, "content": [[element] for element in elements]}
