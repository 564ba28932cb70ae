"""People, their tokens, and what they did."""

from datetime import datetime

from tests.benchmarks.panel.history.size import Size, spread
from tests.benchmarks.panel.inserting import insert


def lay_down_people(size: Size, now: datetime) -> None:
    """Insert people, their tokens and the audit log."""
    from django.contrib.admin.models import LogEntry
    from django.contrib.auth.models import Group, User

    from project.models import ApiToken
    from scheduler.models import Schedule

    insert(User, size.people, now=now, username="'person ' || n", is_staff="true", is_active="true", date_joined="now")
    insert(Group, size.people, now=now, id="100 + n", name="'group ' || n")  # there are some from the beginning
    insert(
        ApiToken,
        size.people,
        now=now,
        name="'token ' || n",
        user_id="1",
        digest="md5(n::text)",
        prefix="'tl_' || n",
        created_at="now",
        expires_at="now + interval '90 days'",
    )
    insert(
        LogEntry,
        size.schedules * 10,
        now=now,
        action_time=spread(size.schedules * 10),
        user_id=f"1 + mod(n, {size.people})",
        content_type_id=str(_content_type(Schedule)),
        object_id=f"(1 + mod(n, {size.schedules}))::text",
        object_repr="'schedule ' || n",
        action_flag="1 + mod(n, 3)",
        change_message="'Changed at the request of person ' || n",
    )


def _content_type(model: type) -> int:
    from django.contrib.contenttypes.models import ContentType

    return ContentType.objects.get_for_model(model).pk
