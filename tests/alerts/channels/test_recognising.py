"""An address belongs to its format, and a group's bot is saved with no other."""

from dataclasses import dataclass

import pytest

from alerts.channels.base import Endpoint, Refused
from alerts.channels.hosts import PLATFORMS, platform_of, recognise
from alerts.channels.recognising import settle_format
from alerts.channels.registry import FORMATS, HTTP_FORMATS, format_of, rates_of
from project.kit.secrets import Secret
from tests.alerts.channels.factories import ADDRESSES, HTTP_NAMES, endpoint

BOTS = [name for name in HTTP_NAMES if name not in {"generic", "teams"}]
RECOGNISED = {
    "https://open.feishu.cn/open-apis/bot/v2/hook/x": "feishu",
    "https://open.larksuite.com/open-apis/bot/v2/hook/x": "feishu",
    "https://OPEN.Feishu.CN./open-apis/bot/v2/hook/x": "feishu",
    "https://open.feishu.cn:443/open-apis/bot/v2/hook/x": "feishu",
    "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x": "wecom",
    "https://oapi.dingtalk.com/robot/send?access_token=x": "dingtalk",
    "https://hooks.slack.com/services/T/B/x": "slack",
    "https://hooks.slack.com/triggers/T/1/x": "slack",
    "https://contoso.webhook.office.com/webhookb2/x": "teams",
    "https://outlook.office.com/webhook/x": "teams",
    "https://prod-12.westeurope.logic.azure.com:443/workflows/x": "teams",
    "https://1a.4a.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/x": "teams",
    "https://receiver.example/hook": "generic",
    "http://receiver.example/hook": "generic",
    "https://open.feishu.cn.evil.example/hook": "generic",
    "https://notopen.feishu.cn/hook": "generic",
    "https://logic.azure.com.evil.example/": "generic",
    "https://evil.example/?x=open.feishu.cn": "generic",
    "https://evil.example/#@open.feishu.cn": "generic",
    "ops@company.example": "email",
    "ops@company.example, night@company.example": "email",
    "mailto:ops@company.example": "email",
    "tgram://123456789:abcdefg_hijklmnop/12315544/": "apprise",
    "ntfys://topic": "apprise",
}


@dataclass
class Row:
    """A channel as far as its limits ask for it."""

    address: Secret
    format: str


def row(address: str, name: str) -> Row:
    return Row(Secret.of(address), name)


@pytest.mark.parametrize(("address", "name"), RECOGNISED.items())
def test_the_format_is_taken_from_the_address(address: str, name: str) -> None:
    assert recognise(address) == name


@pytest.mark.parametrize("address", ["", "   ", "receiver.example/hook", "hook", "//open.feishu.cn/x"])
def test_what_is_no_address_is_refused_or_read_by_its_host(address: str) -> None:
    if address.startswith("//"):
        assert recognise(address) == "feishu"
        with pytest.raises(Refused, match="https://"):
            settle_format(Endpoint(address))
        return
    with pytest.raises(Refused, match=r"^The address is none.*\.$"):
        recognise(address)


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_a_format_left_out_or_rightly_chosen_is_settled(name: str) -> None:
    assert settle_format(endpoint(name)) == name
    assert settle_format(endpoint(name), name) == name


@pytest.mark.parametrize(("name", "chosen"), [(name, chosen) for name in BOTS for chosen in FORMATS if chosen != name])
def test_a_group_s_bot_with_another_format_is_refused_with_a_sentence_that_says_which(name: str, chosen: str) -> None:
    with pytest.raises(Refused) as refusal:
        settle_format(Endpoint(ADDRESSES[name]), chosen)
    own, other = HTTP_FORMATS[name].label, FORMATS[chosen].label
    assert str(refusal.value) == f"This is an address of {own}: choose the format {own}, not {other}."


def test_a_workflow_takes_other_programs_messages_too_and_an_old_connector_does_not() -> None:
    assert settle_format(Endpoint(ADDRESSES["teams"]), "generic") == "generic"
    with pytest.raises(Refused, match="Microsoft Teams"):
        settle_format(Endpoint("https://contoso.webhook.office.com/webhookb2/x"), "generic")
    with pytest.raises(Refused, match="Microsoft Teams"):
        settle_format(Endpoint(ADDRESSES["teams"]), "slack")


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_a_company_s_own_host_may_have_any_format(name: str) -> None:
    assert settle_format(Endpoint("https://chat.company.example/hook"), name) == name


@pytest.mark.parametrize("name", BOTS)
def test_platforms_are_called_over_tls_only(name: str) -> None:
    with pytest.raises(Refused, match="https://"):
        settle_format(Endpoint(ADDRESSES[name].replace("https://", "http://")))


@pytest.mark.parametrize("address", ["ops@company.example", "ntfys://topic", "ftp://a.example", "http://[::1", ""])
@pytest.mark.parametrize("name", HTTP_NAMES)
def test_an_address_that_is_no_web_address_is_refused_by_formats_for_the_web(name: str, address: str) -> None:
    with pytest.raises(Refused, match=r"\.$"):
        settle_format(Endpoint(address), name)


def test_a_secret_that_cannot_be_is_refused_when_it_is_saved() -> None:
    with pytest.raises(Refused, match="whsec_"):
        settle_format(endpoint("generic", secrets=("no base64!",)))


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Refused, match="generic, feishu, wecom, dingtalk, slack, teams, email, apprise"):
        format_of("pager")


def test_the_formats_go_by_their_names() -> None:
    assert [each.name for each in FORMATS.values()] == list(FORMATS)
    assert len({each.label for each in FORMATS.values()}) == len(FORMATS)


def test_every_platform_s_format_exists() -> None:
    assert {platform.format for platform in PLATFORMS} == set(HTTP_FORMATS) - {"generic"}


@pytest.mark.parametrize("address", ["http://[::1", "", "nonsense", "https://"])
def test_what_has_no_host_is_at_no_platform(address: str) -> None:
    assert platform_of(address) is None


def test_a_platform_s_limit_holds_whatever_format_was_chosen() -> None:
    assert rates_of(row(ADDRESSES["wecom"], "generic")) == ((20, 60.0),)
    assert rates_of(row(ADDRESSES["feishu"], "")) == ((100, 60.0), (5, 1.0))


def test_a_receiver_of_its_own_has_the_limit_of_its_format() -> None:
    assert rates_of(row("https://chat.company.example/hook", "dingtalk")) == ((20, 60.0),)
    assert rates_of(row("https://receiver.example/hook", "generic")) == ()


def test_where_nothing_can_be_sent_nothing_is_limited() -> None:
    assert rates_of(row("nonsense", "")) == ()
    assert rates_of(Row(Secret("not encrypted with any key"), "generic")) == ()
