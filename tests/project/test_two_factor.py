"""A password alone opens nothing where a second factor is asked for; a code of the person's own device does."""

import json
import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings

from project.two_factor import devices
from tests.kit.api.caller import problem_of, token_of

pytestmark = pytest.mark.django_db
PAGE = reverse("admin:two_factor")
HOME = reverse("admin:index")
LIST = reverse("admin:scheduler_schedule_changelist")


@pytest.fixture(autouse=True)
def _asked_for(settings: Settings) -> None:
    settings.TIDELINE_TWO_FACTOR = True


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann", password="the right one")


@pytest.fixture
def halfway(ann: User) -> Client:
    """Somebody who has said the password, and no code yet."""
    client = Client()
    client.post(reverse("admin:login"), {"username": "ann", "password": "the right one"})
    return client


@pytest.fixture
def device(ann: User) -> TOTPDevice:
    return TOTPDevice.objects.create(user=ann, name="device", confirmed=True)


def code_of(device: TOTPDevice) -> str:
    return f"{totp(device.bin_key):06}"


def wrong_code_of(device: TOTPDevice) -> str:
    """Return a code that the device shows neither now nor in the minute around."""
    near = {f"{totp(device.bin_key, drift=steps):06}" for steps in range(-3, 4)}
    return next(code for code in ("000000", "111111", "222222", "333333", "444444") if code not in near)


def say(client: Client, code: str, *, then: str = HOME) -> HttpResponse:
    return client.post(PAGE, {"code": code}, query_params={"next": then})


@pytest.mark.parametrize("page", [HOME, LIST, reverse("admin:password_change"), "/admin/nothing/"])
def test_with_a_password_alone_every_page_leads_to_the_code(halfway: Client, page: str) -> None:
    assert halfway.get(page).url == f"{PAGE}?next={page.replace('/', '%2F')}"
    assert halfway.post(page).status_code == 302


def test_with_a_password_alone_the_api_and_the_metrics_know_nobody(halfway: Client) -> None:
    problem_of(halfway.get("/api/alerts/"), 401)
    problem_of(halfway.get("/metrics"), 401)
    assert halfway.get("/api/").status_code == 302


def test_who_has_no_password_yet_is_asked_for_that_first() -> None:
    assert Client().get(HOME).url.startswith(reverse("admin:login"))
    assert Client().get(PAGE).url.startswith(reverse("admin:login"))


def test_the_code_of_the_device_opens_the_page_that_was_asked_for(halfway: Client, device: TOTPDevice) -> None:
    assert say(halfway, code_of(device), then=LIST).url == LIST
    assert halfway.get(LIST).status_code == 200
    assert halfway.get("/api/alerts/").status_code == 200


def test_nobody_is_led_away_from_here_by_the_code(halfway: Client, device: TOTPDevice) -> None:
    assert say(halfway, code_of(device), then="https://elsewhere.example/").url == HOME


def test_a_wrong_code_opens_nothing_and_the_next_try_has_to_wait(halfway: Client, device: TOTPDevice) -> None:
    assert "This code is not right" in say(halfway, wrong_code_of(device)).content.decode()
    assert say(halfway, code_of(device)).status_code == 200
    assert halfway.get(HOME).status_code == 302


def test_the_pages_lead_to_that_of_the_second_factor(halfway: Client, device: TOTPDevice) -> None:
    say(halfway, code_of(device))
    assert f'<a href="{PAGE}">' in halfway.get(LIST).content.decode()


def test_a_code_is_good_once(halfway: Client, device: TOTPDevice) -> None:
    code = code_of(device)
    assert say(halfway, code).status_code == 302
    second = Client()
    second.post(reverse("admin:login"), {"username": "ann", "password": "the right one"})
    assert say(second, code).status_code == 200


def test_the_code_of_somebody_elses_device_opens_nothing(halfway: Client, device: TOTPDevice) -> None:
    ben = User.objects.create_superuser("ben")
    other = TOTPDevice.objects.create(user=ben, name="device", confirmed=True)
    assert say(halfway, code_of(other)).status_code == 200


def test_the_first_login_sets_a_device_up_and_shows_recovery_codes_once(halfway: Client, ann: User) -> None:
    page = halfway.get(PAGE, query_params={"next": LIST}).content.decode()
    offered = TOTPDevice.objects.get(user=ann, confirmed=False)
    assert "<svg" in page
    assert re.search(r'class="key">([A-Z2-7 ]+)<', page)
    assert halfway.get(PAGE).status_code == 200
    assert TOTPDevice.objects.count() == 1
    shown = say(halfway, code_of(offered), then=LIST).content.decode()
    codes = re.findall(r"<li><code>(\w+)</code>", shown)
    assert sorted(codes) == sorted(StaticToken.objects.values_list("token", flat=True))
    assert len(codes) == devices.RECOVERY_CODES
    assert f'href="{LIST}"' in shown
    assert halfway.get(LIST).status_code == 200
    assert codes[0] not in halfway.get(PAGE).content.decode()


def test_a_device_is_not_set_up_by_a_code_that_is_not_its_own(halfway: Client, ann: User) -> None:
    halfway.get(PAGE)
    offered = TOTPDevice.objects.get(user=ann)
    assert "not the one" in say(halfway, wrong_code_of(offered)).content.decode()
    assert not devices.is_enrolled(ann)
    assert halfway.get(HOME).status_code == 302


def test_a_device_that_is_only_offered_lets_nobody_in_beside_the_one_that_is_used(
    halfway: Client, device: TOTPDevice
) -> None:
    other = TOTPDevice.objects.create(user=device.user, name="device", confirmed=False)
    assert say(halfway, code_of(other)).status_code == 200
    assert halfway.get(HOME).status_code == 302


def test_a_recovery_code_opens_once(halfway: Client, device: TOTPDevice, ann: User) -> None:
    code, *others = devices.new_recovery_codes(ann)
    assert say(halfway, code).status_code == 302
    assert sorted(StaticToken.objects.values_list("token", flat=True)) == sorted(others)


def test_new_recovery_codes_take_the_place_of_the_former_ones(halfway: Client, device: TOTPDevice, ann: User) -> None:
    former = devices.new_recovery_codes(ann)
    say(halfway, code_of(device))
    assert "10 recovery codes are left" in halfway.get(PAGE).content.decode()
    shown = halfway.post(PAGE).content.decode()
    assert not [code for code in former if code in shown]
    assert devices.recovery_codes_left(ann) == devices.RECOVERY_CODES


def test_a_lost_device_is_forgotten_by_a_command_and_open_sessions_with_it(
    halfway: Client, device: TOTPDevice, ann: User
) -> None:
    say(halfway, code_of(device))
    told = StringIO()
    call_command("reset_two_factor", "ann", "--json", stdout=told)
    assert json.loads(told.getvalue()) == {"user": "ann", "had_one": True}
    assert halfway.get(HOME).status_code == 302
    assert "<svg" in halfway.get(PAGE).content.decode()


def test_the_command_names_whom_it_does_not_know() -> None:
    with pytest.raises(CommandError, match="There is no user 'nobody'"):
        call_command("reset_two_factor", "nobody")


def test_tokens_of_the_api_need_no_code(ann: User) -> None:
    headers = {"Authorization": f"Bearer {token_of(ann)}"}
    assert Client().get("/api/alerts/", headers=headers).status_code == 200


def test_probes_need_none_either(halfway: Client) -> None:
    assert halfway.get("/healthz").status_code == 200


def test_somebody_halfway_can_leave(halfway: Client) -> None:
    halfway.post(reverse("admin:logout"))
    assert halfway.get(PAGE).url.startswith(reverse("admin:login"))


def test_where_it_is_not_asked_for_a_password_suffices(halfway: Client, settings: Settings) -> None:
    settings.TIDELINE_TWO_FACTOR = False
    assert halfway.get(LIST).status_code == 200


def test_the_admin_shows_no_devices_and_no_keys(halfway: Client, device: TOTPDevice) -> None:
    say(halfway, code_of(device))
    assert halfway.get("/admin/otp_totp/totpdevice/").status_code == 404
    assert halfway.get("/admin/otp_static/staticdevice/").status_code == 404
