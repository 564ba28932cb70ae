"""The other Celery application as a test has it: a Redis and a worker of its own, and a schedule's parameters."""

import sys
from typing import Any

import redis

from project.services import Redis
from tests.processes import Processes, Started
from tests.scheduler.jobs.waiting import wait_until


class Shop:
    """The other application as a schedule's parameters describe it."""

    def __init__(self, server: Redis, processes: Processes) -> None:
        self.server, self._processes = server, processes
        self.broker = server.url
        self.backend = server.url.removesuffix("/0") + "/1"

    def params(self, task: str, *args: Any, **params: Any) -> dict[str, Any]:
        return {
            "task": task,
            "args": list(args),
            "broker_url": self.broker,
            "queue": "shop",
            "transport_options": {"global_keyprefix": "shop:"},
            "result_backend": self.backend,
            "result_backend_options": {"global_keyprefix": "shop-results:"},
            **params,
        }

    def start_worker(self) -> Started:
        command = f"{sys.executable} -m celery -A tests.scheduler.jobs.elsewhere worker --concurrency 1 --loglevel info"
        worker = self._processes.run(
            "shop", f"exec {command}", ELSEWHERE_BROKER=self.broker, ELSEWHERE_BACKEND=self.backend
        )
        wait_until(lambda: " ready." in worker.output, "the other application's worker")
        return worker

    def waiting(self) -> int:
        with redis.Redis.from_url(self.broker) as client:
            return int(client.llen("shop:shop"))
