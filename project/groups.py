"""Two groups for people: who may look, and who may act on duty. What neither may is for administrators."""

from collections.abc import Iterator, Mapping

from django.contrib.auth.models import Group, Permission
from django.db import transaction

# The apps of which viewers see everything, and what they see besides: who has which password is none of it.
LOOKED_AT = ("alerts", "polling", "quotas", "scheduler")
LOOKED_AT_BESIDES = (
    "admin.view_logentry",
    "django_celery_beat.view_periodictask",
    "project.view_apitoken",  # one's own
    "project.view_scanmark",
)
# What goes wrong at night can be set right with these. They change no definition: no schedule, channel, account,
# quota rule or tier, and nobody's permissions.
DONE_ON_DUTY = (
    "alerts.add_silence",
    "alerts.change_silence",
    "alerts.handle_alert",
    "alerts.test_channel",
    "polling.check_card",
    "polling.hold_carrieraccount",
    "polling.operate_card",
    "quotas.top_up_quota",
    "scheduler.answer_approval",
    "scheduler.backfill_schedule",
    "scheduler.cancel_backfill",
    "scheduler.cancel_taskrun",
    "scheduler.pause_schedule",
    "scheduler.resume_taskrun",
    "scheduler.retry_taskrun",
    "scheduler.run_schedule",
)
VIEWERS, OPERATORS = "Viewers", "Operators"


@transaction.atomic
def make() -> dict[str, list[str]]:
    """Make the groups that are missing, and give each what it lacks; what somebody gave it besides, it keeps.

    Returns:
        for each group the permissions, as `app.codename`, that it did not have.
    """
    return {name: _give(Group.objects.get_or_create(name=name)[0], wanted) for name, wanted in _wanted().items()}


def _wanted() -> Mapping[str, dict[str, Permission]]:
    permissions = {f"{app}.{each.codename}": each for app, each in _all_permissions()}
    views = {name for name in permissions if name.startswith(tuple(f"{app}.view_" for app in LOOKED_AT))}
    looking = views.union(LOOKED_AT_BESIDES)
    return {
        VIEWERS: {name: permissions[name] for name in sorted(looking)},
        OPERATORS: {name: permissions[name] for name in sorted(looking.union(DONE_ON_DUTY))},
    }


def _all_permissions() -> Iterator[tuple[str, Permission]]:
    for permission in Permission.objects.select_related("content_type"):
        yield permission.content_type.app_label, permission


def _give(group: Group, wanted: Mapping[str, Permission]) -> list[str]:
    had = set(group.permissions.values_list("pk", flat=True))
    lacking = {name: permission for name, permission in wanted.items() if permission.pk not in had}
    group.permissions.add(*lacking.values())
    return list(lacking)
