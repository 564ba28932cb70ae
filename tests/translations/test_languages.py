"""Whose language a page speaks, and what is English for everybody."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation

from scheduler import wording
from scheduler.run_messages import Opened
from scheduler.states import EventTrigger, RunState

HOME, SWITCH = reverse("admin:index"), reverse("set_language")
CHINESE, ENGLISH = "控制面板", "Control panel"


@pytest.fixture
def browser(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ann"))
    return client


def test_a_page_speaks_the_language_for_which_the_browser_asks(browser: Client) -> None:
    assert ENGLISH in browser.get(HOME).text
    assert CHINESE in browser.get(HOME, headers={"accept-language": "zh-CN,zh;q=0.9"}).text
    assert ENGLISH in browser.get(HOME, headers={"accept-language": "en-GB,zh;q=0.9"}).text


def test_the_house_has_a_language_for_those_who_ask_for_none_that_is_there(browser: Client) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "TIDELINE_LANGUAGE", "zh-hans")
        assert CHINESE in browser.get(HOME).text
        assert CHINESE in browser.get(HOME, headers={"accept-language": "fr, *"}).text
        assert ENGLISH in browser.get(HOME, headers={"accept-language": "en"}).text


def test_a_choice_in_the_user_menu_is_remembered_and_leads_back_to_the_page(browser: Client) -> None:
    page = f"{reverse('admin:scheduler_taskrun_changelist')}?state=failed"
    assert f'value="{page}"' in browser.get(page).text
    answer = browser.post(SWITCH, {"language": "zh-hans", "next": page})
    assert (answer.status_code, answer["Location"]) == (302, page)
    assert answer.cookies["django_language"]["max-age"] == settings.LANGUAGE_COOKIE_AGE
    assert CHINESE in browser.get(HOME, headers={"accept-language": "en"}).text
    browser.post(SWITCH, {"language": "en", "next": page})
    assert ENGLISH in browser.get(HOME, headers={"accept-language": "zh-CN"}).text


def test_the_menu_offers_the_other_language_by_its_own_name(browser: Client) -> None:
    assert 'lang="zh-hans">简体中文<' in browser.get(HOME).text
    assert 'lang="en">English<' in browser.get(HOME, headers={"accept-language": "zh-CN"}).text


def test_the_choice_leads_to_no_page_of_others(browser: Client) -> None:
    answer = browser.post(SWITCH, {"language": "zh-hans", "next": "https://example.com/"})
    assert answer["Location"] == "/"


def test_what_is_recorded_is_english_in_a_chinese_request() -> None:
    with translation.override("zh-hans"):
        assert wording.duration(timedelta(hours=2)) == "2 小时"
        assert wording.how_it_came(Opened(EventTrigger.SCHEDULE, made_up_late=timedelta(hours=2))) == (
            "Made up after a miss, 2 h late"
        )
        assert wording.overlap(7, RunState.RUNNING) == "Run #7 is still in progress (running)."
