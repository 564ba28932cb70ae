"""`manage.py rotate_secrets`: encrypts all stored secrets with the present key."""

from datetime import datetime
from typing import Any

from project.kit import commands
from project.kit.commands import Status, Told
from project.kit.rotating import rotate_secrets
from project.kit.secrets import UnreadableSecret


class Command(commands.Verb):
    """Encrypt all stored secrets with the first key of TIDELINE_SECRETS_KEYS; then the others can be taken away."""

    help = "Encrypt all stored secrets with the first key of TIDELINE_SECRETS_KEYS; then the others can be taken away."

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Rotate, and say which could not be read."""
        rotated = rotate_secrets()
        sentences = [f"{rotated.secrets:,} secrets are encrypted with the present key."]
        if not rotated.unreadable:
            return Told(sentences, {"secrets": rotated.secrets, "unreadable": []})
        sentences += [f"{name}: {UnreadableSecret()}" for name in rotated.unreadable]
        values = {"secrets": rotated.secrets, "unreadable": rotated.unreadable}
        return Told(sentences, values, Status.NOT_WELL)
