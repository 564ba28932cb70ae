"""A Celery task that waits for a test."""

import os
import time
from pathlib import Path

from celery import shared_task


@shared_task(name="test.hold")
def hold(folder: str) -> None:
    """Write this process's number and wait for the word to go on."""
    with (Path(folder) / "pids").open("a") as file:
        file.write(f"{os.getpid()}\n")
    while not (Path(folder) / "go").exists():
        time.sleep(0.02)
