"""Flower beside real workers: it shows them to whoever knows the password, and nothing to anybody else."""

import base64
import re

import httpx
import pytest
from flower.urls import handlers

from project.services import Redis
from project.services.redis_server import free_port
from tests.processes import Processes

# Without a secret in them, and wanted by probes.
OPEN = {"/metrics", "/healthcheck", "/static/x", "/login", "/logout"}
PASSWORD = "tideline:a-long-one"


@pytest.mark.slow
def test_flower_shows_the_workers_and_answers_nobody_without_the_password(
    processes: Processes, redis_server: Redis
) -> None:
    port = str(free_port())
    processes.start("runner", REDIS_URL=redis_server.url)
    processes.start("flower", REDIS_URL=redis_server.url, FLOWER_PORT=port, FLOWER_BASIC_AUTH=PASSWORD)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as anybody:
        processes.wait_until(lambda: answers(anybody), what="Flower to answer")
        for path in paths() - OPEN:
            refusals = {anybody.get(path).status_code, anybody.post(path).status_code}
            assert refusals <= {401, 403, 405}, path
        token = base64.b64encode(PASSWORD.encode()).decode()
        known = {"Authorization": f"Basic {token}"}
        processes.wait_until(lambda: "runner@" in anybody.get("/workers", headers=known).text, what="the runner")


def answers(client: httpx.Client) -> bool:
    """Return whether anything answers."""
    try:
        return client.get("/healthcheck").is_success
    except httpx.TransportError:
        return False


def paths() -> set[str]:
    """Return a path for each of Flower's addresses."""
    patterns = (handler[0] if isinstance(handler, tuple) else handler.regex.pattern for handler in handlers)
    return {re.sub(r"\(\.[+*]\)", "x", pattern).removesuffix("$").replace("/?", "") for pattern in patterns} - {".*"}
