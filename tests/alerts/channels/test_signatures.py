"""Signatures, compared with what OpenSSL computes from the vendors' own words, and with official vectors."""

import base64
import hashlib
import hmac
import json
import subprocess
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import pytest

from alerts.channels.base import Refused
from alerts.channels.generic import signed_headers
from tests.alerts.channels.factories import ADDRESSES, HTTP_NAMES, WHSEC, body_of, endpoint, message, rendered

OTHER_WHSEC = "whsec_" + base64.b64encode(bytes(range(64))).decode()
SECONDS = "1780317015"
MILLISECONDS = "1780317015123"
CASE_73 = message(title="告警 🚨 failed", text="网络中断 👩‍💻\nline & <two>")


def openssl(key: bytes, content: bytes) -> str:
    """Compute the HMAC-SHA256 by another implementation."""
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key.hex()}", "-binary"]
    return base64.b64encode(subprocess.run(command, input=content, capture_output=True, check=True).stdout).decode()


def verified(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Verify as a receiver of Standard Webhooks does."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    signatures = [one.split(",", 1) for one in headers["webhook-signature"].split(" ")]
    return any(
        version == "v1" and hmac.compare_digest(base64.b64decode(value), expected) for version, value in signatures
    )


# --- Standard Webhooks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [WHSEC, WHSEC.removeprefix("whsec_")], ids=["with its prefix", "without"])
def test_the_official_vector_of_standard_webhooks_is_signed_as_they_sign_it(secret: str) -> None:
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', [secret], now=datetime.fromtimestamp(1614265330, UTC)
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_case_73_the_bytes_that_are_sent_are_the_bytes_that_were_signed() -> None:
    request = rendered("generic", CASE_73)
    signed = f"{CASE_73.event_id}.{SECONDS}.".encode() + request.body
    key = base64.b64decode(WHSEC.removeprefix("whsec_"))
    assert "告警 🚨".encode() in request.body
    assert request.headers["webhook-signature"] == f"v1,{openssl(key, signed)}"


def test_case_73_a_body_that_somebody_wrote_anew_does_not_verify() -> None:
    request = rendered("generic", CASE_73)
    assert verified(WHSEC, dict(request.headers), request.body)
    assert not verified(WHSEC, dict(request.headers), json.dumps(body_of(request)).encode())


def test_while_secrets_are_rotated_the_receiver_may_have_either() -> None:
    request = rendered("generic", CASE_73, secrets=(OTHER_WHSEC, WHSEC))
    assert request.headers["webhook-signature"].count("v1,") == 2
    assert verified(OTHER_WHSEC, dict(request.headers), request.body)
    assert verified(WHSEC, dict(request.headers), request.body)


def test_the_id_stays_the_same_over_the_tries_and_the_time_is_of_the_try() -> None:
    request = rendered("generic", message())
    assert (request.headers["webhook-id"], request.headers["webhook-timestamp"]) == (message().event_id, SECONDS)


def test_without_a_secret_nothing_is_signed() -> None:
    assert "webhook-signature" not in rendered("generic", message(), secrets=()).headers


def test_an_id_with_a_dot_is_never_signed() -> None:
    with pytest.raises(ValueError, match="no dot"):
        rendered("generic", message(event_id="evt.1"))


@pytest.mark.parametrize(
    "secret",
    ["whsec_", "whsec_AAAA", "plain words", "whsec_!!!!", "whsec_" + "A" * 31, "whsec_" + "A" * 88, "密钥"],
)
def test_a_secret_that_standard_webhooks_does_not_know_is_refused_with_a_sentence(secret: str) -> None:
    with pytest.raises(Refused, match=r"^A secret must .*\.$") as refusal:
        rendered("generic", message(), secrets=(WHSEC, secret))
    assert secret.removeprefix("whsec_") not in str(refusal.value) or secret == "whsec_"


# --- Feishu and DingTalk ---------------------------------------------------------------------------------------------


def test_feishu_is_signed_in_the_body_with_the_time_and_the_secret_as_the_key_of_nothing() -> None:
    body = body_of(rendered("feishu", CASE_73))
    assert (body["timestamp"], body["sign"]) == (SECONDS, openssl(f"{SECONDS}\nfeishu-secret".encode(), b""))


def test_dingtalk_is_signed_in_the_address_with_the_secret_as_the_key_and_milliseconds() -> None:
    query = dict(parse_qsl(urlsplit(rendered("dingtalk", CASE_73).url).query, strict_parsing=True))
    assert query == {
        "access_token": "tok-in-the-query",
        "timestamp": MILLISECONDS,
        "sign": openssl(b"SECdingtalk", f"{MILLISECONDS}\nSECdingtalk".encode()),
    }


def test_dingtalks_signature_is_percent_encoded_exactly_once_up_to_the_wire() -> None:
    secrets = [f"SEC{number}" for number in range(40)]
    urls = [rendered("dingtalk", message(), secrets=(secret,)).url for secret in secrets]
    signatures = [url.partition("&sign=")[2] for url in urls]
    expected = [openssl(secret.encode(), f"{MILLISECONDS}\n{secret}".encode()) for secret in secrets]
    assert [unquote(signature) for signature in signatures] == expected
    assert any("+" in signature for signature in expected)
    assert not any(character in signature for signature in signatures for character in "+/=")
    assert [httpx.URL(url).raw_path.decode().partition("&sign=")[2] for url in urls] == signatures


def test_a_signature_that_was_left_in_the_address_is_replaced() -> None:
    address = ADDRESSES["dingtalk"] + "&timestamp=1&sign=old"
    assert rendered("dingtalk", message(), address=address).url == rendered("dingtalk", message()).url


def test_dingtalk_without_a_secret_keeps_its_address_as_it_is() -> None:
    assert rendered("dingtalk", message(), secrets=()).url == ADDRESSES["dingtalk"]


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_a_request_and_an_endpoint_do_not_show_their_secrets(name: str) -> None:
    assert "tok" not in repr(rendered(name, message()))
    assert "tok" not in repr(endpoint(name))
    assert not any(secret in repr(endpoint(name)) for secret in endpoint(name).secrets)
