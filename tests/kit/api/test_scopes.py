"""What a token's scopes let through."""

import pytest

from project.kit.api.scopes import covered, unknown


@pytest.mark.parametrize(
    ("scopes", "permission", "lets_through"),
    [
        (["read"], "alerts.view_alert", True),
        (["read"], "alerts.handle_alert", False),
        (["write"], "alerts.view_alert", True),
        (["write"], "alerts.handle_alert", True),
        (["alerts.handle_alert"], "alerts.handle_alert", True),
        (["alerts.handle_alert"], "alerts.view_alert", False),
        (["read", "alerts.handle_alert"], "alerts.add_silence", False),
        ([], "alerts.view_alert", False),
    ],
)
def test_scopes_are_for_looking_for_everything_or_for_single_permissions(
    scopes: list[str], permission: str, lets_through: bool
) -> None:
    assert covered(scopes, permission) is lets_through


def test_a_scope_is_read_write_or_a_permission() -> None:
    assert unknown(["read", "write", "a.b", "c.d", "admin"], ["a.b"]) == ["c.d", "admin"]
