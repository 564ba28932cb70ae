"""The groups for people: what each may, and that making them again takes nothing away."""

import pytest
from django.contrib.auth.models import Group, Permission

from project import groups, tryout
from tests.project.test_pruning import shell
from tests.scheduler.commands.asking import Shell

__all__ = ["shell"]

pytestmark = pytest.mark.django_db


def permissions_of(name: str) -> set[str]:
    """Return what a group may."""
    found = Group.objects.get(name=name).permissions.select_related("content_type")
    return {f"{each.content_type.app_label}.{each.codename}" for each in found}


def test_viewers_look_at_everything_but_people_and_do_nothing() -> None:
    groups.make()
    may = permissions_of(groups.VIEWERS)
    assert all(permission.partition(".")[2].startswith("view_") for permission in may)
    assert {"scheduler.view_taskrun", "polling.view_card", "quotas.view_quota", "alerts.view_channel"} <= may
    assert not any(permission.startswith("auth.") for permission in may)


def test_operators_look_and_act_and_change_no_definition() -> None:
    groups.make()
    may = permissions_of(groups.OPERATORS)
    assert may - permissions_of(groups.VIEWERS) == set(groups.DONE_ON_DUTY)
    silences = {"alerts.add_silence", "alerts.change_silence"}
    assert not any(part in permission for permission in may - silences for part in (".add_", ".change_", ".delete_"))


def test_making_them_again_gives_what_is_lacking_and_takes_nothing_away(shell: Shell) -> None:
    groups.make()
    operators = Group.objects.get(name=groups.OPERATORS)
    operators.permissions.remove(Permission.objects.get(codename="run_schedule"))
    operators.permissions.add(Permission.objects.get(codename="change_schedule"))
    assert shell.values("groups") == {"given": {groups.VIEWERS: [], groups.OPERATORS: ["scheduler.run_schedule"]}}
    assert {"scheduler.run_schedule", "scheduler.change_schedule"} <= permissions_of(groups.OPERATORS)
    assert shell.says("groups") == "Viewers: lacks nothing.\nOperators: lacks nothing."


def test_only_the_first_start_makes_them() -> None:
    tryout.prepare(with_tryout=False)
    assert permissions_of(groups.OPERATORS)
    Group.objects.all().delete()
    tryout.prepare(with_tryout=False)
    assert not Group.objects.exists()
