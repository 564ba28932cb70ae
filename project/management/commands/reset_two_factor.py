"""`manage.py reset_two_factor`: for somebody who has lost both the device and the recovery codes."""

import logging
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from project.kit.commands import Told, Verb, actor
from project.two_factor import devices

logger = logging.getLogger(__name__)


class UnknownUser(Exception):
    """There is nobody of that name."""


class Command(Verb):
    """Forget the second factor of a user."""

    help = "Forget a user's second factor: device and recovery codes. The next login sets up a new one."
    refusals = (UnknownUser,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("user", help="the name with which they log in")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Forget it.

        Raises:
            UnknownUser: there is nobody of that name.
        """
        name = options["user"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise UnknownUser(f"There is no user {name!r}.")
        had_one = devices.forget(user)
        logger.warning("%s reset the second factor of user #%s", actor(), user.pk)
        sentence = f"{name} sets up a new second factor at the next login." if had_one else f"{name} had none."
        return Told([sentence], {"user": name, "had_one": had_one})
