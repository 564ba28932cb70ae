"""Secrets are planted wherever there is one, and everything goes wrong: carriers, hooks and servers that throw back all
that they were sent. None of it is found in what people and programs can see: pages, the API, the metrics, Flower, the
messages in Redis, and the logs of all processes.
"""

import base64
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from django.contrib import admin
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from redis import Redis

from alerts.models import Delivery
from project.api import RESOURCES
from project.kit.clock import database_now
from project.services.redis_server import free_port
from scheduler.models import TaskRun
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.models import CardCheck, CarrierAccount
from scheduler.states import RunState
from tests.alerts.factories import make_channel
from tests.kit.api.caller import Program, chief, token_of
from tests.processes import Processes, surroundings
from tests.quotas.admin.desk import make_quota
from tests.scheduler.factories import make_schedule
from tests.scheduler.jobs.upstream import Upstream
from tests.scheduler.polling.factories import make_cards, make_tier
from tests.scheduler.polling.fleet.conftest import redis
from tests.scheduler.polling.fleets import put_in_order

__all__ = ["redis"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

# Each as long as real ones; the name says in a failure which one was found.
PLANTED = {
    name: f"{name.replace('_', '')}8Qz7Kp3Vx9Lm2Wt5Rb4Nc6"
    for name in (
        *("secret_key", "secrets_key", "metrics_token", "inbox_secret", "mail_password", "database_password"),
        *("flower_password", "hook_path", "hook_signing", "account_key", "header_of_a_job", "variable_of_a_job"),
        *("probe_header", "typed_password"),
    )
}


def forms(secret: str) -> set[str]:
    """Return the forms in which a secret would be found."""
    return {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A server that fails, and tells all that it was sent, as some do while they are debugged."""
    with Upstream() as server:
        server.answer = lambda handler: handler.say(500, f"failed: {server.asked[-1]}\n{server.asked[-1]['headers']}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.closing.set()
        server.shutdown()


@pytest.fixture
def environ(settings: Settings, upstream: Upstream) -> dict[str, str]:
    """The environment of the processes, with a secret in each variable that is one."""
    settings.TIDELINE_SECRETS_KEYS = [PLANTED["secrets_key"]]
    settings.TIDELINE_METRICS_TOKEN = PLANTED["metrics_token"]
    inward = urlsplit(upstream.url).netloc
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [inward]
    database = urlsplit(surroundings()["DATABASE_URL"])
    user, _, host = database.netloc.rpartition("@")
    return {
        "DATABASE_URL": database._replace(netloc=f"{user}:{PLANTED['database_password']}@{host}").geturl(),
        "SECRET_KEY": PLANTED["secret_key"],
        "TIDELINE_SECRETS_KEYS": PLANTED["secrets_key"],
        "TIDELINE_METRICS_TOKEN": PLANTED["metrics_token"],
        "TIDELINE_INBOX_SECRET": PLANTED["inbox_secret"],
        "EMAIL_HOST_PASSWORD": PLANTED["mail_password"],
        "FLOWER_BASIC_AUTH": f"tideline:{PLANTED['flower_password']}",
        "FLOWER_PORT": str(free_port()),
        "TIDELINE_ALLOWED_HOSTS_INWARD": inward,
        "TIDELINE_LOG_LEVEL": "DEBUG",
    }


def plant(upstream: Upstream) -> None:
    """Insert a row for each secret that is kept in one, and let all of it be due."""
    now = database_now()
    make_channel(address=f"{upstream.url}/{PLANTED['hook_path']}", secrets=PLANTED["hook_signing"], enabled=True)
    account = CarrierAccount.objects.create(
        name="carrier",
        gateway="http_json",
        settings=settings_for(upstream.url),
        credentials={"key": PLANTED["account_key"]},
        created_at=now,
        updated_at=now,
    )
    make_tier()
    make_cards(account, 3, now=now)
    put_in_order(CarrierAccount.objects.get(pk=account.pk))
    http = {"url": f"{upstream.url}/books", "headers": {"Authorization": f"Bearer {PLANTED['header_of_a_job']}"}}
    command = {"command": "exit 3", "env": {"API_KEY": PLANTED["variable_of_a_job"]}}
    for job, params in (("http", http), ("command", command)):
        make_schedule(name=job, job=job, params=params, due=now, now=now - timedelta(days=1))
    make_quota(100, probe_url=f"{upstream.url}/usage", probe_headers={"X-Key": PLANTED["probe_header"]})


@pytest.mark.django_db(transaction=True)
def test_no_secret_is_seen_wherever_one_looks(
    processes: Processes, redis: Redis, environ: dict[str, str], upstream: Upstream, tmp_path: Path, capsys: Any
) -> None:
    plant(upstream)
    names = ("worker", "beat", "runner", "notifier", "poller", "flower")
    started = [processes.start(name, **environ) for name in names]
    seen: dict[str, str] = {}
    processes.wait_until(everything_failed, 120, "all of it to go wrong")
    seen["redis"] = everything_in(redis)
    seen |= flower(environ)
    user = chief()
    user.set_password("another")
    user.save()
    seen |= pages(user) | api(user) | {"the login": failed_login(user.username)}
    for verb in (("doctor", "--json"), ("why", "http")):
        seen[" ".join(verb)] = said_by(*verb, capsys=capsys)
    seen |= {f"the log of {process.name}": process.output for process in started}
    secrets = PLANTED | {"redis_password": str(urlsplit(os.environ["REDIS_URL"]).password)}
    found = [(where, name) for where, text in seen.items() for name, secret in secrets.items() if holds(text, secret)]
    assert found == []
    assert len(upstream.asked) >= 5, "little was thrown back"


def holds(text: str, secret: str) -> bool:
    """Tell whether a text holds a secret in any form."""
    return any(form in text for form in forms(secret))


def everything_failed() -> bool:
    """Tell whether each door to the outside was tried, and failed."""
    failed = TaskRun.objects.filter(state=RunState.FAILED).values_list("name", flat=True)
    return (
        {"http", "command"} <= set(failed)
        and Delivery.objects.filter(tries__isnull=False).exists()
        and CardCheck.objects.filter(failures__gt=0).exists()
    )


def everything_in(client: Redis) -> str:
    """Return all keys of Redis and what they hold: the queues, the results, the live order."""
    return "\n".join(f"{key!r} {client.dump(key)!r}" for key in client.scan_iter(count=1000))


def flower(environ: dict[str, str]) -> dict[str, str]:
    """Return what Flower shows of the workers and their tasks."""
    address = f"http://127.0.0.1:{environ['FLOWER_PORT']}"
    user, _, password = environ["FLOWER_BASIC_AUTH"].partition(":")
    with httpx.Client(base_url=address, trust_env=False, auth=(user, password)) as client:
        return {f"flower {path}": client.get(path).text for path in ("/workers", "/tasks", "/broker", "/api/tasks")}


def pages(user: Any) -> dict[str, str]:
    """Return every list and every page of the control panel."""
    client = Client()
    client.force_login(user)
    addresses = [reverse("admin:index"), "/metrics"]
    for model, options in admin.site._registry.items():
        name = model._meta.label_lower.replace(".", "_")
        addresses.append(reverse(f"admin:{name}_changelist"))
        keys = list(model._default_manager.order_by("-pk").values_list("pk", flat=True)[:10])
        views = [view for view in ("change", "edit") if f"{name}_{view}" in {url.name for url in options.get_urls()}]
        addresses += [reverse(f"admin:{name}_{view}", args=[key]) for key in keys for view in views]
    return {f"page {address}": client.get(address).content.decode() for address in addresses}


def api(user: Any) -> dict[str, str]:
    """Return every list and every row of the API, and what it says to a body that it does not take."""
    program = Program(token_of(user))
    shown = {}
    for name in RESOURCES:
        lists = json.loads((answer := program.get(f"{name}/")).content)
        shown[f"api {name}"] = answer.content.decode()
        for row in lists.get("results", [])[:10]:
            shown[f"api {name}/{row.get('id')}"] = program.get(f"{name}/{row.get('id')}/").content.decode()
    wrong = {"name": "x", "address": f"ftp://u:{PLANTED['hook_path']}@x", "secrets": PLANTED["hook_signing"]}
    shown["api refusal"] = program.post("channels/", wrong).content.decode()
    return shown


def failed_login(username: str) -> str:
    """Return what the login page says to a wrong password."""
    said = {"username": username, "password": PLANTED["typed_password"]}
    return Client().post(reverse("admin:login"), said).content.decode()


def said_by(*verb: str, capsys: Any) -> str:
    """Return what a verb of the command line says."""
    with suppress(SystemExit):  # how well the house is, is not asked here
        call_command(*verb)
    printed = capsys.readouterr()
    return f"{printed.out}{printed.err}"
