"""`manage.py polling_why`: why is a card asked, or not, and when next."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from project.kit import commands
from project.kit.commands import Told
from scheduler.polling.explaining import explain
from scheduler.polling.management.lookups import find_card


class Command(commands.Verb):
    """Say it from the card's rows and the live order."""

    help = "Say what keeps a card from being asked, the strongest reason first, and when each of its checks is due."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the card."""
        super().add_arguments(parser)
        parser.add_argument("card", metavar="CARD", help="its ICCID, or '#12' for its number in the control panel")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Answer."""
        explanation = explain(find_card(options["card"]), now=now)
        lines = [f"  {line}" for line in explanation.schedule]
        return Told([*(reason.sentence for reason in explanation.reasons), *lines], explanation.as_json())
