"""Requests, from the calls in the settings and what they are about; who asks is added when they are sent."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

from scheduler.polling.carriers.client import Request
from scheduler.polling.carriers.http_json.parts import Call, TokenCall
from scheduler.polling.carriers.http_json.templates import Values, filled, filled_document

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Draft:
    """A request to which something can still be added. Its text shows only what is no secret."""

    endpoint: str
    method: str
    path: str = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)

    def with_more(self, headers: Mapping[str, str], query: Mapping[str, str] = NOTHING) -> "Draft":
        """Return it with these as well."""
        return replace(self, headers={**self.headers, **headers}, query={**self.query, **query})

    @property
    def document(self) -> Any:
        """What its body says; of one without a body, an empty object."""
        return json.loads(self.body or b"{}")

    def with_document(self, document: Any) -> "Draft":
        """Return it with another body."""
        headers = {"Content-Type": "application/json"} | dict(self.headers)
        return replace(self, body=json.dumps(document).encode(), headers=headers)

    def request(self) -> Request:
        """Return it as it is sent."""
        query = f"?{urlencode(self.query, quote_via=quote)}" if self.query else ""
        return Request(self.endpoint, self.method, self.path + query, self.headers, self.body)


def draft(endpoint: str, call: Call, values: Values, separator: str = ",") -> Draft:
    """Return the call with the values in its places; whatever stands in an address is percent-encoded."""
    path = filled(call.path, values, separator, lambda value: quote(value, safe=""))
    query = {name: filled(value, values, separator) for name, value in call.query.items()}
    headers = {name: filled(value, values, separator) for name, value in call.headers.items()}
    body = None
    if call.body is not None:
        body = json.dumps(filled_document(call.body, values, separator)).encode()
        headers = {"Content-Type": "application/json"} | headers
    return Draft(endpoint, call.method, path, query, headers, body)


def token_draft(call: TokenCall, values: Values) -> Draft:
    """Return the call for a token."""
    drafted = draft("token", call, values)
    if not call.form:
        return drafted
    form = {name: filled(value, values) for name, value in call.form.items()}
    drafted = replace(drafted, body=urlencode(form).encode())
    return drafted.with_more({"Content-Type": "application/x-www-form-urlencoded"} | dict(drafted.headers))
