"""The try-out's comforts: its environment file, and a database that can be logged into.

`python -m project.tryout` prepares the database in a process of its own, because `manage.py up` has read
its settings before the embedded servers run.
"""

import base64
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ADMIN = "admin"


def environment(before: Mapping[str, str], urls: Mapping[str, str], flower_url: str) -> dict[str, str]:
    """Return what the try-out's processes find in their environment unless it says something else.

    Args:
        before: what the file held at the last start; its secrets, and all that a person wrote into it, stay.
        urls: where the servers, the control panel, the inbox and the simulated carrier are this time.
        flower_url: where Flower is this time.
    """
    comforts = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]",
        "TIDELINE_PLAIN_HTTP": "1",
        "TIDELINE_ALLOW_COMMANDS": "1",
        "TIDELINE_JOBS": "project.demonstration",
        "FLOWER_BASIC_AUTH": f"tideline:{secrets.token_urlsafe(12)}",
        "TIDELINE_INBOX_SECRET": f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}",
    }
    return {**comforts, **before, **urls, "TIDELINE_FLOWER_URL": flower_url}


def read_environment(file: Path) -> dict[str, str]:
    """Return the NAME=value lines of a file; nothing if there is no file."""
    lines = file.read_text().splitlines() if file.exists() else []
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}


def write_environment(file: Path, values: Mapping[str, str]) -> None:
    """Write the file anew, whole or not at all; only its owner may read it."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write("# Written by bin/up. What the environment says wins over it.\n")
        out.writelines(f"{name}={value}\n" for name, value in values.items())
    unfinished.replace(file)


def prepare(*, with_tryout: bool) -> dict[str, Any]:
    """Migrate, and at the first start make the first user and load the try-out.

    Returns:
        `user`, the name of the first administrator; `password`, which is None unless it was just made; `carrier`, the
        line that runs the simulated carrier, which is None unless something asks it.
    """
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import transaction

    from project import groups

    call_command("migrate", verbosity=0, interactive=False)
    users = get_user_model().objects
    if users.exists():
        follow_the_ports()
        first = users.filter(is_superuser=True).order_by("pk").first()
        return {"user": first.get_username() if first else None, "password": None, "carrier": carrier()}
    password = secrets.token_urlsafe(12)
    with transaction.atomic():
        users.create_superuser(ADMIN, password=password)
        groups.make()
        if with_tryout:
            load_tryout()
    return {"user": ADMIN, "password": password, "carrier": carrier()}


def load_tryout() -> None:
    """Lay down the small example: one schedule of each kind of job, and a fleet of cards to poll."""
    from django.conf import settings

    from project import demonstration, tryout_fleet
    from project.kit.clock import database_now

    demonstration.load(now=database_now())
    if settings.TIDELINE_CARRIER_URL:
        tryout_fleet.load(now=database_now())


def follow_the_ports() -> None:
    """Let the channel to the inbox and the accounts at the simulated carrier follow the ports of this start."""
    from django.conf import settings

    from project import demonstration, tryout_fleet
    from project.kit.clock import database_now

    if settings.TIDELINE_INBOX_URL:
        demonstration.move_inbox(now=database_now())
    if settings.TIDELINE_CARRIER_URL:
        tryout_fleet.move(now=database_now())


def carrier() -> str | None:
    """Return the line that runs the simulated carrier; None: nothing asks it."""
    from project import tryout_fleet

    return tryout_fleet.command()


def main(arguments: list[str]) -> None:
    """Prepare the database and print the outcome as one line of JSON."""
    import django
    from django.db import DatabaseError

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    django.setup()
    try:
        outcome = prepare(with_tryout="--no-tryout" not in arguments)
    except DatabaseError as error:
        sys.exit(f"The database could not be prepared: {str(error).splitlines()[0]}")
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
