"""Who comes: nobody knows who, somebody of the staff without a permission, the two groups, and an administrator."""

import itertools
from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.test import Client

from project import groups
from tests.kit.api.caller import Program, token_of

ANONYMOUS, STRANGER, VIEWER, OPERATOR, ADMINISTRATOR = "anonymous", "stranger", "viewer", "operator", "administrator"
ROLES = (ANONYMOUS, STRANGER, VIEWER, OPERATOR, ADMINISTRATOR)
# What nobody may, not even an administrator.
NOBODY = "nobody"

_GROUPS = {VIEWER: groups.VIEWERS, OPERATOR: groups.OPERATORS}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody in a role: with a browser, with a program, and with what the role may."""

    role: str
    user: User | None
    permissions: Collection[str]

    def browser(self) -> Client:
        """Return a browser that is logged in, unless the visitor is nobody."""
        client = Client()
        if self.user:
            client.force_login(self.user)
        return client

    def program(self) -> Program:
        """Return a program with a token for all that its user may, unless the visitor is nobody."""
        return Program(token_of(self.user) if self.user else None)

    def may(self, *permissions: str) -> bool:
        """Tell whether the role has all of the permissions."""
        if NOBODY in permissions:
            return False
        return self.role == ADMINISTRATOR or set(permissions) <= set(self.permissions)

    def may_look(self, model: str) -> bool:
        """Tell whether the role may look at the rows of a model, as `app.model`; who may change them may look."""
        return any(self.may(permission_to(verb, model)) for verb in ("view", "change"))


def permission_to(verb: str, model: str) -> str:
    """Return the permission as Django names it."""
    app, name = model.split(".")
    return f"{app}.{verb}_{name}"


def visitor(role: str) -> Visitor:
    """Make somebody of the role."""
    if role == ANONYMOUS:
        return Visitor(role, None, ())
    name = f"{role} {next(_numbers)}"
    if role == ADMINISTRATOR:
        return Visitor(role, User.objects.create_superuser(name), ())
    user = User.objects.create_user(name, is_staff=True)
    if role in _GROUPS:
        groups.make()
        user.groups.add(Group.objects.get(name=_GROUPS[role]))
    return Visitor(role, user, user.get_all_permissions())
