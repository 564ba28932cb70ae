"""Slack: an incoming webhook.

The message is one text without formatting. Slack's own marks begin with `<` and `&`, which are escaped as Slack says.
"""

from collections.abc import Mapping
from datetime import datetime
from html import escape

from alerts.channels.answers import ambiguous, json_object, judge_status, retry_after, with_pause
from alerts.channels.base import Answer, Endpoint, Rates, Request, Verdict
from alerts.channels.page import Page, fitted, lay_out_for_chat
from alerts.channels.posting import JSON_HEADERS, check_https
from alerts.channels.text import json_bytes
from alerts.messages import Message
from alerts.states import DeliveryOutcome

# Slack counts characters, and advises not to send more; what goes past 40,000 it cuts itself.
TEXT_LIMIT = 4000
PAUSE = 1.0

NO_WEBHOOK = "The webhook was removed or switched off. Make a new one and put in its address."
NOT_UNDERSTOOD = "It does not understand the message."
NOT_ALLOWED = "An administrator does not allow messages to this channel. Ask for it, or choose another channel."
REFUSALS: Mapping[str, str] = {
    "action_prohibited": NOT_ALLOWED,
    "channel_is_archived": "The channel is archived. Choose another one.",
    "channel_not_found": "The channel is gone. Choose another one.",
    "invalid_blocks": NOT_UNDERSTOOD,
    "invalid_payload": NOT_UNDERSTOOD,
    "invalid_token": NO_WEBHOOK,
    "msg_too_long": "The message is too long.",
    "no_active_hooks": NO_WEBHOOK,
    "no_service": NO_WEBHOOK,
    "no_service_id": NO_WEBHOOK,
    "no_team": "The workspace is gone or switched off.",
    "no_text": "The message is empty.",
    "posting_to_general_channel_denied": NOT_ALLOWED,
    "team_disabled": "The workspace is gone or switched off.",
    "too_many_attachments": NOT_UNDERSTOOD,
    "user_not_found": "The person to whom the webhook writes is gone.",
}
TOO_OFTEN = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})


class Slack:
    """Writes for an incoming webhook of Slack."""

    name = "slack"
    label = "Slack"
    body_limit = 20_000
    rates: Rates = ((1, 1.0),)

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_https(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message; the address is the only secret. See `Format.render`."""
        self.check(endpoint)
        page = fitted(lay_out_for_chat(message, endpoint), self._fits)
        return Request(endpoint.address, _body(page), JSON_HEADERS)

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer: 200 and the word “ok” is success; see `Format.judge`."""
        word = _word(answer)
        if word in TOO_OFTEN:
            verdict = Verdict(DeliveryOutcome.RETRY, word, "Slack: It is asked too often.", retry_after(answer))
            return with_pause(verdict, PAUSE)
        if word in REFUSALS:
            return Verdict(DeliveryOutcome.PERMANENT, word, f"Slack: {REFUSALS[word]}")
        verdict = judge_status(answer)
        if verdict.outcome is DeliveryOutcome.SENT and word != "ok":
            return ambiguous(
                answer, "The answer is not the “ok” of Slack. Look into the channel, and check the address."
            )
        return with_pause(verdict, PAUSE)

    def _fits(self, page: Page) -> bool:
        return _units(_text(page)) <= TEXT_LIMIT and len(_body(page)) <= self.body_limit


def _body(page: Page) -> bytes:
    content = {"text": _text(page), "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    return json_bytes(content)


def _text(page: Page) -> str:
    return escape(page.as_text(), quote=False)


def _units(text: str) -> int:
    """Return the length in the units in which JavaScript counts, the largest that “characters” may mean."""
    return len(text.encode("utf-16-le")) // 2


def _word(answer: Answer) -> str:
    """Return the word that Slack answers; from JSON, as workflows answer it, “ok” or the error."""
    content = json_object(answer)
    if content is None:
        return answer.body.decode(errors="replace").strip()
    error = content.get("error")
    return error if isinstance(error, str) else "ok" if content.get("ok") is True else ""
