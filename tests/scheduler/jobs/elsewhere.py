"""Another Celery application, with a broker, a queue and a worker of its own. It knows nothing of Tideline."""

import os
import time
from pathlib import Path
from typing import Any

from celery import Celery

app = Celery("shop", broker=os.environ.get("ELSEWHERE_BROKER"), backend=os.environ.get("ELSEWHERE_BACKEND"))
app.conf.update(
    task_default_queue="shop",
    broker_transport_options={"global_keyprefix": "shop:"},
    result_backend_transport_options={"global_keyprefix": "shop-results:"},
    task_track_started=True,
)


@app.task(name="shop.add")
def add(first: int, second: int) -> int:
    return first + second


@app.task(name="shop.fail")
def fail() -> None:
    raise KeyError("no such shop")


@app.task(name="shop.wait", bind=True)
def wait(self: Any, marks: str, until: str) -> str:
    """Leave a mark with the task's id and wait for a file."""
    with open(marks, "a") as file:
        file.write(f"{self.request.id}\n")
    while not Path(until).exists():
        time.sleep(0.05)
    return "waited"
