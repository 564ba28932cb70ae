"""The roles that ask for each address of an API, and what each of them is answered otherwise than its table says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.kit.api.caller import Program, chiefs_program, program

ROLES = ("anonymous", "nobody", "viewer", "operator", "administrator")


def caller_as(role: str, views: Sequence[str], operates: Sequence[str]) -> Program:
    """Return a program of the role, with the permissions to view, and to operate."""
    callers: dict[str, Callable[[], Program]] = {
        "anonymous": Program,
        "nobody": program,
        "viewer": lambda: program(*views),
        "operator": lambda: program(*views, *operates),
        "administrator": chiefs_program,
    }
    return callers[role]()


def answered_otherwise(
    role: str, table: Mapping[tuple[str, str], tuple[Any, Any]], status_of: Callable[[str, str], int]
) -> dict[tuple[str, str], int]:
    """Return each method and address at which the role's answer is not what the table says, with the answer."""
    refused = {401 if role == "anonymous" else 403}
    expected = {each: {200, 201, 204} if role in those else refused for each, (_body, those) in table.items()}
    answered = {each: status_of(*each) for each in table}
    return {each: status for each, status in answered.items() if status not in expected[each]}
