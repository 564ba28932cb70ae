"""Answers that receivers give, and what each means: the data of `test_judging`.

Where they come from: the vendors' pages, and public reports of clients that read them wrongly.
"""

from dataclasses import dataclass, field
from typing import Any

from alerts.states import DeliveryOutcome

SENT, PERMANENT = DeliveryOutcome.SENT, DeliveryOutcome.PERMANENT
RETRY, AMBIGUOUS = DeliveryOutcome.RETRY, DeliveryOutcome.AMBIGUOUS
HTML = "<html><body><h1>It works</h1></body></html>"
TEAMS_429 = (
    "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId 1."
)
TEAMS_413 = (
    "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 with ContextId 1."
)


@dataclass(frozen=True)
class Told:
    """One answer and its meaning.

    Attributes:
        host: whose address it came from, by the name of a format.
        body: an object is sent as JSON.
        code: what is stored as the code; by default the status.
        says: what the meaning has to name.
    """

    host: str
    status: int
    body: Any
    outcome: DeliveryOutcome
    code: str = ""
    says: str = ""
    wait: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    case: int | None = None


def feishu(code: Any, msg: str, outcome: DeliveryOutcome, says: str = "", status: int = 200, **more: Any) -> Told:
    return Told("feishu", status, {"code": code, "msg": msg, "data": {}}, outcome, str(code), says, **more)


def wecom(code: Any, msg: str, outcome: DeliveryOutcome, says: str = "", status: int = 200, **more: Any) -> Told:
    return Told("wecom", status, {"errcode": code, "errmsg": msg}, outcome, str(code), says, **more)


def dingtalk(code: Any, msg: str, outcome: DeliveryOutcome, says: str = "", status: int = 200, **more: Any) -> Told:
    return Told("dingtalk", status, {"errcode": code, "errmsg": msg}, outcome, str(code), says, **more)


def slack(status: int, word: str, outcome: DeliveryOutcome, says: str = "", **more: Any) -> Told:
    return Told("slack", status, word, outcome, more.pop("code", word), says, **more)


def flow(status: int, error: str, outcome: DeliveryOutcome, says: str = "", **more: Any) -> Told:
    body = {"error": {"code": error, "message": "The workflow did not take it."}}
    return Told("teams", status, body, outcome, more.pop("code", error), says, **more)


def generic(status: int, outcome: DeliveryOutcome, says: str = "", body: Any = "", **more: Any) -> Told:
    return Told("generic", status, body, outcome, "", says, **more)


FEISHU = [
    feishu(0, "success", SENT),
    Told("feishu", 200, {"StatusCode": 0, "StatusMessage": "success"}, SENT, "0"),
    Told("feishu", 200, {"Extra": None, "StatusCode": 0, "StatusMessage": "success", "code": 0}, SENT, "0"),
    Told("feishu", 200, {"code": "0", "msg": "success"}, SENT, "0"),
    feishu(19021, "sign match fail or timestamp is not within one hour", PERMANENT, "secret"),
    feishu(19022, "Ip Not Allowed", PERMANENT, "allow-list"),
    feishu(19024, "Key Words Not Found", PERMANENT, "keyword", case=65),
    feishu(19001, "param invalid: incoming webhook access token invalid", PERMANENT, "address"),
    feishu(19002, "params error, msg_type need", PERMANENT, "message"),
    feishu(9499, "Bad Request", PERMANENT, "message", status=400),
    feishu(9499, "too many request", RETRY, "too often", status=400, wait=60),
    feishu(9499, "Too Many Requests", RETRY, "too often", wait=60),
    feishu(11232, "frequency limited psm[lark.oapi.app_platform_runtime]", RETRY, "half hour", wait=60),
    feishu(11232, "frequency limited", RETRY, wait=120, headers={"retry-after": "120"}),
    feishu(99991400, "request trigger frequency limit", RETRY, wait=60, status=400),
    feishu(12345, "some new limit: too many messages", RETRY, wait=60),
    feishu(12345, "something new", PERMANENT, "not known"),
    feishu("19024", "Key Words Not Found", PERMANENT, "keyword"),
    Told("feishu", 200, {"StatusCode": 19024, "StatusMessage": "Key Words Not Found"}, PERMANENT, "19024", "keyword"),
    Told("feishu", 200, {"StatusCode": 0, "code": 19024}, PERMANENT, "19024", "keyword"),
    Told("feishu", 200, {"code": 0, "StatusCode": 19024}, PERMANENT, "19024", "keyword"),
    Told("feishu", 200, {"msg": "success"}, AMBIGUOUS, "200", "not one of Feishu"),
    Told("feishu", 200, {"code": None}, AMBIGUOUS, "200"),
    Told("feishu", 200, {"code": True}, AMBIGUOUS, "200"),
    Told("feishu", 200, "ok", AMBIGUOUS, "200", case=67),
    Told("feishu", 200, HTML, AMBIGUOUS, "200", case=67),
    Told("feishu", 200, "", AMBIGUOUS, "200", case=67),
    Told("feishu", 200, [1, 2], AMBIGUOUS, "200"),
    Told("feishu", 200, b"\xff\xfe{", AMBIGUOUS, "200"),
    Told("feishu", 200, "[" * 5000, AMBIGUOUS, "200"),
    Told("feishu", 500, "boom", AMBIGUOUS, "500", "look there"),
    Told("feishu", 502, HTML, RETRY, "502", wait=60),
    Told("feishu", 302, "", PERMANENT, "302", "leads on"),
    feishu(12345, "internal error", AMBIGUOUS, status=500),
]
WECOM = [
    wecom(0, "ok", SENT),
    wecom(93000, "invalid webhook url, hint: [1600000000_1], from ip: 1.2.3.4", PERMANENT, "address", case=65),
    wecom(93004, "robot disabled", PERMANENT, "switched off"),
    wecom(45009, "api freq out of limit, hint: [1]", RETRY, "20 messages", wait=60),
    wecom(45033, "api concurrent out of limit", RETRY, wait=60),
    wecom(40058, "markdown.content exceed max length 4096", PERMANENT, "too long", case=68),
    wecom(40008, "invalid message type", PERMANENT),
    wecom(44004, "empty content", PERMANENT, "empty"),
    wecom(-1, "system busy", RETRY, "busy", wait=60),
    wecom(60020, "not allow to access from your ip", PERMANENT, "not known"),
    Told("wecom", 500, {"errcode": 0}, AMBIGUOUS, "500"),
    Told("wecom", 200, "ok", AMBIGUOUS, "200", case=67),
    Told("wecom", 200, HTML, AMBIGUOUS, "200", case=67),
    Told("wecom", 200, {"code": 0}, AMBIGUOUS, "200"),
    Told("wecom", 429, "", RETRY, "429", wait=60),
    Told("wecom", 404, HTML, PERMANENT, "404"),
]
DINGTALK = [
    dingtalk(0, "ok", SENT),
    dingtalk(310000, "keywords not in content, more: [https://ding-doc.dingtalk.com]", PERMANENT, "keyword", case=65),
    dingtalk(310000, "sign not match, more: [...]", PERMANENT, "signature is wrong"),
    dingtalk(310000, "invalid timestamp, more: [...]", PERMANENT, "clock"),
    dingtalk(310000, "ip 1.2.3.4 not in whitelist", PERMANENT, "allow-list"),
    dingtalk(310000, "错误描述:关键词不匹配;解决方案:...", PERMANENT, "keyword"),
    dingtalk(310000, "错误描述:签名不匹配", PERMANENT, "signature is wrong"),
    Told("dingtalk", 200, {"errcode": 310000}, PERMANENT, "310000", "security settings", case=65),
    dingtalk(130101, "send too fast, exceed 20 times per minute", RETRY, "20 messages", wait=600),
    dingtalk(410100, "send too fast", RETRY, wait=600),
    dingtalk(460101, "message too long, exceed 20000 bytes", PERMANENT, "too long"),
    dingtalk(300001, "token is not exist", PERMANENT, "access token"),
    dingtalk(300005, "token is not exist", PERMANENT, "access token"),
    dingtalk(400013, "chat is disbanded", PERMANENT, "dissolved"),
    dingtalk(400101, "access_token is not exist", PERMANENT, "access token"),
    dingtalk(400102, "robot is stopped", PERMANENT, "switched off"),
    dingtalk(400106, "robot is not exist", PERMANENT, "not in the group"),
    dingtalk(400402, "miss param : markdown->title", PERMANENT),
    dingtalk(40035, "miss required param: json", PERMANENT),
    dingtalk(43004, "无效的HTTP HEADER Content-Type", PERMANENT),
    dingtalk(430102, "含有不合适的文本", PERMANENT, "text"),
    dingtalk(90030, "webhook over limit", PERMANENT, "bought"),
    dingtalk(-1, "系统繁忙", RETRY, wait=600),
    dingtalk(555, "调用频率超限", RETRY, wait=600),
    dingtalk(555, "未知错误", PERMANENT, "not known"),
    Told("dingtalk", 200, "ok", AMBIGUOUS, "200", case=67),
    Told("dingtalk", 200, HTML, AMBIGUOUS, "200", case=67),
    Told("dingtalk", 503, "", RETRY, "503", wait=600),
]
SLACK = [
    slack(200, "ok", SENT, code="200"),
    slack(200, "ok\n", SENT, code="200"),
    Told("slack", 200, {"ok": True}, SENT, "200"),
    Told("slack", 200, {"ok": False, "error": "invalid_token"}, PERMANENT, "invalid_token", "new one", case=65),
    Told("slack", 200, {"ok": False, "error": "brand_new_error"}, AMBIGUOUS, "200"),
    slack(400, "invalid_payload", PERMANENT, "understand"),
    slack(400, "no_text", PERMANENT, "empty"),
    slack(400, "user_not_found", PERMANENT),
    slack(400, "posting_to_general_channel_denied", PERMANENT, "administrator"),
    slack(400, "something_new", PERMANENT, code="400"),
    slack(403, "action_prohibited", PERMANENT, "administrator"),
    slack(403, "invalid_token", PERMANENT, "new one"),
    slack(404, "no_service", PERMANENT, "new one"),
    slack(404, "no_active_hooks", PERMANENT, "new one"),
    slack(404, "channel_not_found", PERMANENT, "channel"),
    slack(410, "channel_is_archived", PERMANENT, "archived"),
    slack(200, "invalid_payload", PERMANENT, "understand", case=65),
    slack(429, "rate_limited", RETRY, wait=30, headers={"retry-after": "30"}),
    slack(429, "", RETRY, code="429", wait=1),
    slack(500, "rollup_error", AMBIGUOUS, code="500"),
    slack(503, "service_unavailable", RETRY, code="503", wait=1),
    slack(200, HTML, AMBIGUOUS, code="200", case=67),
    slack(200, "", AMBIGUOUS, code="200", case=67),
    slack(200, "not ok", AMBIGUOUS, code="200"),
    slack(302, "", PERMANENT, "leads on", code="302"),
]
TEAMS = [
    Told("teams", 202, "", SENT, "202", "history"),
    Told("teams", 200, "", SENT, "200"),
    Told("teams", 200, "1", SENT, "200"),
    Told("teams", 200, {"status": "done"}, SENT, "200"),
    Told("teams", 202, "Accepted", SENT, "202"),
    Told("teams", 200, TEAMS_429, RETRY, "429", wait=30, case=65),
    Told("teams", 200, TEAMS_413, PERMANENT, "413", "too long", case=65),
    Told("teams", 200, HTML, AMBIGUOUS, "200", case=67),
    Told("teams", 200, "Summary or Text is required.", AMBIGUOUS, "200"),
    Told("teams", 200, {"error": {"code": "New", "message": "x"}}, AMBIGUOUS, "200"),
    Told("teams", 400, "Bad payload received by generic incoming webhook.", PERMANENT, "400"),
    flow(400, "TriggerInputSchemaMismatch", PERMANENT, "form of message"),
    flow(400, "WorkflowTriggerIsNotEnabled", PERMANENT, "switched off"),
    flow(401, "DirectApiAuthorizationRequired", PERMANENT, "new address"),
    flow(404, "WorkflowNotFound", PERMANENT, "deleted"),
    flow(413, "RequestEntityTooLarge", PERMANENT, "too long"),
    flow(200, "RequestEntityTooLarge", PERMANENT, "too long", case=65),
    flow(403, "SomethingNew", PERMANENT, code="403"),
    Told("teams", 429, "", RETRY, "429", wait=7, headers={"retry-after": "7"}),
    Told("teams", 502, {"error": {"code": "NoResponse"}}, RETRY, "502", wait=30),
    Told("teams", 500, "", AMBIGUOUS, "500"),
]
DATE = "Mon, 01 Jun 2026 12:00:00 GMT"
GENERIC = [
    generic(200, SENT),
    generic(201, SENT),
    generic(202, SENT),
    generic(204, SENT),
    generic(200, SENT, body="ok", case=67),
    generic(200, SENT, body=HTML, case=67),
    generic(200, SENT, body={"code": 19024}),
    generic(301, PERMANENT, "leads on"),
    generic(302, PERMANENT, "leads on", headers={"location": "http://169.254.169.254/"}),
    generic(304, PERMANENT, "leads on"),
    generic(307, PERMANENT, "leads on"),
    generic(308, PERMANENT, "leads on"),
    generic(400, PERMANENT, "format"),
    generic(401, PERMANENT, "secret"),
    generic(403, PERMANENT, "allow-list"),
    generic(404, PERMANENT, "address"),
    generic(405, PERMANENT, "POST"),
    generic(408, RETRY, "in time"),
    generic(409, PERMANENT, "refuses"),
    generic(410, PERMANENT, "Disable"),
    generic(413, PERMANENT, "too long"),
    generic(415, PERMANENT, "JSON"),
    generic(418, PERMANENT, "refuses"),
    generic(421, RETRY),
    generic(422, PERMANENT),
    generic(425, RETRY),
    generic(429, RETRY, "too often", wait=90, headers={"retry-after": "90"}),
    generic(429, RETRY, wait=1.5, headers={"retry-after": "1.5"}),
    generic(429, RETRY, wait=90, headers={"retry-after": "Mon, 01 Jun 2026 12:01:30 GMT", "date": DATE}),
    generic(429, RETRY, wait=0, headers={"retry-after": "Mon, 01 Jun 2026 11:00:00 GMT", "date": DATE}),
    generic(429, RETRY, wait=86400, headers={"retry-after": "99999999"}),
    generic(429, RETRY, headers={"retry-after": "Mon, 01 Jun 2026 12:01:30 GMT"}),
    generic(429, RETRY, wait=90, headers={"retry-after": "Mon, 01 Jun 2026 12:01:30 -0000", "date": DATE}),
    generic(429, RETRY, headers={"retry-after": "soon"}),
    generic(429, RETRY, wait=0, headers={"retry-after": "-5"}),
    generic(500, RETRY, "broke down"),
    generic(501, PERMANENT),
    generic(502, RETRY, "gateway"),
    generic(503, RETRY, "busy", wait=5, headers={"retry-after": "5"}),
    generic(504, RETRY, "waited in vain"),
    generic(505, PERMANENT),
    generic(511, PERMANENT, "login"),
    generic(520, RETRY),
    generic(521, RETRY),
    generic(524, RETRY),
    generic(100, AMBIGUOUS),
    generic(999, RETRY),
]
ANSWERS = [*FEISHU, *WECOM, *DINGTALK, *SLACK, *TEAMS, *GENERIC]
