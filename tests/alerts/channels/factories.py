"""Messages and endpoints for the tests of the formats."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any

from alerts.channels.base import Endpoint, Request
from alerts.channels.registry import HTTP_FORMATS
from alerts.messages import Message
from alerts.states import Severity, Telling

NOW = datetime(2026, 6, 1, 12, 30, 15, 123456, tzinfo=UTC)
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ADDRESSES = {
    "generic": "https://receiver.example/hook?token=tok-in-the-query",
    "feishu": "https://open.feishu.cn/open-apis/bot/v2/hook/tok-in-the-path",
    "wecom": "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=tok-in-the-query",
    "dingtalk": "https://oapi.dingtalk.com/robot/send?access_token=tok-in-the-query",
    "slack": "https://hooks.slack.com/services/T0/B0/tok-in-the-path",
    "teams": "https://prod-01.westeurope.logic.azure.com/workflows/1/triggers/manual/paths/invoke?sig=tok",
}
SECRETS = {"generic": (WHSEC,), "feishu": ("feishu-secret",), "dingtalk": ("SECdingtalk",)}
HTTP_NAMES = tuple(HTTP_FORMATS)
FAMILY = "👨‍👩‍👧‍👦"  # one character to the eye, seven in the text


def message(**changes: Any) -> Message:
    facts: dict[str, Any] = {
        "event_id": "evt_2KWPBgLlAfxdpx2AI54pPJ85f4W",
        "telling": Telling.OPENED,
        "kind": "run_failed",
        "severity": Severity.CRITICAL,
        "title": "Run #ab12cd failed",
        "text": "It failed for good.\nLook at its last attempt.",
        "at": NOW,
        "facts": (("Schedule", "nightly"),),
        "url": "https://tideline.example/runs/1?a=1&b=2",
        "labels": {"team": "ops"},
    }
    return Message(**{**facts, **changes})


def endpoint(name: str, **changes: Any) -> Endpoint:
    return Endpoint(**{"address": ADDRESSES[name], "secrets": SECRETS.get(name, ()), **changes})


def rendered(name: str, written: Message, **changes: Any) -> Request:
    return HTTP_FORMATS[name].render(written, endpoint(name, **changes), now=NOW)


def body_of(request: Request) -> Any:
    return json.loads(request.body.decode())


def shown(name: str, request: Request) -> list[str]:
    """Return what a person sees, text by text, as the platform takes it out of the body."""
    body = body_of(request)
    match name:
        case "generic":
            data = body["data"]
            return [data["summary"], data["text"], *(f"{fact['label']}: {fact['value']}" for fact in data["facts"])]
        case "feishu":
            return [element["text"] for line in body["content"]["post"]["zh_cn"]["content"] for element in line]
        case "wecom" | "dingtalk":
            return body["text"]["content"].split("\n")
        case "slack":
            return unescape(body["text"]).split("\n")
        case "teams":
            blocks = body["attachments"][0]["content"]["body"]
            return [run["text"] for block in blocks for run in block["inlines"]]
    raise LookupError(name)


def strings(content: Any) -> Iterator[str]:
    """Yield each text anywhere in a JSON document."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield from (text for pair in content.items() for value in pair for text in strings(value))
    elif isinstance(content, list):
        yield from (text for value in content for text in strings(value))
