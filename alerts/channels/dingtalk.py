"""DingTalk (钉钉): a group's custom robot.

The message is plain text and says itself that nobody is called.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote, urlsplit, urlunsplit

from alerts.channels.answers import json_object
from alerts.channels.base import Answer, Endpoint, Rates, Request, Verdict
from alerts.channels.codes import Codebook, permanent, retry
from alerts.channels.page import Page, fitted, lay_out_for_chat
from alerts.channels.posting import JSON_HEADERS, check_https
from alerts.channels.signing import sign, unix_milliseconds
from alerts.channels.text import json_bytes
from alerts.messages import Message

SECURITY = 310000

CODEBOOK = Codebook(
    platform="DingTalk",
    fields=("errcode",),
    texts=("errmsg",),
    # Whoever sends more than 20 a minute is shut out for ten minutes.
    pause=600,
    codes={
        -1: retry("It is busy."),
        404: permanent("There is nothing at this address. Check it."),
        40035: permanent("It misses something in the message."),
        43004: permanent("It does not take this type of content."),
        90030: permanent("The calls that the organisation has bought are used up."),
        130101: retry("It is asked too often: more than 20 messages a minute."),
        300001: permanent("There is no such robot. Check the access token in the address."),
        300005: permanent("There is no such robot. Check the access token in the address."),
        SECURITY: permanent(
            "The message does not meet the robot's security settings. Compare them with the channel's."
        ),
        400013: permanent("The group was dissolved."),
        400101: permanent("There is no such robot. Check the access token in the address."),
        400102: permanent("The robot is switched off. Switch it on in the group."),
        400105: permanent("It does not know this type of message."),
        400106: permanent("The robot is not in the group any more. Make a new one."),
        400402: permanent("It misses something in the message."),
        410100: retry("It is asked too often."),
        430101: permanent("It takes a link in the message for unsafe."),
        430102: permanent("It does not allow the text of the message."),
        430103: permanent("It does not allow a picture in the message."),
        430104: permanent("It does not allow the content of the message."),
        460101: permanent("The message is too long."),
    },
)
# Four causes have one code, and only the words tell them apart.
CAUSES: Mapping[str, str] = {
    "keyword": "The message does not hold a keyword that the robot asks for. Put one into the channel.",
    "关键词": "The message does not hold a keyword that the robot asks for. Put one into the channel.",
    "sign": "The signature is wrong. Check the secret.",
    "签名": "The signature is wrong. Check the secret.",
    "timestamp": "The time of the signature is wrong. Set this machine's clock.",
    "时间戳": "The time of the signature is wrong. Set this machine's clock.",
    "whitelist": "This machine's address is not on the robot's allow-list. Put it there.",
    "白名单": "This machine's address is not on the robot's allow-list. Put it there.",
}


class DingTalk:
    """Writes for the custom robot of a DingTalk group."""

    name = "dingtalk"
    label = "DingTalk"
    body_limit = 20_000
    rates: Rates = ((20, 60.0),)

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_https(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message, signed in its address; see `Format.render`."""
        self.check(endpoint)
        page = fitted(lay_out_for_chat(message, endpoint), lambda page: len(_body(page)) <= self.body_limit)
        return Request(_signed(endpoint, now), _body(page), JSON_HEADERS)

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer; see `Format.judge`."""
        verdict = CODEBOOK.judge(answer)
        return _with_cause(verdict, answer) if verdict.code == str(SECURITY) else verdict


def _body(page: Page) -> bytes:
    return json_bytes({"msgtype": "text", "text": {"content": page.as_text()}, "at": {"isAtAll": False}})


def _signed(endpoint: Endpoint, now: datetime) -> str:
    """Return the address with the time and the signature, whose characters are percent-encoded once."""
    if not endpoint.secrets:
        return endpoint.address
    timestamp, secret = unix_milliseconds(now), endpoint.secrets[0]
    signature = quote(sign(secret.encode(), f"{timestamp}\n{secret}".encode()), safe="")
    parts = urlsplit(endpoint.address)
    kept = [part for part in parts.query.split("&") if part.partition("=")[0] not in {"", "timestamp", "sign"}]
    return urlunsplit(parts._replace(query="&".join([*kept, f"timestamp={timestamp}", f"sign={signature}"])))


def _with_cause(verdict: Verdict, answer: Answer) -> Verdict:
    words = " ".join(CODEBOOK.words(json_object(answer) or {})).lower()
    cause = next((meaning for word, meaning in CAUSES.items() if word in words), None)
    return replace(verdict, meaning=f"{CODEBOOK.platform}: {cause}") if cause else verdict
