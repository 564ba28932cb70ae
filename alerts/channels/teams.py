"""Microsoft Teams: a workflow that posts an Adaptive Card when its webhook is called.

The card is made of rich text blocks, in which nothing is markdown: text stays text, whatever it holds.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from alerts.channels.answers import ambiguous, json_object, judge_status, with_pause
from alerts.channels.base import Answer, Endpoint, Rates, Request, Verdict
from alerts.channels.page import Page, fitted, lay_out_for_chat
from alerts.channels.posting import JSON_HEADERS, check_https
from alerts.channels.text import json_bytes
from alerts.messages import Message
from alerts.states import DeliveryOutcome, Severity

PAUSE = 30.0
COLOURS: Mapping[Severity, str] = {
    Severity.INFO: "Accent",
    Severity.WARNING: "Warning",
    Severity.CRITICAL: "Attention",
}
# The old connectors answer 200 and say in words which status Teams gave them.
INNER_STATUS = re.compile(r"returned HTTP error (\d{3})")
TOO_LONG = "The message is too long for Teams."
ERRORS: Mapping[str, str] = {
    "DirectApiAuthorizationRequired": "The workflow has a new address. Copy it from the workflow.",
    "DirectApiInvalidAuthorizationScheme": "The workflow has a new address. Copy it from the workflow.",
    "InvalidRequestContent": "The workflow does not understand the message.",
    "RequestEntityTooLarge": TOO_LONG,
    "TriggerInputSchemaMismatch": "The workflow expects another form of message. Make it from the webhook's template.",
    "WorkflowNotFound": "The workflow was deleted. Make a new one and put in its address.",
    "WorkflowTriggerIsNotEnabled": "The workflow is switched off. Switch it on.",
}


class Teams:
    """Writes for a workflow of Teams."""

    name = "teams"
    label = "Microsoft Teams"
    # Documented are 28 KB, measured by others 21,000 bytes.
    body_limit = 21_000
    rates: Rates = ((4, 1.0),)

    def check(self, endpoint: Endpoint) -> None:
        """Look at the endpoint; see `Format.check`."""
        check_https(endpoint.address)

    def render(self, message: Message, endpoint: Endpoint, *, now: datetime) -> Request:
        """Write the message; the address is the only secret. See `Format.render`."""
        self.check(endpoint)

        def body(page: Page) -> bytes:
            return json_bytes(_wrapped(_card(page, Severity(message.severity))))

        page = fitted(lay_out_for_chat(message, endpoint), lambda page: len(body(page)) <= self.body_limit)
        return Request(endpoint.address, body(page), JSON_HEADERS)

    def judge(self, answer: Answer) -> Verdict:
        """Read the answer: the words in a 200 may say that it failed; see `Format.judge`."""
        inner = INNER_STATUS.search(answer.body.decode(errors="replace"))
        if inner is not None:
            return with_pause(judge_status(replace(answer, status=int(inner[1]))), PAUSE)
        error = _error(answer)
        if error in ERRORS:
            return Verdict(DeliveryOutcome.PERMANENT, error, f"Microsoft Teams: {ERRORS[error]}")
        verdict = with_pause(judge_status(answer), PAUSE)
        return _accepted(answer) if verdict.outcome is DeliveryOutcome.SENT else verdict


def _wrapped(card: Mapping[str, Any]) -> Mapping[str, Any]:
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _card(page: Page, severity: Severity) -> Mapping[str, Any]:
    head = _block(page.head, size="Medium", weight="Bolder", color=COLOURS[severity])
    lines = [_block(line) for line in page.body]
    actions = [{"type": "Action.OpenUrl", "title": "Open", "url": page.url}] if page.url else []
    return {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "fallbackText": page.opening,
        "body": [head, _block(page.particulars, isSubtle=True), *lines],
        "actions": actions,
    }


def _block(text: str, **look: object) -> Mapping[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **look}]}


def _error(answer: Answer) -> str:
    """Return the name of the error that a workflow answers, or nothing."""
    error = (json_object(answer) or {}).get("error")
    name = error.get("code") if isinstance(error, dict) else None
    return name if isinstance(name, str) else ""


def _accepted(answer: Answer) -> Verdict:
    """Judge a 2xx without a known error: workflows answer 202 and old connectors “1”; other words prove nothing."""
    body = answer.body.strip()
    content = json_object(answer)
    if "error" in (content or {}) or (answer.status != 202 and body not in {b"", b"1"} and content is None):
        return ambiguous(
            answer, "The answer is not one of Microsoft Teams. Look into the channel, and check the address."
        )
    meaning = "Microsoft Teams took it. Whether the workflow then showed it, only the workflow's own history tells."
    return Verdict(DeliveryOutcome.SENT, str(answer.status), meaning)
