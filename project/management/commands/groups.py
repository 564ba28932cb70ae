"""`manage.py groups`: the groups Viewers and Operators, with their permissions."""

from datetime import datetime
from typing import Any

from project import groups
from project.kit import commands
from project.kit.commands import Told


class Command(commands.Verb):
    """Make the groups Viewers and Operators, and give them what they lack."""

    help = "Make the groups Viewers and Operators, and give them the permissions that they lack. Nothing is taken away."

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Make them, and tell what each was given."""
        given = groups.make()
        return Told([_in_words(name, permissions) for name, permissions in given.items()], {"given": given})


def _in_words(name: str, permissions: list[str]) -> str:
    return f"{name}: {len(permissions)} permissions given." if permissions else f"{name}: lacks nothing."
