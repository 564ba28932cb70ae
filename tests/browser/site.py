"""An installation with a web process, as the House of the fault tests has everything else."""

from pathlib import Path

import httpx
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User

from project.services import Redis
from project.services.redis_server import free_port
from tests.faults.house import House
from tests.processes import Processes

PASSWORD = "a-long-one-7391"


class Site(House):
    """A house that answers browsers.

    Attributes:
        address: where, without a path.
        web: the process that does.
    """

    def __init__(self, processes: Processes, broker: Redis, folder: Path) -> None:
        super().__init__(processes, broker, folder)
        port = str(free_port())
        self.address = f"http://127.0.0.1:{port}"
        self.environ |= {"PORT": port, "TIDELINE_HOST": "127.0.0.1"}
        self.open_for_visitors()

    def open_for_visitors(self) -> None:
        """Start the web process, and wait until it answers."""
        (self.web,) = self.start("web")
        self.wait_until(self._answers, what="the web process to answer")

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/healthz", trust_env=False).is_success
        except httpx.TransportError:
            return False


def make_chief(name: str = "ann") -> User:
    """Create somebody who may do everything, with PASSWORD as the web process checks it."""
    password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
    return User.objects.create(username=name, password=password, is_staff=True, is_superuser=True)
