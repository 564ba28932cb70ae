"""Scenes: when cards are checked beside the schedule. Every way to change one leads through here: form, API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from project.kit.versions import StaleVersion
from scheduler.polling.models import CheckScene

FIELDS = ("name", "active", "types", "confirm_delays", "cooldown_seconds")
MOST_LOOKS = 10
LONGEST_SECONDS = 86_400


def change(code: str, values: Mapping[str, Any], *, actor: str, now: datetime, expected_version: int) -> CheckScene:
    """Change a scene, and return it as it is then. Looks that are planned stay as they are.

    Args:
        values: by the names of FIELDS; what is absent stays.

    Raises:
        CheckScene.DoesNotExist: there is none of that code.
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    with transaction.atomic():
        scene = CheckScene.objects.select_for_update().get(pk=code)
        if scene.version != expected_version:
            raise StaleVersion(scene)
        changed = [name for name, value in values.items() if getattr(scene, name) != value]
        for name in changed:
            setattr(scene, name, values[name])
        check(scene)
        if changed:
            scene.version, scene.changed_by, scene.changed_at = scene.version + 1, actor, now
            scene.full_clean(validate_constraints=False)
            scene.save(update_fields=[*changed, "version", "changed_by", "changed_at"])
    return scene


def check(scene: CheckScene) -> None:
    """Refuse a scene that could not be followed.

    Raises:
        ValidationError: naming the fields.
    """
    faults = {}
    if not scene.types:
        faults["types"] = _("Choose at least one check.")
    elif len(set(scene.types)) < len(scene.types):
        faults["types"] = _("A check is named twice.")
    if len(scene.confirm_delays) > MOST_LOOKS:
        faults["confirm_delays"] = _("Write at most %(most_looks)s pauses.") % {"most_looks": MOST_LOOKS}
    elif any(not 1 <= seconds <= LONGEST_SECONDS for seconds in scene.confirm_delays):
        faults["confirm_delays"] = _("Write seconds from 1 to a day of them for each pause, such as 60, 300.")
    if not 0 <= scene.cooldown_seconds <= LONGEST_SECONDS:
        faults["cooldown_seconds"] = _("Write seconds from 0 to a day of them.")
    if faults:
        raise ValidationError(faults)
