"""What a token may do of what its user may: `read`, `write`, or the permissions themselves."""

from collections.abc import Collection, Sequence

READ, WRITE = "read", "write"


def covered(scopes: Collection[str], permission: str) -> bool:
    """Tell whether the scopes let a permission of the user through.

    Args:
        permission: as `app.codename`. `read` lets those through that are for looking, `write` lets all through.
    """
    _app, _dot, codename = permission.partition(".")
    return WRITE in scopes or permission in scopes or (READ in scopes and codename.startswith("view_"))


def unknown(scopes: Sequence[str], permissions: Collection[str]) -> list[str]:
    """Return those scopes that are neither read nor write nor one of the permissions."""
    return [scope for scope in scopes if scope not in {READ, WRITE, *permissions}]
