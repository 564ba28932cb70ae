"""Every page of the control panel in Chinese: no word of its own is English."""

import re
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import NoReverseMatch, reverse

from project.kit.clock import database_now
from scheduler.jobs.registry import JOBS
from tests.browser.furnishing import furnish, rows_of_each_kind
from tests.scheduler.polling.fleet.conftest import redis
from tests.translations.reading import Data, latin_phrases

__all__ = ["redis"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

# Names of things that are called so in Chinese as well.
NAMES = """
    Tideline Celery Redis Flower PostgreSQL RabbitMQ Python Django Axes Otp Totp Static Beat beat Broker broker cron
    Cron Webhook Webhooks webhook Shell root JSON JMESPath HTTP HTTPS HTML URL URI API ID IP ISO CSV SIM ICCID MSISDN
    IMSI UTC IANA SHA AMQP LDAP MB GB KB TB PB KiB MiB GiB GET PUT PATCH POST DELETE Authorization Bearer
    Idempotency-Key Retry-After Slack Teams Feishu Lark DingTalk WeCom Microsoft Standard E-mail apprise Apprise China
    Mobile Unicom Telecom OneLink CMP CTWing Cisco Control Center Jasper Telnyx Tuya IoT emnify NCE Asia Shanghai
    Mac Command OK
"""
# What is typed, or read by programs: keys, values and types, as the sheets beside the forms name them.
VALUES = """
    any array boolean integer number object string true false none both secret global server network header query basic
    bearer key token value argument application backend result transport options planned management ready dormant
    disable standby malformed client imsi imsis msisdn msisdns iccids sha rws restapi dry keyprefix contacts TASK QUEUES
    CELERY KEY BasicAuth BatchCall BearerAuth Call Check ErrorRules Errors Fields HeaderAuth Listed Lookup NoAuth
    QueryAuth Timeouts TokenAuth TokenCall JAN DEC SUN SAT LW MON FRI yyyyMMddHHmmss manage.py shop.tasks.send
    jasper.com openapi.tuyaeu.com carriers.judging proj.tasks.import data.remaining alerts.handle margin enabled
    alert.window resume.queue segment over HTTP my own
"""
# Labels that others give: of hidden fields, of a column without a name, of django-celery-beat, of a row's text.
LABELS = {"Expected version", "Lease seconds", "Opened with", "Task Name", "for run"}
ALLOWED = set(NAMES.split()) | set(VALUES.split())


@pytest.mark.slow
def test_every_page_speaks_chinese() -> None:
    user = User.objects.create_superuser("ann", "ann@example.com")
    furnish(user, now=database_now())
    browser, data = chinese(user), Data()
    found = {
        f"{address}: {phrase}"
        for address in addresses()
        for phrase in latin_phrases(page(browser, address))
        if not is_known(phrase, data)
    }
    assert sorted(found) == []


def test_the_login_speaks_chinese() -> None:
    shown = page(Client(headers={"accept-language": "zh-CN"}), reverse("admin:login"))
    assert [phrase for phrase in latin_phrases(shown) if not is_known(phrase, Data())] == []


def chinese(user: User) -> Client:
    client = Client(headers={"accept-language": "zh-CN,zh;q=0.9"})
    client.force_login(user)
    return client


def addresses() -> Iterator[str]:
    yield reverse("admin:index")
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{name}_changelist")
        yield reverse(f"{name}_add")
    for row in rows_of_each_kind():
        yield from addresses_of(row)


def addresses_of(row: Model) -> Iterator[str]:
    """Yield the pages of a row, and of each of its actions."""
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    yield reverse(f"{name}_change", args=[row.pk])
    for action in getattr(admin.site._registry[type(row)], "object_actions", ()):
        yield reverse(f"{name}_action", args=[row.pk, action.name])
    for view in ("edit", "delete", "history"):
        try:
            yield reverse(f"{name}_{view}", args=[row.pk])
        except NoReverseMatch:
            continue


def page(browser: Client, address: str) -> str:
    """Return a page; what is not offered for a row shows nothing."""
    answer = browser.get(address, follow=True)
    return answer.text if answer.status_code == 200 else ""


def is_known(phrase: str, data: Data) -> bool:
    """Tell whether a phrase is of names, values and what stands in rows."""
    rest = [word for word in re.split(r"[ ,;]+", phrase.strip("'’")) if not is_name(word)]
    of_jobs = phrase in JOBS  # other tests of this process may have registered some
    return not rest or of_jobs or phrase in LABELS or data.holds(phrase) or data.holds(" ".join(rest))


def is_name(word: str) -> bool:
    word = word.strip(".'’")
    return word in ALLOWED or len(word) == 1 or word.startswith("polling.")
