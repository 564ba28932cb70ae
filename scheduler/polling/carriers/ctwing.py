"""China Telecom's connection management (CMP, of CTWing): it answers in JSON, in XML, or in a line with a code."""

import hashlib
import re
from dataclasses import replace
from datetime import UTC
from functools import cached_property, partial
from typing import Any
from xml.etree import ElementTree

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from quotas.ratelimit import Window
from scheduler.polling.carriers.answers import Answer, NoDocument
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.http_json.authorizing import Authorization, Pass, Standing
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import Draft
from scheduler.polling.carriers.http_json.presets import PresetCredentials, PresetSettings
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.carriers.http_json.signing import signed
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.carriers.wall_clock import now_in
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

STATES = {
    "1": CardState.READY,
    "2": CardState.TESTING,
    "3": CardState.TESTING,  # tested, and off again
    "4": CardState.ACTIVE,
    "5": CardState.STOPPED,
    "6": CardState.UNKNOWN,  # in the carrier's own hands
    "7": CardState.CANCELLED,
}
REAL_NAMES = {"1": RealName.VERIFIED, "0": RealName.NEEDED}
CODES = {"-1": ErrorClass.CARD_NOT_OWNED}
OF_A_CHANGE = {
    "-9": ErrorClass.STATE_FORBIDS,  # what is ordered is so already
    "100008": ErrorClass.STATE_FORBIDS,  # a card that was never activated is not resumed
}
STOP, RESUME = "19", "20"
MOST_OF_A_BATCH = 100
_LINE = re.compile(r"\s*(-?[0-9]{1,10})\b[\s:：,，;]*(.{0,1000})", re.DOTALL)


class CtWingAnswer(Answer):
    """An answer in whichever form it came."""

    @cached_property
    def document(self) -> Any:
        """What it says. Of XML: its leaves, by their names in small letters; of a line: its code and the rest."""
        try:
            document = super().document
        except NoDocument:
            document = None
        if isinstance(document, dict):
            return document
        text = self.text()
        return _leaves(text) if text.lstrip().startswith("<") else _line(text)


class CtWingSettings(PresetSettings):
    """An account at CTWing's CMP."""

    checks = frozenset(CheckType)

    base_url: BaseAddress = Field(
        default="https://cmp-api.ctwing.cn:20164",
        title="Address",
        description=gettext_noop("What all paths stand behind."),
    )
    timezone: str = Field(default="Asia/Shanghai", title="Time zone", description=gettext_noop("Of the billing cycle."))
    cust_number: str = Field(
        title="Customer number",
        description=gettext_noop("Shown in the console at the groups, as the enterprise's."),
        min_length=1,
    )

    def dialect(self) -> dict[str, Any]:
        status = {
            "path": "/openapi/v1/prodinst/queryCardMainStatus",
            "query": {"access_number": "{msisdn}"},
            "fields": {"state": "productInfo[0].productMainStatusCd", "states": STATES | self.states},
        }
        info = self._information()
        return {
            "checks": {
                "card_status": status | {"batch": info["batch"]},
                "package": info,
                "usage": self._usage(),
                "real_name": self._real_name(),
            },
            "stop": _change(STOP),
            "resume": _change(RESUME),
            "errors": {
                "code": "code || rspcode || resultcode || (resultMsg || resultmsg || smsg) && result",
                "message": "message || msg || rspdesc || resultMsg || resultmsg || smsg",
                "success": ["0", "0000"],
                "codes": CODES,
                "endpoints": {endpoint: {"codes": OF_A_CHANGE} for endpoint in ("stop", "resume")},
            },
        }

    def _information(self) -> dict[str, Any]:
        return _for_one_and_many(
            "/api/v1/prod/batchQrySimInfo",
            "accessNumbers",
            {"custNumber": self.cust_number, "groupId": "", "simStatus": ""},
            "data.qrySimInfoList",
            {"state": "simStatus", "states": STATES | self.states, "package": "mainOfferName"},
        )

    def _usage(self) -> dict[str, Any]:
        return _for_one_and_many(
            "/api/v1/batchQry/batchQryFlowByMonth",
            "accessNumber",
            {"custNumber": self.cust_number},
            "data",
            {"used": "status == '0' && flowAmount || `null`", "unit": "MB", "unit_at": "unit"},
        )

    def _real_name(self) -> dict[str, Any]:
        return _for_one_and_many(
            "/api/v1/realName/qryRealNameStatus",
            "accessNumber",
            {},
            "data.statusList",
            {"real_name": "status", "real_names": REAL_NAMES},
        )


class CtWingCredentials(PresetCredentials):
    """A key to the gateway of the API, from the console."""

    app_key: str = Field(title="AppKey", description=gettext_noop("Of the gateway's account."), min_length=1)
    secret_key: SecretStr = Field(
        title="SecretKey", description=gettext_noop("Of the gateway's account."), min_length=1
    )

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.app_key, password=self.secret_key)


def _authorizing(
    settings: CtWingSettings, credentials: CtWingCredentials, client: Client, judge: Judge, shared: TokenStore | None
) -> Authorization:
    return Standing(Pass(partial(_with_signature, credentials)))


def _with_signature(credentials: CtWingCredentials, drafted: Draft) -> Draft:
    """Return the request signed: over its sorted query, its body, the secret and the second in Greenwich."""
    drafted = replace(drafted, query=dict(sorted(drafted.query.items())))
    timestamp = f"{now_in(UTC):%Y%m%d%H%M%S}"
    _, _, query = drafted.request().path.partition("?")
    text = query.encode() + (drafted.body or b"") + f"{credentials.secret_key.get_secret_value()}{timestamp}".encode()
    digest = hashlib.md5(text, usedforsecurity=False).hexdigest()  # it is the carrier's choice
    sign = digest.encode().hex().upper()
    return drafted.with_more({"AppKey": credentials.app_key, "Timestamp": timestamp, "Sign": sign})


def _for_one_and_many(
    path: str, name: str, more: dict[str, str], listed: str, fields: dict[str, Any]
) -> dict[str, Any]:
    """Return a check by a call that takes many numbers, or one."""
    call = {"method": "POST", "path": path}
    among = {"list": listed, "id": "accessNumber"}
    many = call | among | {"body": more | {name: "{msisdns}"}, "size": MOST_OF_A_BATCH, "fields": fields}
    return call | {"body": more | {name: ["{msisdn}"]}, "among": among, "fields": fields, "batch": many}


def _change(order: str) -> dict[str, Any]:
    # acctCd stands in no description, but in the carrier's example, and without it the call fails.
    query = {"access_number": "{msisdn}", "acctCd": "", "orderTypeId": order}
    return {"path": "/5gcmp/openapi/v1/common/disabledNumberService", "query": query}


def _leaves(text: str) -> dict[str, str]:
    if "<!doctype" in text.lower():
        raise NoDocument  # HTML, or XML with entities of its own, which could grow without end
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without a DOCTYPE there are no entities
    except (ElementTree.ParseError, RecursionError, ValueError):
        raise NoDocument from None
    leaves = (leaf for leaf in root.iter() if not len(leaf))
    return {leaf.tag.rpartition("}")[2].lower(): (leaf.text or "").strip() for leaf in leaves}


def _line(text: str) -> dict[str, str]:
    found = _LINE.fullmatch(text)
    if found is None:
        raise NoDocument
    return {"code": found[1], "msg": found[2].strip()}


CTWING = GatewayKind(
    name="ctwing",
    label="China Telecom CMP (CTWing)",
    settings=CtWingSettings,
    credentials=CtWingCredentials,
    make=signed(_authorizing, CtWingAnswer),
    windows=(Window(5, 1),),  # it publishes none; of what others do, the least
)
