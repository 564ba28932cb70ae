"""People who may do this or that."""

import itertools
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Permission, User

_numbers = itertools.count(1)


def user_with(*permissions: str, **fields: Any) -> User:
    """Make a user who has these permissions, each as `app.codename`."""
    user = User.objects.create_user(f"user {next(_numbers)}", **fields)
    user.user_permissions.add(*_named(permissions))
    return user


def _named(permissions: Sequence[str]) -> list[Permission]:
    """Return the permissions, all in one question; each of them has to be there."""
    codenames = [permission.partition(".")[2] for permission in permissions]
    found = Permission.objects.filter(codename__in=codenames).select_related("content_type")
    named = {f"{one.content_type.app_label}.{one.codename}": one for one in found}
    return [named[permission] for permission in permissions]
