"""Mutations of scheduler.polling.operations.claiming: who sends an operation to the carrier, and how many at once."""

from functools import partial

from tests.mutations import Mutation, Subject

_claim = partial(Mutation, "scheduler/polling/operations/claiming.py")

SUBJECT = Subject(
    tests=(
        "tests/scheduler/polling/operations/test_claiming.py",
        "tests/scheduler/polling/operations/test_sending.py",
        "tests/scheduler/polling/operations/test_settling.py",
        "tests/scheduler/polling/operations/test_ending.py",
        "tests/scheduler/polling/operations/test_asking.py",
        "tests/races/test_operations.py",
    ),
    mutations=(
        # claimed
        _claim(" AND sent.state = 'sending'", ""),
        _claim("WHERE sent.account_id = bears.account_id AND sent", "WHERE sent"),
        _claim(" AND queued.state = 'waiting'", ""),
        _claim("queued.due_at <= %s", "queued.due_at < %s"),
        _claim("queued.account_id = room.account_id AND ", ""),
        _claim("ORDER BY queued.due_at, queued.id", "ORDER BY queued.id"),
        _claim(" SKIP LOCKED", ""),
        _claim(" FOR NO KEY UPDATE SKIP LOCKED", ""),
        _claim("token = operation.token + 1", "token = operation.token"),
        _claim('        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])\n', ""),
        _claim("state=OperationState.WAITING, due_at__lte=now", "due_at__lte=now"),
        # begun
        _claim("lease_until__gt=now", "lease_until__gte=now"),
        _claim(" lease_until__gt=now,", ""),
        _claim(', card__account=F("account"))\n    with', ")\n    with"),
        _claim('.select_for_update(of=("self",), no_key=True)', ""),
        _claim("pk=one.operation_id, token=one.token", "pk=one.operation_id"),
        _claim(", _NOTHING), state=OperationState.SENDING)", ", _NOTHING))"),
        # back
        _claim("        .filter(sent_at__isnull=True)\n", ""),
        _claim(
            "state=OperationState.SENDING, lease_until__lte=now",
            "lease_until__lte=now",
            "operation_in_work_has_a_lease says so",
        ),
        _claim("lease_until__lte=now", "lease_until__lt=now"),
        _claim("lease_until__lte=now, sent_at__isnull=True", "lease_until__lte=now"),
        # with its card
        _claim(".filter(state=OperationState.WAITING))", ".all())"),
        _claim("filter(account=account_id)", "all()"),
        _claim('operations.exclude(card__account=F("account"))', "operations"),
    ),
)
