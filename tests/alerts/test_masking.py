"""Secrets are masked in whatever form they stand in a text, and nothing else is."""

import pytest

from alerts.masking import masked
from project.kit.secrets import DOTS

SECRETS = [
    ("POST https://hooks.slack.com/services/T0/B0/s3cret failed", f"POST https://hooks.slack.com/{DOTS} failed"),
    ("https://oapi.dingtalk.com/robot/send?access_token=s3cret", f"https://oapi.dingtalk.com/{DOTS}"),
    ("https://example.org?key=s3cret", f"https://example.org/{DOTS}"),
    ("https://example.org:8443/#s3cret", f"https://example.org:8443/{DOTS}"),
    ("url='https://example.org/s3cret', port=443", f"url='https://example.org/{DOTS}', port=443"),
    ("请求 https://example.org/告警/s3cret，失败了。", f"请求 https://example.org/{DOTS}，失败了。"),
    ("https://bücher.example/s3cret", f"https://bücher.example/{DOTS}"),
    ("postgres://user:s3cret@db.example.org:5432/app", f"postgres://db.example.org:5432/{DOTS}"),
    ("redis://:s3@cret@cache/0", f"redis://cache/{DOTS}"),
    ("password=s3cret", f"password={DOTS}"),
    ("Password: s3cret, user: me", f"Password: {DOTS}, user: me"),
    ("DB_PASSWORD=s3cret", f"DB_PASSWORD={DOTS}"),
    ("{'password': 's3 cret', 'user': 'me'}", f"{{'password': {DOTS}, 'user': 'me'}}"),
    ('{"client_secret":"s3,cret"}', f'{{"client_secret":{DOTS}}}'),
    ('{"accessToken": "s3cret"}', f'{{"accessToken": {DOTS}}}'),
    ("access_token=s3cret&x=1", f"access_token={DOTS}&x=1"),
    ("X-Api-Key: s3cret", f"X-Api-Key: {DOTS}"),
    ("AWS_SECRET_ACCESS_KEY=s3cret", f"AWS_SECRET_ACCESS_KEY={DOTS}"),
    ("Authorization: Bearer s3cret.s3cret", f"Authorization: {DOTS}"),
    ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: {DOTS}"),
    ("sent Bearer s3cret-s3cret", f"sent Bearer {DOTS}"),
    ("Set-Cookie: s3cret=1", f"Set-Cookie: {DOTS}"),
    ("密码：s3cret", f"密码：{DOTS}"),
    ("sign=s3cret", f"sign={DOTS}"),
    ("run --user me --db-password s3cret --now", f"run --user me --db-password {DOTS} --now"),
    ("got eyJhbGciOi.eyJzdWIiOi.s3cret", f"got {DOTS}"),
    ("key sk-proj-s3crets3crets3cret", f"key {DOTS}"),
    ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", DOTS),
]
KEPT = [
    "",
    "It failed: division by zero.",
    "1,200 tokens: 500 left",
    "design: blue, assignment = 3, bypass: on",
    "The token of the lease is not given any more.",
    "run:12 is over; see /admin/scheduler/taskrun/12/change/",
    "短信发送失败：余额不足。",
    "Listening at: http://127.0.0.1:8000 (4711)",
    "The server at http://127.0.0.1:8000/ refused.",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_a_secret_is_masked_and_the_rest_is_kept(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize("text", KEPT)
def test_a_text_without_secrets_is_left_as_it_is(text: str) -> None:
    assert masked(text) == text


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["a-" * 50_000, "--" * 50_000, "a://" * 20_000, "pass" * 20_000, "eyJ" * 20_000])
def test_a_long_text_takes_no_time_that_grows_faster_than_it(text: str) -> None:
    assert len(masked(text)) > 0
